/* Figures of a run, of its phases, and of its published values. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/text.h"
#include "src/explain/causes/causes_words.h"
#include "src/model/requests/requests.h"
#include "src/model/run/known_names.h"
#include "src/model/run/refusals.h"
#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_figures.h"

static void copy(char out[FIGURE_TEXT_SIZE], const char *text)
{
	snprintf(out, FIGURE_TEXT_SIZE, "%.*s", FIGURE_TEXT_SIZE - 1, text);
}

/* -- steps: the last 200 finished ones, without the warm-up -- */

static double of_steps(const struct context *context, double value) { return context->steps ? value : NAN; }

NUMBER(steps) { return context->run ? (double)context->steps : NAN; }
NUMBER(batches) { return context->run ? (double)context->track->count : NAN; }
NUMBER(step_mean) { return of_steps(context, context->mean_s); }
NUMBER(step_median) { return of_steps(context, context->median_s); }
NUMBER(step_p95) { return context->run && context->track->recent.count ? context->track->recent.p95_s : NAN; }
NUMBER(rate) { return context->run ? context->track->rate_per_s : NAN; }
NUMBER(samples_rate) { return context->run ? context->track->samples_per_s : NAN; }
NUMBER(loss) { return context->run ? context->run->loss : NAN; }
NUMBER(loss_trend) { return context->run ? context->run->loss_trend : NAN; }
TEXT(run_title) { figure_shorten(out, context->run ? context->run->name : ""); }
TEXT(run_mode)
{
	figure_shorten(out, context->run && context->track->count ? run_name(context->run, context->track->mode) : "");
}

NUMBER(first_step) { return context->run ? context->track->slow_first_s : NAN; }
NUMBER(first_baseline) { return of_steps(context, context->first_baseline_s); }
NUMBER(first_ratio) { return first_step(context, argument) / first_baseline(context, argument); }

/* Unknown for inferred steps, whose times are only as exact as the polling interval. */
static double of_published(const struct context *context, double value)
{
	return context->run && context->run->is_counted ? NAN : of_steps(context, value);
}

NUMBER(spread_max) { return of_published(context, context->slowest_s); }
NUMBER(spread_min) { return of_published(context, context->fastest_s); }
NUMBER(spread_ratio) { return of_published(context, context->slowest_s / context->fastest_s); }
NUMBER(spread_typical) { return of_published(context, context->typical_ratio); }
NUMBER(spread_slow) { return of_steps(context, (double)context->slow_count); }

TEXT(spread_kind)
{
	const char *kind = context->run ? track_kind_name(context->run, context->track, context->spread_kind) : NULL;
	if (kind)
		figure_shorten(out, kind);
}

/* -- flagged batches -- */

NUMBER(flagged_count) { return of_steps(context, (double)context->flagged); }
NUMBER(flagged_share) { return of_steps(context, (double)context->flagged / (double)context->steps); }
NUMBER(flagged_lost) { return of_steps(context, context->lost_s / (context->mean_s * (double)context->steps)); }
NUMBER(flagged_apart) { return of_steps(context, (double)context->apart); }
NUMBER(flagged_lost_apart)
{
	return of_steps(context, context->lost_apart_s / (context->mean_s * (double)context->steps * 3 / 4));
}
NUMBER(flagged_excess)
{
	return context->flagged ? of_steps(context, context->lost_s / (double)context->flagged) : NAN;
}
NUMBER(flagged_explained) { return of_steps(context, (double)context_cause(context)->explained); }
NUMBER(flagged_slow) { return context_cause(context)->explained ? context_cause(context)->slow_ratio : NAN; }
NUMBER(flagged_cause_share)
{
	return context_cause(context)->explained ? context_cause(context)->cause.share_ratio : NAN;
}

static bool has_cause(const struct context *context)
{
	return context_cause(context)->explained && context_cause(context)->cause.kind != CAUSE_UNKNOWN;
}

TEXT(flagged_cause)
{
	enum { FITS = 44 }; /* in the line of the message */
	if (!has_cause(context))
		return;
	const struct cause *cause = &context_cause(context)->cause;
	char brief[CAUSE_BRIEF_SIZE];
	const char *words = cause_short(context->run, cause, brief);
	if (text_cells(words) <= FITS)
		copy(out, words);
	else
		figure_shorten(out, words);
}

TEXT(flagged_cause_kind) { copy(out, has_cause(context) ? cause_kind_id(context_cause(context)->cause.kind) : ""); }
NUMBER(flagged_line) { return has_cause(context) ? context_cause(context)->cause.file != NULL : NAN; }
TEXT(flagged_next) { copy(out, has_cause(context) ? context_cause(context)->cause.next : ""); }

/* -- phases -- */

/* Unattributed time is no phase. */
NUMBER(phase_share)
{
	return context->phase && context->phase->name != NAME_UNATTRIBUTED ? context->phase->share_ratio : NAN;
}
/* Means, so that the phases add up to the step; medians do not if a phase is slow in some steps. */
NUMBER(phase_mean) { return phase_share(context, argument) * context->mean_s; }
NUMBER(phase_median) { return context->phase ? context->phase->median_s : NAN; }
NUMBER(phase_cpu)
{
	return context->phase && context->phase->median_s > 0 ? context->phase->cpu_s / context->phase->median_s : NAN;
}
TEXT(phase_title) { copy(out, context->phase ? phase_kind_name(phase_kind(context->run, context->phase->name)) : ""); }

TEXT(phase_name)
{
	if (context->phase && phase_kind(context->run, context->phase->name) == PHASE_BETWEEN)
		copy(out, "time between batches");
	else if (context->phase)
		figure_shorten(out, run_name(context->run, context->phase->name));
}

TEXT(phase_loading)
{
	char name[FIGURE_TEXT_SIZE] = "";
	phase_name(context, argument, name);
	if (name_is(name, KNOWN_DATA))
		copy(out, "data loading");
	else if (*name)
		snprintf(out, FIGURE_TEXT_SIZE, "data loading (%.60s)", name);
}

TEXT(phase_part) { figure_write_part(phase_mean(context, argument), context->mean_s, out); }

NUMBER(compile_share) { return context->run ? context->compile_share_ratio : NAN; }
NUMBER(compile_median) { return context->run ? context->compile_median_s : NAN; }

/* NAN if the run publishes no phases. */
NUMBER(unattributed)
{
	double share = 0;
	bool has_phases = false;
	for (size_t i = 0; i < context->phase_count; i++)
		if (context->phases[i].name == NAME_UNATTRIBUTED)
			share = context->phases[i].share_ratio;
		else
			has_phases = has_phases || context->phases[i].name != NAME_BETWEEN;
	return has_phases ? share : NAN;
}

TEXT(unattributed_part) { figure_write_part(unattributed(context, argument) * context->mean_s, context->mean_s, out); }

static bool has_phase(const struct context *context, enum known_name name)
{
	for (size_t i = 0; i < context->phase_count; i++)
		if (run_name_is(context->run, context->phases[i].name, name))
			return true;
	return false;
}

/* A phase that only waits for a slower rank or for the device cannot be optimized itself. Where batches only dispatch
 * work, the program waits for the device between them. */
NUMBER(phase_only_waits)
{
	if (context->phase && context->phase->name == NAME_BETWEEN && has_phase(context, KNOWN_DISPATCH) &&
		!has_phase(context, KNOWN_SYNC))
		return 1;
	if (context->phase && run_name_is(context->run, context->phase->name, KNOWN_SYNC))
		return 1;
	if (!context->phase || context->model->run_count < 2)
		return context->phase ? 0 : NAN;
	const struct ranks *ranks = context_ranks(context);
	return ranks->slowest >= 0 && ranks->wait && ranks->list[ranks->slowest].run != context->index &&
		strcmp(ranks->wait, run_name(context->run, context->phase->name)) == 0;
}

/* The phase of the warning: for rules of the model the slowest rank's, for rules of a run that of the flagged batches'
 * cause. */
TEXT(cause_kind)
{
	if (context->phase) {
		phase_title(context, argument, out);
	} else if (context->run) {
		copy(out,
			has_cause(context) ? phase_kind_name(phase_kind(context->run, context_cause(context)->cause.phase)) : "");
	} else {
		const struct ranks *ranks = context_ranks(context);
		const struct rank *rank = ranks->slowest < 0 ? NULL : &ranks->list[ranks->slowest];
		for (size_t i = 0; rank && i < rank->phase_count; i++)
			if (rank->phases[i].name == ranks->phase)
				copy(out, phase_kind_name(phase_kind(&context->model->runs[rank->run], rank->phases[i].id)));
	}
}

/* -- requests: batches of mode "inference", or spans in it (src/model/requests/requests.h) -- */

#define REQUESTS_S 300

NUMBER(events_refused) { return context->run ? (double)run_refused_gaps(context->run) : NAN; }
TEXT(events_refused_why) { copy(out, context->run ? run_refused_why(context->run) : ""); }
TEXT(events_refused_remedy) { copy(out, context->run ? run_refused_remedy(context->run) : ""); }

NUMBER(latency_p95)
{
	for (unsigned i = 0; context->run && i < context->run->track_count; i++) {
		const struct track *track = &context->run->tracks[i];
		if (track->mode != NAME_NONE && track->recent.count >= 20 &&
			run_name_is(context->run, track->mode, KNOWN_INFERENCE))
			return track->recent.p95_s;
	}
	struct request_figures recent = { .count = 0 };
	if (context->run && context->run->requests)
		requests_window(context->run->requests, REQUESTS_S, context->model->now_ns, &recent);
	return recent.count >= 20 ? recent.p95_s : NAN;
}

/* -- published values -- */

static const char *published(const struct context *context, const char *key)
{
	const struct run *run = context_run(context);
	return run ? run_meta(run, key) : NULL;
}

static double count_of(const char *value)
{
	char *end;
	if (!value || !isdigit((unsigned char)*value))
		return NAN;
	double count = (double)strtol(value, &end, 10);
	return *end == '\0' ? count : NAN;
}

TEXT(meta_text)
{
	const char *value = published(context, argument);
	figure_shorten(out, value ? value : "");
}
NUMBER(meta_number) { return count_of(published(context, argument)); }

NUMBER(gauge)
{
	double value;
	return context->run && run_gauge(context->run, argument, &value, NULL) ? value : NAN;
}

NUMBER(counter)
{
	const struct counter *row = context->run ? run_counter(context->run, argument) : NULL;
	return row ? row->rate_per_s : NAN;
}

static double loader_number(const struct context *context, const char *key)
{
	const struct run *run = context_run(context);
	long count;
	return run && loader_count(run, key, &count) ? (double)count : NAN;
}

NUMBER(loader_workers) { return loader_number(context, "num_workers"); }
NUMBER(loader_prefetch) { return loader_number(context, "prefetch_factor"); }

static void write_switch(const struct context *context, const char *key, char out[FIGURE_TEXT_SIZE])
{
	const char *value = context_run(context) ? loader_setting(context_run(context), key) : NULL;
	if (value)
		copy(out, value_is_off(value) ? "off" : "on");
}

TEXT(loader_pinning) { write_switch(context, "pin_memory", out); }
TEXT(loader_persistent) { write_switch(context, "persistent_workers", out); }

#define RUN_NUMBER(name, form, function, what) NUMBER_ROW(name, form, RUN, function, what, NULL)
#define RUN_TEXT(name, function, what) TEXT_ROW(name, RUN, function, what, NULL)
#define PHASE_NUMBER(name, form, function, what) NUMBER_ROW(name, form, PHASE, function, what, NULL)
#define PHASE_TEXT(name, function, what) TEXT_ROW(name, PHASE, function, what, NULL)

static const struct figure rows[] = {
	RUN_NUMBER("run.steps", COUNT, steps, "recent steps: of the last 200, without the warm-up"),
	RUN_NUMBER("run.batches", COUNT, batches, "finished batches since the run began"),
	RUN_NUMBER("run.step_mean_s", SECONDS, step_mean, "mean of the recent steps"),
	RUN_NUMBER("run.step_median_s", SECONDS, step_median, "median of the recent steps"),
	RUN_NUMBER("run.step_p95_s", SECONDS, step_p95, "95th percentile of the last 200 steps"),
	RUN_NUMBER("run.rate_per_s", RATE, rate, "batches per second"),
	RUN_NUMBER("run.samples_per_s", RATE, samples_rate, "samples per second"),
	RUN_NUMBER("run.loss", NUMBER, loss, "the newest loss"),
	RUN_NUMBER("run.loss_trend", NUMBER, loss_trend, "trend of the loss: −1 falls, 0 constant, 1 rises"),
	RUN_NUMBER("run.unattributed_ratio", PERCENT, unattributed,
		"share of the recent steps outside all spans, if there are spans"),
	RUN_TEXT("run.unattributed_part", unattributed_part, "\"0.068 s of 0.201 s\""),
	RUN_TEXT("run.name", run_title, "as published"),
	RUN_TEXT("run.mode", run_mode, "mode of the recent steps: train, inference, …"),
	RUN_NUMBER("first_batch.step_s", SECONDS, first_step, "the run's first batch"),
	RUN_NUMBER("first_batch.usual_s", SECONDS, first_baseline, "median step of its kind"),
	RUN_NUMBER("first_batch.ratio", FACTOR, first_ratio, "the first batch ÷ that median"),
	RUN_NUMBER("spread.max_s", SECONDS, spread_max, "the slowest recent step, of the kind with the largest spread"),
	RUN_NUMBER("spread.min_s", SECONDS, spread_min, "the fastest"),
	RUN_NUMBER("spread.ratio", FACTOR, spread_ratio, "the slowest ÷ the fastest"),
	RUN_NUMBER("spread.typical_ratio", FACTOR, spread_typical,
		"the same without the slowest and the fastest 5 %, and without waits for a CPU: 95th ÷ 5th percentile"),
	RUN_NUMBER("spread.slow_count", COUNT, spread_slow, "steps longer than twice the fastest"),
	RUN_TEXT("spread.kind", spread_kind, "kind of these batches, if the run has several"),
	RUN_NUMBER("flagged.count", COUNT, flagged_count,
		"flagged batches among the recent steps, without evaluations and those of a planned period or of slow first "
		"batches of epochs"),
	RUN_NUMBER("flagged.share_ratio", PERCENT, flagged_share, "their share of the recent steps"),
	RUN_NUMBER(
		"flagged.lost_ratio", PERCENT, flagged_lost, "their excess over the median ÷ the time of all recent steps"),
	RUN_NUMBER("flagged.apart", COUNT, flagged_apart,
		"flagged batches outside the quarter of the steps with the most (one disturbance flags several)"),
	RUN_NUMBER("flagged.lost_apart_ratio", PERCENT, flagged_lost_apart,
		"their excess over the median ÷ the time of the other three quarters"),
	RUN_NUMBER("flagged.excess_s", SECONDS, flagged_excess, "their mean excess over the median"),
	RUN_NUMBER("flagged.explained", COUNT, flagged_explained,
		"number of explained batches among the newest eight flagged ones"),
	RUN_NUMBER("flagged.slow_ratio", FACTOR, flagged_slow, "their step ÷ the baseline"),
	RUN_TEXT("flagged.cause", flagged_cause, "their main cause"),
	RUN_TEXT("flagged.cause_kind", flagged_cause_kind, "its kind, as in JSON: disk_read, cpu_wait, gpu_heat and so on"),
	RUN_NUMBER("flagged.has_line", NUMBER, flagged_line, "1: a line of code is known for it"),
	RUN_NUMBER("flagged.cause_share_ratio", PERCENT, flagged_cause_share, "its share of their excess"),
	RUN_TEXT("flagged.next", flagged_next, "advice for that cause"),
	PHASE_NUMBER("phase.share_ratio", PERCENT, phase_share, "share of the recent steps in one outermost phase"),
	PHASE_NUMBER("phase.mean_s", SECONDS, phase_mean, "its mean time in a step"),
	PHASE_NUMBER("phase.median_s", SECONDS, phase_median, "its median, over steps that have it"),
	PHASE_NUMBER("phase.cpu_ratio", PERCENT, phase_cpu, "its CPU time ÷ its time"),
	PHASE_NUMBER("phase.only_waits", NUMBER, phase_only_waits,
		"1: the phase only waits, for a slower rank or for the device (“sync”, or between batches of “dispatch”)"),
	PHASE_TEXT("phase.name", phase_name, "its name"),
	PHASE_TEXT("phase.loading", phase_loading, "\"data loading\", with the phase's name unless that is \"data\""),
	PHASE_TEXT(
		"phase.kind", phase_title, "from its name: data, forward, inference, backward, optimizer, between or other"),
	PHASE_TEXT("phase.part", phase_part, "\"0.068 s of 0.201 s\""),
	{ "compile.share_ratio", FORM_PERCENT, RULE_OF_RUN, compile_share, NULL, 0,
		"share of the recent steps in phases \"compile\", at any depth", "no step" },
	{ "compile.median_s", FORM_SECONDS, RULE_OF_RUN, compile_median, NULL, 0,
		"its median; not zero: at least half of the recent steps compile", "no step" },
	{ "cause.kind", FORM_TEXT, RULE_OF_MODEL, NULL, cause_kind, 0, "kind of the warning's phase, as phase.kind", NULL },
	RUN_NUMBER("events.refused", COUNT, events_refused,
		"calls that the publisher refused, without unmatched ends and unfinished batches"),
	RUN_TEXT("events.refused_why", events_refused_why, "main reason"),
	RUN_TEXT("events.refused_remedy", events_refused_remedy, "what to change in the program"),
	{ "latency.p95_s", FORM_SECONDS, RULE_OF_RUN, latency_p95, NULL, 0,
		"95th percentile of the last 200 batches of mode inference, or of the requests of 5 min",
		"fewer than 20 requests" },
	{ "loader.num_workers", FORM_COUNT, RULE_OF_RUN, loader_workers, NULL, 0, "num_workers of the DataLoader",
		"not published (meta loader.num_workers)" },
	{ "loader.prefetch_factor", FORM_COUNT, RULE_OF_RUN, loader_prefetch, NULL, 0, "prefetch_factor of the DataLoader",
		"not published (meta loader.prefetch_factor)" },
	{ "loader.pin_memory", FORM_TEXT, RULE_OF_RUN, NULL, loader_pinning, 0, "pin_memory of the DataLoader: on or off",
		"not published (meta loader.pin_memory)" },
	{ "loader.persistent_workers", FORM_TEXT, RULE_OF_RUN, NULL, loader_persistent, 0,
		"persistent_workers of the DataLoader: on or off", "not published (meta loader.persistent_workers)" },
	{ "meta.", FORM_TEXT, RULE_OF_RUN, meta_number, meta_text, 0,
		"meta.KEY: the value that the run published under KEY, as text or as a count", "not published" },
	{ "gauge.", FORM_NUMBER, RULE_OF_RUN, gauge, NULL, 0, "gauge.NAME: a gauge of the run", "not published" },
	{ "counter.", FORM_RATE, RULE_OF_RUN, counter, NULL, 0, "counter.NAME: a counter of the run, per second",
		"not published, or only once" },
};

const struct figure_part run_figures = { rows, sizeof rows / sizeof *rows };
