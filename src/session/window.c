#include "src/session/window.h"

#include <stdbool.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/run/steps/tracks.h"
#include "src/session/replay/seek.h"

struct span {
	int64_t begin_ns, end_ns;
};

static bool find_batch(const struct run *run, uint64_t ordinal, struct span *out)
{
	const struct batch *batch = track_batch(run_main(run), ordinal);
	if (batch)
		*out = (struct span){ batch->begin_ns, batch->end_ns ? batch->end_ns : INT64_MAX };
	return batch != NULL;
}

static bool find_epoch(const struct run *run, uint64_t number, struct span *out)
{
	for (size_t i = 0; i < run->epoch_count; i++) {
		const struct epoch *epoch = &run->epochs[i];
		if (epoch->mode != run_main(run)->mode || run_epoch_number(run, epoch->ordinal) != number)
			continue;
		*out = (struct span){ epoch->begin_ns, epoch->end_ns ? epoch->end_ns : INT64_MAX };
		return true;
	}
	return false;
}

/* Finds the time of a batch or epoch by playing a second session of the recording up to its end. */
static enum status find_entry(
	const struct session *session, const struct moment *moment, struct span *out, struct reason *why_not)
{
	bool is_batch = moment->kind == MOMENT_BATCH, is_there = false;
	uint64_t ordinal = (uint64_t)moment->value;
	/* An epoch's end is known when the next one begins. */
	struct goal goal = { .kind = is_batch ? GOAL_BATCH : GOAL_EPOCH,
		.ordinal = is_batch ? ordinal : ordinal + 1,
		.judge_from_ns = INT64_MAX };
	struct session *again = calloc(1, sizeof *again);
	if (!again || !session_again(session, again)) {
		free(again);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	while (seek_on(again, &goal, NS_PER_S) == SEEK_GOES_ON)
		continue;
	int index = session_run(again);
	if (index >= 0)
		is_there = is_batch ? find_batch(&again->model->runs[index], ordinal, out)
							: find_epoch(&again->model->runs[index], ordinal, out);
	session_again_close(again);
	free(again);
	return is_there ? STATUS_OK
					: reason_set(why_not, STATUS_INVALID, NULL, "the recording has no %s %llu",
						  is_batch ? "batch" : "epoch", (unsigned long long)ordinal);
}

static enum status find(
	const struct session *session, const char *option, const char *text, struct span *out, struct reason *why_not)
{
	int64_t begin_ns, end_ns;
	struct moment moment;
	struct goal goal;
	if (!moment_parse(text, &moment))
		return reason_set(why_not, STATUS_INVALID, NULL, "%s takes %s, not %.60s", option, moment_takes, text);
	if (!session->player || player_is_pipe(session->player) || !player_span(session->player, &begin_ns, &end_ns))
		return reason_set(why_not, STATUS_INVALID, "record the run first (-w FILE)", "%s needs a recording", option);
	if (!moment_is_time(&moment))
		return find_entry(session, &moment, out, why_not);
	enum status status = goal_of(&moment, session, begin_ns, end_ns, &goal, why_not);
	if (status == STATUS_OK)
		*out = (struct span){ goal.time_ns, goal.time_ns };
	return status;
}

enum exit_code window_of(
	const struct session *session, const struct options *options, int64_t *since_ns, int64_t *until_ns)
{
	struct span since = { INT64_MIN, 0 }, until = { 0, INT64_MAX };
	struct reason reason = { 0 };
	enum status status = options->since ? find(session, "--since", options->since, &since, &reason) : STATUS_OK;
	if (status == STATUS_OK && options->until)
		status = find(session, "--until", options->until, &until, &reason);
	if (status == STATUS_OK && since.begin_ns >= until.end_ns)
		status = reason_set(&reason, STATUS_INVALID, "choose a later --until", "--since %s is not before --until %s",
			options->since, options->until ? options->until : "(the end)");
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	*since_ns = since.begin_ns;
	*until_ns = until.end_ns;
	return EXIT_OK;
}
