/* Figures of a run's Python code: the line with the largest share of time outside loading, forward, backward and
 * optimizer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/code/code_phases.h"
#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"

/* Minimum number of stack samples for a share. */
enum { SAMPLES_MIN = 100 };

/* Two standard deviations: a 95 % confidence interval. */
#define CONFIDENCE_DEVIATIONS 2

static const struct code_group *group_of(const struct context *context)
{
	const struct code *code = &context->model->code;
	const struct run *run = context_run(context);
	int group = run ? code_group_of(code, run->pid) : code_main_group(context->model);
	return group >= 0 && code->groups[group].recent_samples >= SAMPLES_MIN && code->groups[group].seen.recent_s > 0
		? &code->groups[group]
		: NULL;
}

/* Minimum share of forward, backward and optimizer in the time of the process, and maximum share in that of a line
 * beside them. */
#define TRAINING_RATIO 0.2
#define BESIDE_RATIO 0.05

/* Where pmtop sees no forward, backward or optimizer, any line may be the training: model.fit(), or a wait for the
 * processes that train. */
static bool is_training(const struct code_group *group)
{
	return group->phases[CODE_PHASE_FORWARD].recent_s + group->phases[CODE_PHASE_BACKWARD].recent_s +
		group->phases[CODE_PHASE_OPTIMIZER].recent_s >
		TRAINING_RATIO * group->seen.recent_s;
}

/* Loading, forward, backward and optimizer have their own rules. A line that calls them is the training itself, even if
 * most of its time is spent beside them (trainer.fit()). */
static bool is_beside_training(const struct code_line *line)
{
	double training_s = line->phase_s[CODE_PHASE_FORWARD] + line->phase_s[CODE_PHASE_INFERENCE] +
		line->phase_s[CODE_PHASE_BACKWARD] + line->phase_s[CODE_PHASE_OPTIMIZER] + line->phase_s[CODE_PHASE_COMPUTE];
	return line->phase == CODE_PHASE_OTHER && training_s <= BESIDE_RATIO * line->self.total_s;
}

static const struct code_line *line_of(const struct context *context)
{
	const struct code *code = &context->model->code;
	const struct code_group *group = group_of(context);
	const struct code_line *max = NULL;
	for (size_t i = 0; group && is_training(group) && i < code->line_count; i++) {
		const struct code_line *line = &code->lines[i];
		if (&code->groups[line->group] == group && is_beside_training(line) &&
			(!max || line->self.recent_s > max->self.recent_s))
			max = line;
	}
	return max;
}

NUMBER(line_share)
{
	const struct code_line *line = line_of(context);
	return line ? line->self.recent_s / group_of(context)->seen.recent_s : NAN;
}

NUMBER(line_min)
{
	double share = line_share(context, argument);
	return isnan(share) ? NAN
						: share - CONFIDENCE_DEVIATIONS * code_error_ratio(share, group_of(context)->recent_samples);
}

static void name_line(const struct context *context, const struct code_line *line, char *out)
{
	const char *file = code_short_file(context->model->code.codes[line->code].file), *slash = strrchr(file, '/');
	snprintf(out, FIGURE_TEXT_SIZE, "%.60s:%u", slash ? slash + 1 : file, line->line);
}

TEXT(line_name)
{
	const struct code_line *line = line_of(context);
	if (line)
		name_line(context, line, out);
}

TEXT(line_text)
{
	const struct code_line *line = line_of(context);
	if (line)
		figure_shorten(out, line->text ? line->text : context->model->code.codes[line->code].function);
}

/* -- DataLoader workers, by their stacks -- */

static const struct code_group *workers_of(const struct context *context)
{
	const struct code *code = &context->model->code;
	const struct run *run = context_run(context);
	for (size_t i = 0; run && i < code->group_count; i++)
		if (code->groups[i].is_used && code->groups[i].is_workers && code->groups[i].pid == run->pid)
			return &code->groups[i];
	return NULL;
}

/* The line in which the workers are most, beside their wait for indices. */
static const struct code_line *worker_line_of(const struct context *context)
{
	const struct code *code = &context->model->code;
	const struct code_group *group = workers_of(context);
	const struct code_line *max = NULL;
	for (size_t i = 0; group && group->recent_samples >= SAMPLES_MIN && i < code->line_count; i++) {
		const struct code_line *line = &code->lines[i];
		if (&code->groups[line->group] == group && line->phase != CODE_PHASE_IDLE && line->self.recent_s > 0 &&
			(!max || line->self.recent_s > max->self.recent_s))
			max = line;
	}
	return max;
}

NUMBER(worker_samples)
{
	const struct code_group *group = workers_of(context);
	return group ? (double)group->samples : NAN;
}

TEXT(worker_line_name)
{
	const struct code_line *line = worker_line_of(context);
	if (line)
		name_line(context, line, out);
}

#define LACKS_WORKERS "no DataLoader workers of Python seen, or fewer than 100 stack samples of them in the last minute"
#define LACKS "no forward, backward or optimizer of Python, or fewer than 100 stack samples in the last minute"

static const struct figure rows[] = {
	{ "line.share_ratio", FORM_PERCENT, RULE_OF_MODEL, line_share, NULL, 0,
		"largest share of the last minute in one line of Python, outside loading, forward, backward and optimizer",
		LACKS },
	{ "line.least_ratio", FORM_PERCENT, RULE_OF_MODEL, line_min, NULL, 0,
		"that share minus two standard deviations (lower bound)", LACKS },
	{ "line.name", FORM_TEXT, RULE_OF_MODEL, NULL, line_name, 0, "its location: \"train.py:42\"", LACKS },
	{ "line.text", FORM_TEXT, RULE_OF_MODEL, NULL, line_text, 0, "its source text, or its function", LACKS },
	{ "workers.samples", FORM_COUNT, RULE_OF_MODEL, worker_samples, NULL, 0, "stack samples of the DataLoader workers",
		LACKS_WORKERS },
	{ "workers.line", FORM_TEXT, RULE_OF_MODEL, NULL, worker_line_name, 0,
		"the line in which DataLoader workers are most, beside their wait for work: \"data.py:42\"", LACKS_WORKERS },
};

const struct figure_part code_figures = { rows, sizeof rows / sizeof *rows };
