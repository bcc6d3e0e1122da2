#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/proc/process_more.h"
#include "src/sources/proc/process_placement.h"
#include "src/sources/proc/process_private.h"
#include "src/sources/source.h"

/* Every member's stat is read at each refresh (by target.c), and the target's other files too. Those of further
 * members, which may be many, are read about once a second. */
enum { OTHERS_PERIOD_MS = 900 };

/* In the order of their lines, so that one scan finds them all. */
struct figure_field {
	const char *key;
	enum metric metric;
	double scale;
};

static const struct figure_field status_fields[] = {
	{ "VmHWM", METRIC_PROCESS_RESIDENT_PEAK, 1024 },
	{ "VmRSS", METRIC_PROCESS_RESIDENT, 1024 },
	{ "RssAnon", METRIC_PROCESS_ANONYMOUS, 1024 },
	{ "RssFile", METRIC_PROCESS_FILE, 1024 },
	{ "RssShmem", METRIC_PROCESS_SHARED, 1024 },
	{ "VmSwap", METRIC_PROCESS_SWAP, 1024 },
	{ "voluntary_ctxt_switches", METRIC_PROCESS_SWITCHES_WILLING, 1 },
	{ "nonvoluntary_ctxt_switches", METRIC_PROCESS_SWITCHES_FORCED, 1 },
	{ NULL, 0, 0 },
};

static const struct figure_field io_fields[] = {
	{ "rchar", METRIC_PROCESS_READ_CALLS, 1 },
	{ "read_bytes", METRIC_PROCESS_READ, 1 },
	{ "write_bytes", METRIC_PROCESS_WRITTEN, 1 },
	{ NULL, 0, 0 },
};

/* `fields` NULL: schedstat, which holds three bare numbers. */
static const struct optional_file {
	const char *name, *figure;
	const struct figure_field *fields;
	const char *not_there, *not_there_remedy;
} optional_files[FILE_COUNT] = {
	[FILE_STATUS] = { "status", "memory", status_fields, "the kernel reports no memory figures", "" },
	[FILE_IO] = { "io", "disk I/O", io_fields, "the kernel counts no I/O per process",
		"boot a kernel with CONFIG_TASK_IO_ACCOUNTING" },
	[FILE_SCHEDSTAT] = { "schedstat", "run-queue wait", NULL, "the kernel counts no run-queue wait",
		"boot a kernel with CONFIG_SCHED_INFO" },
};

/* -- processes that come and go -- */

static void emit_process(struct sample_set *out, enum record_kind kind, const struct target *target,
	const struct target_member *member, int64_t now_ns)
{
	struct record *record = sample_set_add(out, kind, 0, now_ns);
	if (!record)
		return;
	record->process.pid = member->pid;
	record->process.parent = member->parent;
	record->process.start_ticks = member->start_ticks;
	record->process.command = sample_set_text(out, member->command, strlen(member->command));
	record->process.is_target = member->pid == target->pid;
}

static void forget(struct known_process *known, struct sample_set *out, int64_t now_ns)
{
	for (int i = 0; i < FILE_COUNT; i++)
		if (known->fds[i] >= 0)
			close(known->fds[i]);
	struct record *record = sample_set_add(out, RECORD_PROCESS_GONE, 0, now_ns);
	if (record)
		record->process.pid = known->pid;
}

static bool is_same(const struct known_process *known, const struct target_member *member)
{
	return known->pid == member->pid && known->start_ticks == member->start_ticks;
}

/* Members keep their order, and new ones are at the end, so one walk over both lists finds those that ended. */
static void forget_those_gone(struct process_reader *reader, struct sample_set *out, int64_t now_ns)
{
	const struct target *target = reader->target;
	size_t retained = 0, next = 0;
	for (size_t i = 0; i < reader->count; i++) {
		if (next < target->member_count && is_same(&reader->known[i], &target->members[next])) {
			if (retained != i)
				reader->known[retained] = reader->known[i];
			retained++;
			next++;
		} else {
			forget(&reader->known[i], out, now_ns);
		}
	}
	reader->count = retained;
}

static void emit_members(struct process_reader *reader, struct sample_set *out, int64_t now_ns)
{
	const struct target *target = reader->target;
	forget_those_gone(reader, out, now_ns);
	for (size_t i = 0; i < target->member_count; i++) {
		const struct target_member *member = &target->members[i];
		struct known_process *known = &reader->known[i];
		bool is_new = i == reader->count;
		if (is_new) {
			*known = (struct known_process){ .pid = member->pid,
				.start_ticks = member->start_ticks,
				.generation = member->generation,
				.descriptors_next_ns = INT64_MIN };
			for (int file = 0; file < FILE_COUNT; file++)
				known->fds[file] = -1;
			reader->count++;
		}
		bool was_replaced = known->generation != member->generation;
		if (was_replaced)
			emit_process(out, RECORD_PROCESS_REPLACED, target, member, now_ns);
		else if (is_new || strcmp(known->command, member->command) != 0)
			emit_process(out, RECORD_PROCESS_SEEN, target, member, now_ns);
		if (is_new || was_replaced)
			known->has_placement =
				process_emit_placement(member->directory_fd, member->pid, known->has_placement, now_ns, out);
		known->generation = member->generation;
		memcpy(known->command, member->command, sizeof known->command);
	}
}

/* -- figures -- */

static void emit_stat(
	const struct process_reader *reader, const struct target_member *member, struct sample_set *out, int64_t now_ns)
{
	const struct proc_stat *stat = &member->stat;
	const struct {
		enum metric metric;
		double value;
	} figures[] = {
		{ METRIC_PROCESS_STATE, (double)(unsigned char)stat->state },
		{ METRIC_PROCESS_THREADS, (double)stat->threads },
		{ METRIC_PROCESS_CPU_USER, (double)stat->user_ticks * reader->ns_per_tick },
		{ METRIC_PROCESS_CPU_SYSTEM, (double)stat->system_ticks * reader->ns_per_tick },
		{ METRIC_PROCESS_MINOR_FAULTS, (double)stat->minor_faults },
		{ METRIC_PROCESS_MAJOR_FAULTS, (double)stat->major_faults },
	};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		sample_set_figure(out, now_ns, figures[i].metric, member->pid, figures[i].value);
	/* The target's figure comes from status, which is exact. A zombie has no memory, and its 0 is no measurement. */
	if (member->pid != reader->target->pid && stat->state != 'Z')
		sample_set_figure(
			out, now_ns, METRIC_PROCESS_RESIDENT, member->pid, (double)stat->resident_pages * reader->page_bytes);
}

static bool emit_schedstat(const char *text, pid_t pid, struct sample_set *out, int64_t now_ns)
{
	char *end, *end_of_wait;
	unsigned long long ran = strtoull(text, &end, 10), waited = strtoull(end, &end_of_wait, 10);
	/* All zero: the file exists, but the kernel counts nothing. */
	if (end == text || end_of_wait == end || (ran == 0 && waited == 0))
		return false;
	sample_set_figure(out, now_ns, METRIC_PROCESS_RUN_QUEUE_WAIT, pid, (double)waited);
	return true;
}

static enum status emit_file(struct process_reader *reader, const struct target_member *member, int *fd,
	const struct optional_file *file, struct sample_set *out, int64_t now_ns)
{
	size_t length;
	enum status status = proc_file_read(
		member->directory_fd, fd, member->keeps_files, file->name, reader->text, sizeof reader->text, &length);
	if (status != STATUS_OK)
		return status;
	if (!file->fields)
		return emit_schedstat(reader->text, member->pid, out, now_ns) ? STATUS_OK : STATUS_NOT_FOUND;
	const char *at = reader->text;
	for (const struct figure_field *field = file->fields; field->key; field++) {
		uint64_t value;
		const char *line = proc_field(at, field->key, 0, &value);
		if (!line)
			continue;
		sample_set_figure(out, now_ns, field->metric, member->pid, (double)value * field->scale);
		at = line;
	}
	return STATUS_OK;
}

/* -- what is missing: emitted when it changes, for the target only -- */

static void emit_missing_file(
	struct process_reader *reader, int index, enum status status, struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[0];
	const struct optional_file *file = &optional_files[index];
	if (status == reader->emitted[index])
		return;
	/* The files of a process that has ended are gone too, which other records report. */
	if (status == STATUS_NOT_FOUND && !file_is_there(member->directory_fd, "stat"))
		return;
	reader->emitted[index] = status;
	struct reason reason = { "", "" };
	switch (status) {
	case STATUS_OK: sample_set_missing(out, now_ns, file->figure, NULL, NULL); return;
	case STATUS_NOT_FOUND: reason_set(&reason, status, file->not_there_remedy, "%s", file->not_there); break;
	case STATUS_DENIED: target_explain_denied(reader->target, member, &reason); break;
	case STATUS_AGAIN: reason_set(&reason, status, "raise the limit (ulimit -n)", "no file descriptor left"); break;
	default: reason_set(&reason, status, NULL, "/proc/%d/%s could not be read", (int)member->pid, file->name);
	}
	sample_set_missing(out, now_ns, file->figure, reason.text, reason.remedy);
}

static void emit_missing_members(struct process_reader *reader, struct sample_set *out, int64_t now_ns)
{
	const struct target *target = reader->target;
	if (target->members_left_out != reader->emitted_left_out) {
		char text[128];
		snprintf(text, sizeof text, "pmtop does not watch %u child processes (%s)", target->members_left_out,
			target->is_short_of_files ? "no file descriptor left" : "there are too many");
		reader->emitted_left_out = target->members_left_out;
		sample_set_missing(out, now_ns, "workers", target->members_left_out ? text : NULL,
			target->is_short_of_files ? "raise the limit (ulimit -n)" : NULL);
	}
	if (target->has_no_children_files && !reader->emitted_no_children) {
		reader->emitted_no_children = true;
		sample_set_missing(out, now_ns, "children", "the kernel does not list the children of a process",
			"boot a kernel with CONFIG_PROC_CHILDREN");
	}
}

/* -- the source -- */

static void emit_self(struct process_reader *reader, struct sample_set *out, int64_t now_ns)
{
	char text[128];
	size_t length;
	unsigned long size, resident;
	sample_set_figure(out, now_ns, METRIC_SELF_CPU, 0, (double)clock_process_cpu_ns());
	if (reader->self_fd >= 0 && file_reread(reader->self_fd, text, sizeof text, &length) == STATUS_OK &&
		sscanf(text, "%lu %lu", &size, &resident) == 2)
		sample_set_figure(out, now_ns, METRIC_SELF_RESIDENT, 0, (double)resident * reader->page_bytes);
}

static enum status process_open(struct target *target, void **state, struct reason *why_not)
{
	struct process_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	char path[4096];
	snprintf(path, sizeof path, "%s/self/statm", target->proc_root);
	reader->target = target;
	reader->self_fd = file_open(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	reader->ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	reader->page_bytes = (double)sysconf(_SC_PAGESIZE);
	reader->others_next_ns = reader->accounting_next_ns = INT64_MIN;
	*state = reader;
	return STATUS_OK;
}

static enum status process_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct process_reader *reader = state;
	const struct target *target = reader->target;
	emit_members(reader, out, now_ns);
	emit_self(reader, out, now_ns);
	if (target->has_ended || target->pid == 0)
		return STATUS_END;

	process_begin_more(reader, out, now_ns);
	bool with_others = now_ns >= reader->others_next_ns;
	if (with_others)
		reader->others_next_ns = now_ns + OTHERS_PERIOD_MS * NS_PER_MS;
	for (size_t i = 0; i < target->member_count; i++) {
		const struct target_member *member = &target->members[i];
		if (member->has_stat) {
			emit_stat(reader, member, out, now_ns);
			process_emit_more(reader, i, with_others, out, now_ns);
		}
		for (int file = 0; file < FILE_COUNT && (i == 0 || with_others); file++) {
			enum status status =
				emit_file(reader, member, &reader->known[i].fds[file], &optional_files[file], out, now_ns);
			if (i == 0)
				emit_missing_file(reader, file, status, out, now_ns);
		}
	}
	emit_missing_members(reader, out, now_ns);
	return STATUS_OK;
}

static void process_close(void *state)
{
	struct process_reader *reader = state;
	for (size_t i = 0; i < reader->count; i++)
		for (int file = 0; file < FILE_COUNT; file++)
			if (reader->known[i].fds[file] >= 0)
				close(reader->known[i].fds[file]);
	if (reader->self_fd >= 0)
		close(reader->self_fd);
	free(reader);
}

const struct source process_source = {
	.name = "process",
	.period_ns = SOURCE_SLOW_NS,
	.open = process_open,
	.read = process_read,
	.close = process_close,
};
