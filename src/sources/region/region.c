#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/region/events.h"
#include "src/region/reader.h"
#include "src/sources/region/region_advice.h"
#include "src/sources/region/region_calls.h"
#include "src/sources/region/region_ranks.h"
#include "src/sources/region/region_run.h"
#include "src/sources/region/region_search.h"
#include "src/sources/region/region_worker.h"
#include "src/sources/region/region_workers.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

enum { RUNS_MAX = 64, FOUND_MAX = 8, GIVEN_UP_MAX = 64, STAT_SIZE = 2048 };
/* The limit in pmtop.h, and the factor by which a larger ring is proposed. */
enum { RING_SLOTS_MAX = 65536, RING_MORE = 4 };
#define LIVE_CHECK_NS (1 * NS_PER_S)
#define RANKS_SEARCH_NS (2 * NS_PER_S)

/* A run stays in its slot, which is its number, until it is closed. */
struct slot {
	struct region_run *run; /* NULL: free */
	struct region_location location;
	pid_t pid;
	uint64_t start_ticks;
	unsigned generation;
	int directory_fd; /* the writer's /proc/PID, pmtop's own descriptor; −1 = none */
	uid_t owner;
	int64_t check_ns;   /* when to check again whether it is live */
	bool is_displaced;  /* its file was removed or replaced */
	bool is_elsewhere;  /* another rank of the run, whose process is outside the target's tree */
	int64_t process_ns; /* when to read its process again, because no other source does */
};

struct region_reader {
	struct target *target;
	size_t slot_end; /* no slot from here on was ever used */
	struct slot slots[RUNS_MAX];
	bool has_tried_path; /* opening target->region_path was tried */
	struct region_searches searches;
	struct region_workers *workers;
	size_t given_up_count; /* regions that became unreadable: not tried again */
	struct {
		uint64_t device, inode;
	} given_up[GIVEN_UP_MAX];
	int64_t ranks_ns; /* when to search for other ranks again */
	struct region_ranks ranks;
	struct region_advice advice;
	struct reason missing, emitted; /* why there is no run: now, and as emitted last; empty = there is one */
	uint64_t lost_slots;            /* size of the ring that lost events, as emitted last; 0 = none did */
};

/* -- runs come and go -- */

static void close_slot(struct slot *slot)
{
	region_run_close(slot->run);
	slot->run = NULL;
	if (slot->directory_fd >= 0)
		close(slot->directory_fd);
}

static void end_run(
	struct region_reader *reader, struct slot *slot, const char *why, struct sample_set *out, int64_t now_ns)
{
	struct record *record = sample_set_add(out, RECORD_RUN_CLOSED, (unsigned)(slot - reader->slots), now_ns);
	if (record)
		record->text = sample_set_text(out, why, strlen(why));
	close_slot(slot);
}

/* The region is not opened again, though its process may still map it. */
static void give_up(
	struct region_reader *reader, struct slot *slot, const char *why, struct sample_set *out, int64_t now_ns)
{
	size_t at = reader->given_up_count++ % GIVEN_UP_MAX;
	reader->given_up[at].device = slot->location.device;
	reader->given_up[at].inode = slot->location.inode;
	reason_set(&reader->missing, STATUS_DAMAGED, "restart the training process", "%s", why);
	end_run(reader, slot, why, out, now_ns);
}

static bool is_known(const struct region_reader *reader, const struct region_location *location)
{
	for (size_t i = 0; i < reader->slot_end; i++)
		if (reader->slots[i].run && reader->slots[i].location.device == location->device &&
			reader->slots[i].location.inode == location->inode)
			return true;
	for (size_t i = 0; i < reader->given_up_count && i < GIVEN_UP_MAX; i++)
		if (reader->given_up[i].device == location->device && reader->given_up[i].inode == location->inode)
			return true;
	return false;
}

static struct slot *free_slot(struct region_reader *reader)
{
	for (size_t i = 0; i < RUNS_MAX; i++)
		if (!reader->slots[i].run)
			return &reader->slots[i];
	return NULL;
}

/* False: it is the region of a run. A young region that has no role yet is checked again later. */
static bool took_worker(struct region_reader *reader, struct region *region, const struct target_member *member)
{
	enum region_role role = region_role(region, clock_monotonic_ns());
	if (role == REGION_IS_RUN || (role == REGION_IS_YOUNG && member == reader->target->members))
		return false;
	if (role == REGION_IS_WORKER)
		region_workers_add(reader->workers, region, member);
	else
		region_close(region);
	return true;
}

/* `member` NULL: its writer has ended or is unknown. Returns NULL if it was not opened. */
static struct slot *open_run(struct region_reader *reader, const struct region_location *location, uid_t owner,
	const struct target_member *member)
{
	struct region *region;
	char message[REGION_MESSAGE_SIZE] = "";
	struct slot *slot = free_slot(reader);
	if (!slot) {
		reason_set(&reader->missing, STATUS_UNSUPPORTED, NULL, "more than %d regions are open", RUNS_MAX);
		return NULL;
	}
	if (region_calls_open(location, owner, &region, message) != REGION_OK) {
		reason_set(&reader->missing, STATUS_DAMAGED, NULL, "%s", message);
		return NULL;
	}
	if (member && location->is_memfd && took_worker(reader, region, member))
		return NULL;
	*slot = (struct slot){ .location = *location, .owner = owner, .directory_fd = -1 };
	if (member) {
		slot->pid = member->pid;
		slot->start_ticks = member->start_ticks;
		slot->generation = member->generation;
		slot->directory_fd = fcntl(member->directory_fd, F_DUPFD_CLOEXEC, 0);
	}
	if (region_run_open(region, (unsigned)(slot - reader->slots), slot->pid, slot->directory_fd, &slot->run) !=
		STATUS_OK) {
		reason_set(&reader->missing, STATUS_NO_MEMORY, NULL, "out of memory");
		if (slot->directory_fd >= 0)
			close(slot->directory_fd);
		slot->run = NULL;
	}
	size_t end = (size_t)(slot - reader->slots) + 1;
	reader->slot_end = slot->run && end > reader->slot_end ? end : reader->slot_end;
	return slot->run ? slot : NULL;
}

/* -- the search -- */

static bool is_denied(const struct target_member *member)
{
	int fd = file_open(member->directory_fd, "maps", O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == EACCES || errno == EPERM);
}

/* False: a region was found that says not yet whose it is, or that could not be opened. */
static bool search_member(struct region_reader *reader, size_t index)
{
	bool is_unfilled, is_settled = true;
	const struct target *target = reader->target;
	const struct target_member *member = &target->members[index];
	struct region_location found[FOUND_MAX];
	size_t count = region_calls_find(member->directory_fd, member->pid, found, FOUND_MAX, &is_unfilled);
	for (size_t i = 0; i < count; i++)
		if (!is_known(reader, &found[i]))
			is_settled &= open_run(reader, &found[i], region_calls_owner(&found[i], member->directory_fd, target->uid),
							  member) != NULL;
	if (count == 0 && index == 0 && is_denied(member))
		target_explain_denied(target, member, &reader->missing);
	return is_settled && !is_unfilled;
}

static void search(struct region_reader *reader, int64_t now_ns)
{
	region_searches_follow(&reader->searches, reader->target);
	for (size_t i = 0; i < reader->searches.count; i++) {
		const struct target_member *member = &reader->target->members[i];
		struct region_search *one = &reader->searches.list[i];
		if (now_ns < one->next_ns || region_workers_has(reader->workers, member))
			continue;
		if (region_search_is_due(one, member, now_ns) && !search_member(reader, i))
			one->virtual_bytes = 0;
	}
}

/* -s: opens a region by its file: its run has ended, or its process is outside this pid namespace. It gets the first
 * slot. */
static void open_path(struct region_reader *reader)
{
	const struct target *target = reader->target;
	struct region_location location = { .device = 0 };
	struct stat status;
	reader->has_tried_path = true;
	int written = snprintf(location.path, sizeof location.path, "%s", target->region_path ? target->region_path : "");
	if (written <= 0 || (size_t)written >= sizeof location.path || lstat(location.path, &status) != 0) {
		reason_set(&reader->missing, STATUS_NOT_FOUND, "list the runs: pmtop list", "the region's file was deleted");
		return;
	}
	location.device = status.st_dev;
	location.inode = status.st_ino;
	struct slot *slot = open_run(reader, &location, target->uid, NULL);
	if (slot)
		slot->is_elsewhere = region_calls_is_live(region_run_region(slot->run), -1);
}

/* -- other ranks of the run, wherever their processes are -- */

/* The first slot whose run has several ranks. */
static const struct slot *find_rank(const struct region_reader *reader, struct region_rank *rank)
{
	for (size_t i = 0; i < reader->slot_end; i++)
		if (reader->slots[i].run && region_rank_read(region_run_region(reader->slots[i].run), rank))
			return &reader->slots[i];
	return NULL;
}

/* How many of the run's ranks are open; *is_there: whether `number` is one of them. */
static size_t count_ranks(
	const struct region_reader *reader, const struct region_rank *rank, long number, bool *is_there)
{
	size_t count = 0;
	struct region_rank other;
	*is_there = false;
	for (size_t i = 0; i < reader->slot_end; i++) {
		const struct slot *slot = &reader->slots[i];
		if (!slot->run || !region_rank_read(region_run_region(slot->run), &other) ||
			strcmp(other.run_id, rank->run_id) != 0)
			continue;
		*is_there |= other.rank == number;
		count++;
	}
	return count;
}

static void open_rank(
	struct region_reader *reader, const struct region_rank *rank, uid_t owner, const struct region_other *other)
{
	bool is_there;
	count_ranks(reader, rank, other->rank.rank, &is_there);
	if (is_there || is_known(reader, &other->location))
		return;
	struct target_member member = {
		.pid = other->pid, .start_ticks = other->start_ticks, .directory_fd = other->directory_fd
	};
	struct slot *slot = open_run(reader, &other->location, owner, other->pid ? &member : NULL);
	if (slot)
		slot->is_elsewhere = true;
}

static void search_ranks(struct region_reader *reader, int64_t now_ns)
{
	struct region_rank rank;
	bool is_there;
	if (now_ns < reader->ranks_ns)
		return;
	reader->ranks_ns = now_ns + RANKS_SEARCH_NS;
	const struct slot *own = find_rank(reader, &rank);
	if (!own || count_ranks(reader, &rank, rank.rank, &is_there) >= (size_t)rank.world_size)
		return;
	struct region_other *others = calloc(RUNS_MAX, sizeof *others);
	if (!others)
		return;
	size_t count = region_ranks_find(
		&reader->ranks, &own->location, &rank, own->owner, reader->target->proc_root, now_ns, others, RUNS_MAX);
	uid_t owner = own->owner;
	for (size_t i = 0; i < count; i++) {
		open_rank(reader, &rank, owner, &others[i]);
		if (others[i].directory_fd >= 0)
			close(others[i].directory_fd);
	}
	free(others);
}

/* The search for ranks found this run before the search of the tree did. */
static void adopt(struct slot *slot, const struct target_member *writer)
{
	slot->is_elsewhere = false;
	slot->generation = writer->generation;
}

/* Other sources read only the tree, so this reads the rank's memory, and whether it is stopped. */
static void emit_process(struct slot *slot, struct sample_set *out, int64_t now_ns)
{
	char text[STAT_SIZE];
	size_t length;
	struct proc_stat stat;
	if (!slot->run || !slot->is_elsewhere || slot->directory_fd < 0 || now_ns < slot->process_ns)
		return;
	slot->process_ns = now_ns + LIVE_CHECK_NS;
	if (file_read(slot->directory_fd, "stat", text, sizeof text, &length) != STATUS_OK ||
		!proc_stat_parse(text, length, &stat))
		return;
	sample_set_figure(
		out, now_ns, METRIC_PROCESS_RESIDENT, slot->pid, (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE));
	sample_set_figure(out, now_ns, METRIC_PROCESS_STATE, slot->pid, (double)stat.state);
}

/* -- reading them -- */

static const struct target_member *writer_of(const struct target *target, const struct slot *slot)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == slot->pid && target->members[i].start_ticks == slot->start_ticks)
			return &target->members[i];
	return NULL;
}

/* Why the writer will write nothing more; NULL while it may. What it wrote before is still to be read. */
static const char *why_ended(const struct region_reader *reader, struct slot *slot, int64_t now_ns)
{
	static const char killed[] = "killed or crashed: its last events were read";
	const struct target_member *writer = writer_of(reader->target, slot);
	if (region_run_has_ended(slot->run))
		return "ended";
	if (writer && slot->is_elsewhere)
		adopt(slot, writer);
	if (!writer && !slot->is_elsewhere)
		return killed;
	if (writer && writer->generation != slot->generation)
		return "process called exec";
	if (now_ns < slot->check_ns)
		return NULL;
	slot->check_ns = now_ns + LIVE_CHECK_NS;
	if (!region_calls_is_live(region_run_region(slot->run), slot->directory_fd))
		return slot->is_elsewhere ? killed : "its process closed the region";
	slot->is_displaced = !region_calls_is_in_place(region_run_region(slot->run));
	return slot->is_displaced ? "region file was removed or replaced" : NULL;
}

static void read_slot(struct region_reader *reader, struct slot *slot, struct sample_set *out, int64_t now_ns)
{
	const char *why = why_ended(reader, slot, now_ns);
	enum status status = region_run_read(slot->run, now_ns, out);
	/* Reads once more for events that were written between the first read and the end. */
	if (status == STATUS_OK && region_run_has_ended(slot->run)) {
		why = "ended";
		status = region_run_read(slot->run, now_ns, out);
	}
	if (status == STATUS_AGAIN)
		return;
	if (status != STATUS_OK)
		give_up(reader, slot, region_run_failure(slot->run), out, now_ns);
	else if (slot->is_displaced && !region_run_has_ended(slot->run))
		give_up(reader, slot, why, out, now_ns);
	else if (why)
		end_run(reader, slot, why, out, now_ns);
}

static const char no_instrumentation[] = "no instrumentation";

static void set_no_instrumentation(struct region_reader *reader, int64_t now_ns)
{
	char advice[sizeof reader->missing.remedy];
	region_advice_renew(&reader->advice, reader->target, now_ns);
	framework_write_advice(reader->advice.found, reader->advice.is_python, advice, sizeof advice);
	reason_set(&reader->missing, STATUS_NOT_FOUND, advice, "%s", no_instrumentation);
}

static void emit_missing(struct region_reader *reader, bool has_runs, struct sample_set *out, int64_t now_ns)
{
	static const struct reason none = { "", "" };
	if (has_runs)
		reader->missing = none;
	else if (!reader->missing.text[0] || strcmp(reader->missing.text, no_instrumentation) == 0)
		set_no_instrumentation(reader, now_ns);
	if (strcmp(reader->missing.text, reader->emitted.text) == 0 &&
		strcmp(reader->missing.remedy, reader->emitted.remedy) == 0)
		return;
	reader->emitted = reader->missing;
	sample_set_missing(
		out, now_ns, "region", has_runs ? NULL : reader->missing.text, has_runs ? NULL : reader->missing.remedy);
}

/* Events were lost although the interval adapts: proposes a larger ring. For runs that have ended the message stays. */
static void emit_lost(struct region_reader *reader, struct sample_set *out, int64_t now_ns)
{
	char text[128], remedy[128];
	uint64_t slots = 0;
	bool has_runs = false;
	for (size_t i = 0; i < reader->slot_end; i++) {
		const struct region_run *run = reader->slots[i].run;
		uint64_t own = run && region_run_has_lost(run) ? region_lane_slots(region_run_region(run)) : 0;
		has_runs |= run != NULL;
		slots = own > slots ? own : slots;
	}
	if (!has_runs || slots == reader->lost_slots)
		return;
	reader->lost_slots = slots;
	snprintf(text, sizeof text,
		"events were overwritten before pmtop read them: a thread's ring holds %" PRIu64 " events", slots);
	uint64_t more = slots < RING_SLOTS_MAX / RING_MORE ? slots * RING_MORE : RING_SLOTS_MAX;
	snprintf(remedy, sizeof remedy,
		"pmtop.init(slots=%" PRIu64 ") in Python, or .slots in pmtop_options in C (man pmtop.h)", more);
	sample_set_missing(out, now_ns, "lost events", slots ? text : NULL,
		!slots                       ? NULL
			: slots < RING_SLOTS_MAX ? remedy
									 : "record fewer spans");
}

static enum status region_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct region_reader *reader = state;
	const struct target *target = reader->target;
	bool has_runs = false, had_runs = false;
	if (target->pid != 0)
		search(reader, now_ns);
	else if (!reader->has_tried_path)
		open_path(reader);
	search_ranks(reader, now_ns);
	for (size_t i = 0; i < reader->slot_end; i++) {
		struct slot *slot = &reader->slots[i];
		if (!slot->run)
			continue;
		had_runs = true;
		read_slot(reader, slot, out, now_ns);
		emit_process(slot, out, now_ns);
		/* Other ranks may continue after the target has ended. */
		has_runs |= slot->run != NULL && (!slot->is_elsewhere || (target->pid == 0 && i == 0));
	}
	emit_lost(reader, out, now_ns);
	region_workers_read(reader->workers, target, now_ns, out);
	bool is_over = target->pid == 0 || target->has_ended;
	if (!is_over || !had_runs)
		emit_missing(reader, has_runs, out, now_ns);
	return is_over && !has_runs ? STATUS_END : STATUS_OK;
}

static int64_t region_refresh(void *state, int64_t now_ns, struct sample_set *out)
{
	struct region_reader *reader = state;
	int64_t next_ns = INT64_MAX;
	for (size_t i = 0; i < reader->slot_end; i++) {
		struct slot *slot = &reader->slots[i];
		int64_t at_ns = slot->run ? region_run_refresh(slot->run, now_ns, out) : INT64_MAX;
		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	return next_ns;
}

static enum status region_emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	struct region_reader *reader = state;
	for (size_t i = 0; i < reader->slot_end; i++)
		if (reader->slots[i].run)
			region_run_emit_all(reader->slots[i].run, now_ns, out);
	region_workers_emit_all(reader->workers, now_ns, out);
	return STATUS_OK;
}

static enum status region_source_open(struct target *target, void **state, struct reason *why_not)
{
	struct region_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	reader->target = target;
	reader->workers = region_workers_new();
	*state = reader;
	return STATUS_OK;
}

static void region_source_close(void *state)
{
	struct region_reader *reader = state;
	for (size_t i = 0; i < reader->slot_end; i++)
		if (reader->slots[i].run)
			close_slot(&reader->slots[i]);
	region_workers_free(reader->workers);
	free(reader);
}

const struct source region_source = {
	.name = "region",
	.open = region_source_open,
	.read = region_read,
	.sample = region_refresh,
	.emit_all = region_emit_all,
	.close = region_source_close,
};
