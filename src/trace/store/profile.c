#include "src/trace/store/profile.h"

#include <stdlib.h>

#include "src/trace/store/profile_table.h"

enum { COUNT_MAX = 1 << 30 };

bool profile_init(struct profile *profile)
{
	*profile = (struct profile){ .start_ns = INT64_MAX, .end_ns = INT64_MIN, .rank = -1, .world_size = -1 };
	profile->flops = profile_table_new();
	profile->links = profile_table_new();
	profile->copy_rows = profile_table_new();
	return profile_names_init(&profile->names) && profile->flops && profile->links && profile->copy_rows;
}

void profile_release(struct profile *profile)
{
	profile_names_release(&profile->names);
	for (uint32_t i = 0; i < profile->track_count; i++) {
		free(profile->tracks[i].hosts);
		free(profile->tracks[i].works);
		free(profile->tracks[i].opened);
	}
	free(profile->tracks);
	free(profile->track_slots);
	free(profile->kernels);
	free(profile->copies);
	free(profile->allocations);
	free(profile->steps);
	profile_table_free(profile->flops);
	profile_table_free(profile->links);
	profile_table_free(profile->copy_rows);
	*profile = (struct profile){ 0 };
}

bool profile_grow(struct profile *profile, void *array, uint32_t *capacity, uint32_t count, size_t size)
{
	if (count < *capacity)
		return true;
	uint32_t larger = *capacity ? *capacity + *capacity / 2 : 64;
	void *old, *grown = NULL;
	memcpy(&old, array, sizeof old);
	if (larger <= COUNT_MAX)
		grown = realloc(old, larger * size);
	if (!grown) {
		profile->no_memory = true;
		return false;
	}
	memcpy(array, &grown, sizeof grown);
	*capacity = larger;
	return true;
}

/* -- tracks -- */

/* A number as it is; a text as its name. */
static int64_t id_of(struct profile *profile, struct profile_slice text, uint32_t *name)
{
	int64_t id;
	*name = 0;
	if (!text.text || token_whole(text, &id))
		return text.text ? id : -1;
	*name = profile_names_add(&profile->names, text);
	return *name;
}

static uint32_t track_slot(
	const struct profile *profile, int64_t pid, int64_t tid, uint32_t pid_name, uint32_t tid_name)
{
	uint64_t hash = ((uint64_t)pid * 0x9e3779b97f4a7c15 + (uint64_t)tid) * 0x9e3779b97f4a7c15;
	uint32_t slot = (uint32_t)(hash >> 32) & (profile->track_slot_count - 1);
	for (; profile->track_slots[slot]; slot = (slot + 1) & (profile->track_slot_count - 1)) {
		const struct profile_track *track = &profile->tracks[profile->track_slots[slot] - 1];
		if (track->pid == pid && track->tid == tid && track->pid_name == pid_name && track->tid_name == tid_name)
			break;
	}
	return slot;
}

static bool grow_track_slots(struct profile *profile)
{
	if (profile->track_count * 2 < profile->track_slot_count)
		return true;
	uint32_t count = profile->track_slot_count ? profile->track_slot_count * 2 : 64;
	uint32_t *slots = calloc(count, sizeof *slots);
	if (!slots)
		return false;
	free(profile->track_slots);
	profile->track_slots = slots;
	profile->track_slot_count = count;
	for (uint32_t i = 0; i < profile->track_count; i++) {
		const struct profile_track *track = &profile->tracks[i];
		uint32_t slot = track_slot(profile, track->pid, track->tid, track->pid_name, track->tid_name);
		/* The first of those that profile_track_on() made leads to the others. */
		if (!slots[slot])
			slots[slot] = i + 1;
	}
	return true;
}

static struct profile_track *add_track(struct profile *profile, const struct profile_track *track)
{
	if (profile->track_count >= PROFILE_TRACKS_MAX) {
		profile->untracked_count++;
		return NULL;
	}
	if (!profile_grow(
			profile, &profile->tracks, &profile->track_capacity, profile->track_count, sizeof *profile->tracks))
		return NULL;
	profile->tracks[profile->track_count] = *track;
	return &profile->tracks[profile->track_count++];
}

struct profile_track *profile_track_of(struct profile *profile, struct profile_slice pid, struct profile_slice tid)
{
	uint32_t pid_name, tid_name;
	int64_t pid_id = id_of(profile, pid, &pid_name), tid_id = id_of(profile, tid, &tid_name);
	if (!grow_track_slots(profile)) {
		profile->no_memory = true;
		return NULL;
	}
	uint32_t slot = track_slot(profile, pid_id, tid_id, pid_name, tid_name);
	if (profile->track_slots[slot])
		return &profile->tracks[profile->track_slots[slot] - 1];
	struct profile_track *track = add_track(profile,
		&(struct profile_track){
			.pid = pid_id, .tid = tid_id, .pid_name = pid_name, .tid_name = tid_name, .device = -1 });
	if (track)
		profile->track_slots[slot] = profile->track_count;
	return track;
}

struct profile_track *profile_track_on(
	struct profile *profile, struct profile_slice pid, struct profile_slice tid, int32_t device)
{
	struct profile_track *track = profile_track_of(profile, pid, tid);
	while (track && track->work_count && track->device != device) {
		uint32_t index = (uint32_t)(track - profile->tracks), next = track->next_device;
		if (!next) {
			next = profile->track_count;
			if (!add_track(profile,
					&(struct profile_track){ .pid = track->pid,
						.tid = track->tid,
						.pid_name = track->pid_name,
						.tid_name = track->tid_name }))
				return NULL;
			profile->tracks[index].next_device = next;
		}
		track = &profile->tracks[next];
	}
	if (track)
		track->device = device;
	return track;
}

/* -- events -- */

struct profile_host *profile_add_host(struct profile *profile, struct profile_track *track)
{
	if (!profile_grow(profile, &track->hosts, &track->host_capacity, track->host_count, sizeof *track->hosts))
		return NULL;
	return &track->hosts[track->host_count++];
}

void profile_widen(struct profile *profile, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < profile->start_ns)
		profile->start_ns = start_ns;
	if (end_ns > profile->end_ns)
		profile->end_ns = end_ns;
}

struct profile_work *profile_add_work(struct profile *profile, struct profile_track *track)
{
	if (!profile_grow(profile, &track->works, &track->work_capacity, track->work_count, sizeof *track->works))
		return NULL;
	return &track->works[track->work_count++];
}

struct profile_kernel *profile_kernel_of(struct profile *profile, uint32_t name)
{
	uint32_t *row = &profile->names.names[name].row;
	if (!*row) {
		if (!profile_grow(
				profile, &profile->kernels, &profile->kernel_capacity, profile->kernel_count, sizeof *profile->kernels))
			return NULL;
		profile->kernels[profile->kernel_count] = (struct profile_kernel){ .name = name, .min_ns = INT64_MAX };
		*row = ++profile->kernel_count;
	}
	return &profile->kernels[*row - 1];
}

struct profile_copy *profile_copy_of(struct profile *profile, uint32_t name)
{
	struct profile_entry *entry = profile_table_at(profile->copy_rows, name);
	if (!entry) {
		profile->no_memory = true;
		return NULL;
	}
	if (!entry->bits) {
		if (!profile_grow(
				profile, &profile->copies, &profile->copy_capacity, profile->copy_count, sizeof *profile->copies))
			return NULL;
		profile->copies[profile->copy_count] = (struct profile_copy){ .name = name };
		entry->bits = ++profile->copy_count;
	}
	return &profile->copies[entry->bits - 1];
}

struct profile_allocation *profile_add_allocation(struct profile *profile)
{
	if (!profile_grow(profile, &profile->allocations, &profile->allocation_capacity, profile->allocation_count,
			sizeof *profile->allocations))
		return NULL;
	return &profile->allocations[profile->allocation_count++];
}

void profile_add_step(struct profile *profile, int64_t start_ns, int64_t duration_ns, int64_t number)
{
	if (profile_grow(profile, &profile->steps, &profile->step_capacity, profile->step_count, sizeof *profile->steps))
		profile->steps[profile->step_count++] = (struct profile_mark){ start_ns, duration_ns, number };
}

/* Exact, but for times that no real file has. */
static double ns_between(int64_t from_ns, int64_t to_ns)
{
	int64_t between_ns;
	return __builtin_sub_overflow(to_ns, from_ns, &between_ns) ? (double)to_ns - (double)from_ns : (double)between_ns;
}

void profile_curve_add(
	const struct profile *profile, int64_t curve_ns[PROFILE_CURVE_SIZE], int64_t start_ns, int64_t end_ns)
{
	double part_ns = ns_between(profile->start_ns, profile->end_ns) / PROFILE_CURVE_SIZE;
	if (end_ns <= start_ns || part_ns <= 0)
		return;
	double from = ns_between(profile->start_ns, start_ns), to = ns_between(profile->start_ns, end_ns);
	if (from >= PROFILE_CURVE_SIZE * part_ns) /* a damaged file may have it anywhere */
		return;
	for (int i = from > 0 ? (int)(from / part_ns) : 0; i < PROFILE_CURVE_SIZE && i * part_ns < to; i++) {
		double low = from > i * part_ns ? from : i * part_ns, high = to < (i + 1) * part_ns ? to : (i + 1) * part_ns;
		curve_ns[i] += high > low ? (int64_t)(high - low) : 0;
	}
}
