#include "src/sources/proc/process_more.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/proc/process_private.h"

#define ACCOUNTING_NS (5 * NS_PER_S)
#define DESCRIPTORS_NS (5 * NS_PER_S)

enum { DESCRIPTORS_COUNTED_MAX = 4096, WAITS_A_READING = 16 };

/* -- the wait for the disk -- */

static enum accounting read_accounting(const struct process_reader *reader)
{
	char path[4096], text[16];
	size_t length;
	snprintf(path, sizeof path, "%s/sys/kernel/task_delayacct", reader->target->proc_root);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK || length == 0)
		return ACCOUNTING_UNKNOWN;
	return text[0] == '0' ? ACCOUNTING_OFF : ACCOUNTING_ON;
}

static const char *why_no_disk_wait(const struct process_reader *reader, const char **remedy)
{
	bool has_waited = reader->target->member_count > 0 && reader->target->members[0].stat.disk_wait_ticks > 0;
	*remedy = "sysctl kernel.task_delayacct=1, before the run starts";
	switch (reader->accounting) {
	case ACCOUNTING_OFF: return "delay accounting is off: no disk wait per process";
	case ACCOUNTING_ON:
		*remedy = "restart the run";
		return reader->count > 0 && reader->known[0].is_never_counted
			? "delay accounting was off when this process started"
			: NULL;
	default:
		*remedy = "boot the kernel with delayacct (CONFIG_TASK_DELAY_ACCT)";
		return has_waited ? NULL : "delay accounting may be off: no disk wait per process so far";
	}
}

void process_begin_more(struct process_reader *reader, struct sample_set *out, int64_t now_ns)
{
	reader->waits_left = WAITS_A_READING;
	if (now_ns < reader->accounting_next_ns)
		return;
	reader->accounting_next_ns = now_ns + ACCOUNTING_NS;
	enum accounting before = reader->accounting;
	reader->accounting = read_accounting(reader);
	for (size_t i = 0; reader->has_read_accounting && before == ACCOUNTING_OFF && reader->accounting == ACCOUNTING_ON &&
		 i < reader->count;
		 i++)
		reader->known[i].is_never_counted = true;
	reader->has_read_accounting = true;
	const char *remedy, *why = why_no_disk_wait(reader, &remedy);
	if (why != reader->emitted_no_disk_wait)
		sample_set_missing(out, now_ns, "disk wait", why, why ? remedy : NULL);
	reader->emitted_no_disk_wait = why;
}

static void emit_disk_wait(const struct process_reader *reader, size_t index, struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[index];
	uint64_t ticks = member->stat.disk_wait_ticks;
	bool is_counted = ticks > 0 || (reader->accounting == ACCOUNTING_ON && !reader->known[index].is_never_counted);
	if (is_counted)
		sample_set_figure(out, now_ns, METRIC_PROCESS_DISK_WAIT, member->pid, (double)ticks * reader->ns_per_tick);
}

/* -- descriptors -- */

/* Since Linux 6.2 the folder's size is the number of descriptors. */
static bool count_descriptors(int directory_fd, size_t *count)
{
	struct stat status;
	if (file_stat(directory_fd, "fd", &status, 0) != 0)
		return false;
	*count = (size_t)status.st_size;
	if (*count > 0)
		return true;
	DIR *folder = file_open_folder(directory_fd, "fd");
	if (!folder)
		return false;
	struct dirent *entry;
	while ((entry = file_next(folder)) && *count < DESCRIPTORS_COUNTED_MAX)
		*count += entry->d_name[0] != '.';
	closedir(folder);
	return *count < DESCRIPTORS_COUNTED_MAX;
}

static void emit_descriptors(struct process_reader *reader, size_t index, struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[index];
	struct known_process *known = &reader->known[index];
	size_t count;
	if (now_ns < known->descriptors_next_ns || !member->is_detailed)
		return;
	known->descriptors_next_ns = now_ns + DESCRIPTORS_NS;
	if (count_descriptors(member->directory_fd, &count))
		sample_set_figure(out, now_ns, METRIC_PROCESS_DESCRIPTORS, member->pid, (double)count);
}

/* -- where it waits -- */

/* Whether to read wchan: each time in state D; about once a second in state S, for the target and for others that
 * have not run since. */
static bool should_read_wait(struct process_reader *reader, size_t index, bool with_others)
{
	const struct target_member *member = &reader->target->members[index];
	struct known_process *known = &reader->known[index];
	uint64_t ticks = member->stat.user_ticks + member->stat.system_ticks;
	bool has_run = ticks != known->ran_ticks;
	if (with_others)
		known->ran_ticks = ticks;
	if (member->stat.state == 'D')
		return true;
	return member->stat.state == 'S' && with_others && (index == 0 || (!has_run && member->is_detailed));
}

static void emit_wait(
	struct process_reader *reader, size_t index, bool with_others, struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[index];
	struct known_process *known = &reader->known[index];
	char text[PROCESS_WAIT_SIZE] = "";
	size_t length;
	bool is_asleep = member->stat.state == 'D' || member->stat.state == 'S';
	if (should_read_wait(reader, index, with_others)) {
		if (reader->waits_left == 0)
			return;
		reader->waits_left--;
		if (file_read(member->directory_fd, "wchan", text, sizeof text, &length) != STATUS_OK || strcmp(text, "0") == 0)
			text[0] = '\0';
	} else if (is_asleep) {
		return;
	}
	if (strcmp(text, known->wait) == 0)
		return;
	memcpy(known->wait, text, sizeof known->wait);
	struct record *record = sample_set_add(out, RECORD_PROCESS_WAIT, 0, now_ns);
	if (!record)
		return;
	record->wait.pid = member->pid;
	record->wait.text = sample_set_text(out, text, strlen(text));
}

void process_emit_more(
	struct process_reader *reader, size_t index, bool with_others, struct sample_set *out, int64_t now_ns)
{
	emit_disk_wait(reader, index, out, now_ns);
	emit_descriptors(reader, index, out, now_ns);
	emit_wait(reader, index, with_others, out, now_ns);
}
