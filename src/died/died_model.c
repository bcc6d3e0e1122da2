#include "src/died/died_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "src/model/code/code_samples.h"

static void take_stack(const struct model *model, int32_t pid, struct died_evidence *out)
{
	struct newest_line line;
	if (!code_newest_line(model, pid, &line) || line.line == 0)
		return;
	const char *slash = strrchr(line.file, '/');
	snprintf(out->stack, sizeof out->stack, "%.60s:%u in %.60s%s%.80s", slash ? slash + 1 : line.file,
		(unsigned)line.line, line.function ? line.function : "?", line.text ? ": " : "", line.text ? line.text : "");
}

static void take_run(const struct run *run, struct died_evidence *out)
{
	const struct run_state *state = &run->state;
	int used = snprintf(out->run, sizeof out->run, "%.90s", run->ended[0] ? run->ended : "did not say that it ended");
	if (state->epochs_begun > 0)
		used += snprintf(out->run + used, sizeof out->run - (size_t)used, "; epoch %u", (unsigned)state->epochs_begun);
	if (state->in_epoch || state->in_batch)
		snprintf(out->run + used, sizeof out->run - (size_t)used, ", %llu batches done",
			(unsigned long long)state->batches_in_epoch);
	out->has_run = true;
	out->is_orderly = run->has_ended_orderly;
	out->begun_us = run->start_ns / 1000;
}

/* The newest event of a GPU: an XID. */
static void take_gpu_event(const struct gpus *gpus, struct died_evidence *out)
{
	if (gpus->happening_count == 0 || out->kernel != DIED_KERNEL_NOTHING)
		return;
	const struct gpu_happening *newest = &gpus->happenings[(gpus->happening_count - 1) % GPU_EVENTS_RETAINED];
	out->kernel = DIED_KERNEL_XID;
	snprintf(out->kernel_line, sizeof out->kernel_line, "GPU %d: XID %u: %.90s", (int)newest->instance, newest->code,
		newest->text);
}

void died_take_model(const struct model *model, int run, struct died_evidence *out)
{
	const struct run *shown = run >= 0 && (unsigned)run < model->run_count ? &model->runs[run] : NULL;
	char words[COLLECTIVE_WORDS_SIZE];
	int32_t pid = model->target_pid ? (int32_t)model->target_pid
		: !shown                    ? 0
		: shown->pid                ? shown->pid
									: shown->inner_pid;
	if (model->command[0] || shown)
		snprintf(out->name, sizeof out->name, "%.90s", model->command[0] ? model->command : shown->name);
	out->pid = pid ? pid : out->pid;
	if (shown && !shown->is_counted)
		take_run(shown, out);
	take_gpu_event(&model->gpus, out);
	take_stack(model, pid, out);
	if (*collective_words_now(model, words))
		snprintf(out->collective, sizeof out->collective, "%s", words);
	if (model->memory.peak_rss_bytes > 0)
		out->peak_bytes = model->memory.peak_rss_bytes;
	if (model->first_ns && model->now_ns > model->first_ns)
		out->ran_s = seconds_between(model->first_ns, model->target_ended ? model->target_ended_ns : model->now_ns);
}
