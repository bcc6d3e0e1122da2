#include "src/sources/region/region_workers.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/region/region_worker.h"

/* Its place is its number in the records, for as long as its process lives. */
struct place {
	pid_t pid; /* 0: free */
	uint64_t start_ticks;
	unsigned generation;
	struct region_worker *worker; /* NULL: it could be read no further */
};

struct region_workers {
	size_t used; /* no place from here on is taken */
	struct place places[REGION_WORKERS_MAX];
};

struct region_workers *region_workers_new(void) { return calloc(1, sizeof(struct region_workers)); }

void region_workers_free(struct region_workers *workers)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (workers->places[i].worker)
			region_worker_close(workers->places[i].worker);
	free(workers);
}

void region_workers_add(struct region_workers *workers, struct region *region, const struct target_member *member)
{
	size_t at = 0;
	while (workers && at < REGION_WORKERS_MAX && workers->places[at].pid)
		at++;
	if (!workers || at == REGION_WORKERS_MAX) {
		region_close(region);
		return;
	}
	struct place *place = &workers->places[at];
	*place = (struct place){ .pid = member->pid, .start_ticks = member->start_ticks, .generation = member->generation };
	if (region_worker_open(region, (unsigned)at, member->pid, member->directory_fd, &place->worker) != STATUS_OK)
		place->pid = 0;
	else if (at >= workers->used)
		workers->used = at + 1;
}

static bool is_of(const struct place *place, const struct target_member *member)
{
	return place->pid == member->pid && place->start_ticks == member->start_ticks &&
		place->generation == member->generation;
}

bool region_workers_has(const struct region_workers *workers, const struct target_member *member)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (is_of(&workers->places[i], member))
			return true;
	return false;
}

static bool is_alive(const struct place *place, const struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (is_of(place, &target->members[i]))
			return target->members[i].stat.state != 'Z';
	return false;
}

/* `why` NULL: it goes on. */
static const char *read_place(struct place *place, bool has_died, int64_t now_ns, struct sample_set *out)
{
	if (region_worker_read(place->worker, now_ns, has_died, out) != STATUS_OK)
		return "its region could not be read";
	/* Said before the end, and told in the same row. */
	return region_worker_has_ended(place->worker) ? "ended" : has_died ? "killed or crashed" : NULL;
}

void region_workers_read(
	struct region_workers *workers, const struct target *target, int64_t now_ns, struct sample_set *out)
{
	size_t used = 0;
	for (size_t i = 0; workers && i < workers->used; i++) {
		struct place *place = &workers->places[i];
		bool has_died = place->pid && !is_alive(place, target);
		const char *why = place->worker ? read_place(place, has_died, now_ns, out) : NULL;
		if (why) {
			struct record *record = sample_set_add(out, RECORD_WORKER_GONE, (unsigned)i, now_ns);
			if (record)
				record->text = sample_set_text(out, why, strlen(why));
			region_worker_close(place->worker);
			place->worker = NULL;
		}
		if (has_died)
			place->pid = 0;
		used = place->pid ? i + 1 : used;
	}
	if (workers)
		workers->used = used;
}

void region_workers_emit_all(struct region_workers *workers, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; workers && i < workers->used; i++)
		if (workers->places[i].worker)
			region_worker_emit(workers->places[i].worker, now_ns, out);
}
