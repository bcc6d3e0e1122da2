#include "src/sources/region/region_workers.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/region/region_worker.h"

/* The slot's index is the worker's number in the records while its process lives. */
struct slot {
	pid_t pid; /* 0: free */
	uint64_t start_ticks;
	unsigned generation;
	struct region_worker *worker; /* NULL: it cannot be read any more */
};

struct region_workers {
	size_t used; /* no slot from here on is taken */
	struct slot slots[REGION_WORKERS_MAX];
};

struct region_workers *region_workers_new(void) { return calloc(1, sizeof(struct region_workers)); }

void region_workers_free(struct region_workers *workers)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (workers->slots[i].worker)
			region_worker_close(workers->slots[i].worker);
	free(workers);
}

void region_workers_add(struct region_workers *workers, struct region *region, const struct target_member *member)
{
	size_t at = 0;
	while (workers && at < REGION_WORKERS_MAX && workers->slots[at].pid)
		at++;
	if (!workers || at == REGION_WORKERS_MAX) {
		region_close(region);
		return;
	}
	struct slot *slot = &workers->slots[at];
	*slot = (struct slot){ .pid = member->pid, .start_ticks = member->start_ticks, .generation = member->generation };
	if (region_worker_open(region, (unsigned)at, member->pid, member->directory_fd, &slot->worker) != STATUS_OK)
		slot->pid = 0;
	else if (at >= workers->used)
		workers->used = at + 1;
}

static bool is_of(const struct slot *slot, const struct target_member *member)
{
	return slot->pid == member->pid && slot->start_ticks == member->start_ticks &&
		slot->generation == member->generation;
}

bool region_workers_has(const struct region_workers *workers, const struct target_member *member)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (is_of(&workers->slots[i], member))
			return true;
	return false;
}

static bool is_alive(const struct slot *slot, const struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (is_of(slot, &target->members[i]))
			return target->members[i].stat.state != 'Z';
	return false;
}

/* Returns why the worker is gone; NULL: it continues. */
static const char *read_slot(struct slot *slot, bool has_died, int64_t now_ns, struct sample_set *out)
{
	if (region_worker_read(slot->worker, now_ns, has_died, out) != STATUS_OK)
		return "its region could not be read";
	/* The end mark is in the row that was just read. */
	return region_worker_has_ended(slot->worker) ? "ended" : has_died ? "killed or crashed" : NULL;
}

void region_workers_read(
	struct region_workers *workers, const struct target *target, int64_t now_ns, struct sample_set *out)
{
	size_t used = 0;
	for (size_t i = 0; workers && i < workers->used; i++) {
		struct slot *slot = &workers->slots[i];
		bool has_died = slot->pid && !is_alive(slot, target);
		const char *why = slot->worker ? read_slot(slot, has_died, now_ns, out) : NULL;
		if (why) {
			struct record *record = sample_set_add(out, RECORD_WORKER_GONE, (unsigned)i, now_ns);
			if (record)
				record->text = sample_set_text(out, why, strlen(why));
			region_worker_close(slot->worker);
			slot->worker = NULL;
		}
		if (has_died)
			slot->pid = 0;
		used = slot->pid ? i + 1 : used;
	}
	if (workers)
		workers->used = used;
}

void region_workers_emit_all(struct region_workers *workers, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (workers->slots[i].worker)
			region_worker_emit(workers->slots[i].worker, now_ns, out);
}
