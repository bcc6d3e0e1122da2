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

void died_take_model(const struct model *model, int run, struct died_evidence *out)
{
	const struct run *shown = run >= 0 && (unsigned)run < model->run_count ? &model->runs[run] : NULL;
	char words[COLLECTIVE_WORDS_SIZE];
	int32_t pid = model->target_pid ? (int32_t)model->target_pid : shown ? shown->pid : 0;
	if (model->command[0] || shown)
		snprintf(out->name, sizeof out->name, "%.90s", model->command[0] ? model->command : shown->name);
	out->pid = pid ? pid : out->pid;
	out->has_run |= shown != NULL && !shown->is_counted;
	out->is_orderly |= shown && shown->has_ended_orderly;
	take_stack(model, pid, out);
	if (*collective_words_now(model, words))
		snprintf(out->collective, sizeof out->collective, "%s", words);
	if (model->memory.peak_rss_bytes > 0)
		out->peak_bytes = model->memory.peak_rss_bytes;
	if (model->first_ns && model->now_ns > model->first_ns)
		out->ran_s = seconds_between(model->first_ns, model->target_ended ? model->target_ended_ns : model->now_ns);
}
