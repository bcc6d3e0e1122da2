#include "src/export/trace/trace_tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/trace/trace_private.h"

/* FNV-1a, 64 bits. */
static uint64_t trace_uuid(const char *text, uint64_t more)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	for (unsigned i = 0; i < 8; i++)
		hash = (hash ^ (more >> 8 * i & 0xff)) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

static bool grow(void *list, size_t count)
{
	void **old = *(void ***)list;
	if (count & (count - 1) && count)
		return true;
	void **more = realloc(old, (count ? count * 2 : 1) * sizeof *more);
	if (more)
		*(void ***)list = more;
	return more != NULL;
}

static struct trace_track *add_track(struct trace *trace, const struct trace_track *like)
{
	struct trace_track *track = grow(&trace->tracks, trace->track_count) ? malloc(sizeof *track) : NULL;
	if (!track) {
		trace->failed = true;
		return NULL;
	}
	*track = *like;
	trace->tracks[trace->track_count++] = track;
	trace->format->track(trace->writer, trace->scene->out, track);
	return track;
}

struct trace_track *trace_track(struct trace *trace, enum trace_kind kind, enum trace_unit unit,
	struct trace_process *process, const char *name, int rank)
{
	struct trace_track track = { .kind = kind, .unit = unit, .rank = rank };
	uint32_t tid = process ? process->next_tid++ : 1000 + (uint32_t)trace->track_count;
	track.parent = process ? process->track->uuid : 0;
	track.pid = process ? process->track->pid : 0;
	track.tid = kind == TRACE_LANE ? (uint32_t)rank + 1 : tid;
	track.uuid = trace_uuid(name, track.parent + tid);
	snprintf(track.name, sizeof track.name, "%s", name);
	return add_track(trace, &track);
}

static bool has_pid(const struct trace *trace, int32_t pid)
{
	for (size_t i = 0; i < trace->process_count; i++)
		if (trace->processes[i]->track->pid == pid)
			return true;
	return false;
}

/* Each run is a process of its own in the trace: a process may publish several runs, and processes of several machines
 * may share a pid. */
struct trace_process *trace_process(struct trace *trace, int32_t pid, const char *name, const char *run_uuid, long rank)
{
	enum { BEYOND_PIDS = 1 << 22 };
	for (size_t i = 0; i < trace->process_count; i++) {
		struct trace_process *known = trace->processes[i];
		if (known->pid != pid || (run_uuid && known->has_run))
			continue;
		known->has_run |= run_uuid != NULL;
		if (run_uuid && strcmp(known->track->name, name) != 0) {
			/* Write it again, now with its run's name. */
			snprintf(known->track->name, sizeof known->track->name, "%s", name);
			known->track->rank = (int)rank;
			trace->format->track(trace->writer, trace->scene->out, known->track);
		}
		return known;
	}
	struct trace_process *process = grow(&trace->processes, trace->process_count) ? calloc(1, sizeof *process) : NULL;
	if (!process) {
		trace->failed = true;
		return NULL;
	}
	struct trace_track track = { .kind = TRACE_PROCESS, .pid = pid, .rank = (int)rank };
	while (has_pid(trace, track.pid) && track.pid < INT32_MAX - BEYOND_PIDS)
		track.pid += BEYOND_PIDS;
	track.uuid = trace_uuid(trace->scene->host, (uint64_t)(uint32_t)track.pid);
	snprintf(track.name, sizeof track.name, "%s", name);
	*process = (struct trace_process){ .pid = pid, .has_run = run_uuid != NULL, .next_tid = 1000 };
	process->track = add_track(trace, &track);
	if (!process->track) {
		free(process);
		return NULL;
	}
	trace->processes[trace->process_count++] = process;
	return process;
}

const struct trace_track *trace_track_beside(struct trace *trace, struct trace_shared_tracks *tracks,
	struct trace_process *process, const char *name, int rank, int64_t begin_ns, int64_t end_ns)
{
	unsigned i = 0;
	while (i < tracks->count && tracks->list[i].end_ns > begin_ns)
		i++;
	if (i == LANE_TRACKS)
		return NULL;
	if (i == tracks->count) {
		tracks->list[i].track = trace_track(trace, TRACE_TRACK, TRACE_NUMBER, process, name, rank);
		if (!tracks->list[i].track)
			return NULL;
		tracks->count++;
	}
	tracks->list[i].end_ns = end_ns;
	return tracks->list[i].track;
}
