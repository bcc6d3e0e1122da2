#include "src/commands/summary.h"

#include <inttypes.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/session/output.h"
#include "src/session/signals.h"

#define WAIT_NS (2 * NS_PER_S)

struct wait {
	int signal_fd;
	int64_t until_ns;
};

void summary_target(struct buffer *out, const struct model *model, bool is_replay)
{
	char peak[NUMBER_SIZE];
	if (model->has_target)
		buffer_printf(out, "pmtop: %s %d %s, peak resident %s\n", model->command, (int)model->target_pid,
			model->target_ended ? "has ended"
				: is_replay     ? "was recorded"
								: "is still running",
			format_bytes(peak, model->memory.peak_rss_bytes));
}

void summary_run(struct buffer *out, const struct run *run, size_t warnings)
{
	const struct track *track = run_main(run);
	char mean[NUMBER_SIZE], longest[NUMBER_SIZE];
	uint32_t number = run_epoch_number(run, run->state.epochs_begun),
			 epochs = number ? number : run->state.epochs_begun;
	buffer_printf(out, "pmtop: %s: ", run->name[0] ? run->name : "run");
	if (run_has_epochs(run))
		buffer_printf(out, "%" PRIu32 " epoch%s, ", epochs, epochs == 1 ? "" : "s");
	buffer_printf(out, "%s%" PRIu64 " batches, step mean %s, max %s, %" PRIu64 " flagged, %zu warning%s\n",
		run_inferred(run).is_at_least ? "at least " : "", track->count, format_seconds(mean, track->step.mean_s),
		format_seconds(longest, track->step.max_s), track->flagged_count, warnings, warnings == 1 ? "" : "s");
}

static void add_losses(struct buffer *out, const struct recording *recording, const struct model *model)
{
	uint64_t events = 0, sets = recording->state.dropped;
	for (unsigned i = 0; i < model->run_count; i++)
		events += model->runs[i].lost_events;
	if (!events && !sets)
		buffer_puts(out, ", nothing lost");
	if (events)
		buffer_printf(out, ", %" PRIu64 " event%s lost before they were read", events, events == 1 ? "" : "s");
	if (sets)
		buffer_printf(out, ", %" PRIu64 " sample set%s lost: the disk was too slow", sets, sets == 1 ? "" : "s");
}

void summary_recording(struct buffer *out, const struct recording *recording, const struct model *model)
{
	char length[NUMBER_SIZE], bytes[NUMBER_SIZE];
	if (!recording->path[0])
		return;
	buffer_printf(out, "pmtop: recorded %s to %s: %s",
		format_seconds(length, seconds_between(recording->begun_ns, recording->last_ns)), recording->path,
		format_bytes(bytes, (double)recording->state.bytes));
	if (recording->state.files > 1)
		buffer_printf(out, " in %u files", recording->state.files);
	add_losses(out, recording, model);
	buffer_puts(out, "\n");
}

static bool waits_for_reader(void *context)
{
	const struct wait *wait = context;
	return clock_monotonic_ns() < wait->until_ns && !signals_have_ended(wait->signal_fd, 0);
}

void summary_flush(struct buffer *out, int signal_fd)
{
	struct wait wait = { signal_fd, clock_monotonic_ns() + WAIT_NS };
	int code = 0;
	output_flush_while(out, &code, waits_for_reader, &wait);
}
