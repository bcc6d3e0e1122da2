#include "src/export/finished.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "src/model/run/steps/tracks.h"

/* A batch is returned once BEHIND batches of its run came after it: half of a track's ring, because one set can add
 * many. In a live run it is also returned after SETTLED_NS; until then samplers and GPU clocks can still add figures.
 */
enum { BEHIND = 4096, WARMUP_BEHIND = 10 };
#define SETTLED_NS (5 * NS_PER_S)

struct written {
	char uuid[33];
	uint64_t next[RUN_TRACKS_MAX]; /* ordinal of the next to return */
	uint64_t epoch;                /* epochs up to this ordinal were returned */
};

struct finished {
	struct written runs[MODEL_RUNS_MAX];
};

struct finished *finished_new(void) { return calloc(1, sizeof(struct finished)); }

void finished_free(struct finished *finished) { free(finished); }

bool scene_covers(const struct export_scene *scene, int64_t time_ns)
{
	return time_ns >= scene->since_ns && time_ns < scene->until_ns;
}

int64_t scene_realtime_ns(const struct export_scene *scene, int64_t time_ns)
{
	return time_ns + scene->realtime_offset_ns;
}

/* A slot of the model may be reused for another run. */
static struct written *written_of(struct finished *finished, const struct run *run, unsigned rank)
{
	struct written *written = &finished->runs[rank];
	if (strncmp(written->uuid, run->uuid, sizeof written->uuid) != 0) {
		*written = (struct written){ .epoch = 0 };
		snprintf(written->uuid, sizeof written->uuid, "%s", run->uuid);
	}
	return written;
}

static uint64_t newest_number(const struct run *run)
{
	uint64_t newest = 0;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		const struct batch *batch = track->end > track->first ? track_batch(track, track->end - 1) : NULL;
		if (batch && batch->number > newest)
			newest = batch->number;
	}
	return newest;
}

static bool is_settled(const struct export_scene *scene, const struct finished_batch *head)
{
	const struct model *model = scene->model;
	const struct batch *batch = head->batch;
	if (newest_number(head->run) >= batch->number + BEHIND)
		return true;
	if (!scene->is_awaited || model->now_ns - batch->end_ns < SETTLED_NS)
		return false;
	uint64_t warmup_until = model->options.warmup_max + WARMUP_BEHIND;
	return (!isnan(batch->step_s) || head->track->end > batch->ordinal + 1) &&
		(batch->ordinal >= warmup_until || head->track->end > warmup_until);
}

/* The oldest batch of all tracks of a run that was not returned yet. */
static bool find_head(struct written *written, const struct run *run, struct finished_batch *out)
{
	out->batch = NULL;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		if (written->next[i] < track->first)
			written->next[i] = track->first;
		for (; written->next[i] < track->end; written->next[i]++) {
			const struct batch *batch = track_batch(track, written->next[i]);
			if (batch && batch->end_ns && (!out->batch || batch->begin_ns < out->batch->begin_ns)) {
				out->track = track;
				out->batch = batch;
			}
			/* The last one may still be running. */
			if (batch && (batch->end_ns || written->next[i] + 1 == track->end))
				break;
		}
	}
	return out->batch != NULL;
}

static bool find_oldest(
	struct finished *finished, const struct export_scene *scene, bool is_end, struct finished_batch *out)
{
	out->batch = NULL;
	for (unsigned rank = 0; rank < scene->model->run_count; rank++) {
		const struct run *run = &scene->model->runs[rank];
		struct finished_batch head = { .rank = rank, .run = run };
		if (!run->is_used || !find_head(written_of(finished, run, rank), run, &head) ||
			!(is_end || is_settled(scene, &head)))
			continue;
		if (!out->batch || head.batch->begin_ns < out->batch->begin_ns)
			*out = head;
	}
	return out->batch != NULL;
}

bool finished_next(struct finished *finished, const struct export_scene *scene, bool is_end, struct finished_batch *out)
{
	while (find_oldest(finished, scene, is_end, out)) {
		finished->runs[out->rank].next[out->track - out->run->tracks] = out->batch->ordinal + 1;
		if (scene_covers(scene, out->batch->begin_ns))
			return true;
	}
	return false;
}

const struct explanation *finished_explain(
	const struct finished_batch *finished, const struct export_scene *scene, struct explanation *room)
{
	if (!finished->batch->is_flagged)
		return NULL;
	return explain_any(scene->model, finished->run, finished->track, finished->batch, room);
}

/* A batch that began before the epoch's end must be returned first. */
static bool has_older(struct finished *finished, const struct run *run, unsigned rank, int64_t end_ns)
{
	struct finished_batch head;
	return find_head(written_of(finished, run, rank), run, &head) && head.batch->begin_ns < end_ns;
}

const struct epoch *finished_epoch(struct finished *finished, const struct export_scene *scene, unsigned *rank)
{
	for (unsigned i = 0; i < scene->model->run_count; i++) {
		const struct run *run = &scene->model->runs[i];
		struct written *written = written_of(finished, run, i);
		size_t first = run->is_used ? run->epoch_count : 0;
		while (first > 0 && run->epochs[first - 1].ordinal > written->epoch)
			first--;
		for (size_t k = first; run->is_used && k < run->epoch_count; k++) {
			const struct epoch *epoch = &run->epochs[k];
			if (!epoch->end_ns || has_older(finished, run, i, epoch->end_ns))
				break;
			written->epoch = epoch->ordinal;
			if (!scene_covers(scene, epoch->end_ns))
				continue;
			*rank = i;
			return epoch;
		}
	}
	return NULL;
}

const char *phase_path(const struct run *run, const struct phase_time *phase, char out[PHASE_PATH_SIZE])
{
	if (phase->parent == NAME_NONE)
		snprintf(out, PHASE_PATH_SIZE, "%s", run_name(run, phase->name));
	else
		snprintf(out, PHASE_PATH_SIZE, "%s/%s", run_name(run, phase->parent), run_name(run, phase->name));
	return out;
}
