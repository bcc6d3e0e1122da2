/* Explanations are computed once and stored with the flagged batch, so that every reader sees the same one. */
#include "src/explain/explain_flagged.h"

#include <stdlib.h>

#include "src/base/clock.h"
#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_line.h"
#include "src/explain/explain.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/flagged.h"

/* Number of batches that began after a flagged one, at most two. With two, the record of the next batch is complete,
 * which covers the time between both. */
enum { FOLLOWERS_MAX = 2 };

static uint8_t followers(const struct run *run, const struct flagged *flagged)
{
	const struct track *track = run_track_of(run, flagged->mode);
	uint64_t count = track && track->end > flagged->batch.ordinal ? track->end - flagged->batch.ordinal - 1 : 0;
	return count < FOLLOWERS_MAX ? (uint8_t)count : FOLLOWERS_MAX;
}

static void explain_one(const struct run *run, struct flagged *flagged)
{
	uint8_t count = followers(run, flagged);
	if (flagged->explanation && !flagged->has_news && flagged->followers == count)
		return;
	if (!flagged->explanation)
		flagged->explanation = malloc(sizeof *flagged->explanation);
	if (!flagged->explanation)
		return;
	explain_batch(run, &flagged->batch, &flagged->baseline, flagged->batch_window, flagged->explanation);
	flagged->has_news = false;
	flagged->followers = count;
}

void explain_flagged(struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		for (size_t k = 0; k < model->runs[i].flagged_count; k++)
			explain_one(&model->runs[i], &model->runs[i].flagged[k]);
}

#define SEEKING_NS (60 * NS_PER_S)

static bool seeks_line(const struct flagged *flagged)
{
	const struct explanation *why = flagged->explanation;
	for (size_t i = 0; why && i < why->cause_count; i++)
		if (causes_has_line(why->causes[i].kind) || why->causes[i].kind == CAUSE_RANK || why->causes[i].file)
			return true;
	return false;
}

bool explain_seeks_lines(const struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		for (size_t k = model->runs[i].flagged_count; k-- > 0;) {
			const struct flagged *flagged = &model->runs[i].flagged[k];
			if (model->now_ns - flagged->batch.end_ns > SEEKING_NS)
				break;
			if (seeks_line(flagged))
				return true;
		}
	return false;
}

const struct explanation *explain_any(const struct model *model, const struct run *run, const struct track *track,
	const struct batch *batch, struct explanation *room)
{
	const struct flagged *flagged = run_find_flagged(run, track->mode, batch->ordinal);
	if (flagged && flagged->explanation)
		return flagged->explanation;
	struct baseline baseline;
	struct batch_window batch_window;
	bool is_seen = model_batch_window(model, run, batch, &batch_window);
	track_baseline(track, batch->ordinal, &baseline);
	explain_batch(run, batch, &baseline, is_seen ? &batch_window : NULL, room);
	return room;
}
