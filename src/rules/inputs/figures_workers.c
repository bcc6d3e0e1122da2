/* Figures of a run's DataLoader workers, of patterns of slow batches, and of stalls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/workers/workers_load.h"
#include "src/model/workers/workers_shown.h"
#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"

/* Of all time. */
#define CHEAP_BEGIN_MAX 0.02

/* -- workers; for rules of the model those of context_run() -- */

static int run_index(const struct context *context)
{
	const struct run *run = context_run(context);
	return run ? (int)(run - context->model->runs) : -1;
}

static const struct worker_group_now *worker_group_of(const struct context *context)
{
	if (!context->cache->has_worker_group) {
		model_worker_group_now(context->model, run_index(context), &context->cache->worker_group);
		context->cache->has_worker_group = true;
	}
	return &context->cache->worker_group;
}

static const struct figures *fetches_of(const struct context *context)
{
	const struct worker_group *worker_group = model_worker_group(context->model, run_index(context));
	return worker_group && worker_group->work.fetch.count ? &worker_group->work.fetch : NULL;
}

NUMBER(worker_count) { return worker_group_of(context)->count; }
NUMBER(worker_busy) { return worker_group_of(context)->count ? worker_group_of(context)->busy_ratio : NAN; }
NUMBER(worker_idle) { return 1 - worker_busy(context, argument); }
NUMBER(worker_gone) { return worker_group_of(context)->states[WORKER_GONE]; }
NUMBER(worker_stopped) { return worker_group_of(context)->states[WORKER_STOPPED]; }
NUMBER(worker_disk) { return worker_group_of(context)->on_disk ? worker_group_of(context)->on_disk_s : 0; }
NUMBER(worker_memory) { return worker_group_of(context)->count ? worker_group_of(context)->resident_bytes : NAN; }
NUMBER(fetch_longest) { return fetches_of(context) ? fetches_of(context)->max_s : NAN; }
NUMBER(fetch_baseline) { return fetches_of(context) ? fetches_of(context)->p50_s : NAN; }
NUMBER(fetch_ratio) { return fetch_longest(context, argument) / fetch_baseline(context, argument); }

static const struct worker_group_load *load_of(const struct context *context)
{
	if (!context->cache->has_load) {
		model_worker_group_load(context->model, run_index(context), &context->cache->load);
		context->cache->has_load = true;
	}
	return &context->cache->load;
}

NUMBER(worker_cpu) { return load_of(context)->cpu_ratio; }
NUMBER(worker_on_disk) { return load_of(context)->disk_ratio; }
NUMBER(worker_queue) { return load_of(context)->queue_ratio; }
NUMBER(worker_read) { return load_of(context)->read_bytes_per_s; }

/* Twice as many, up to the number of CPUs. */
NUMBER(worker_next)
{
	const double *now = context->model->system.now;
	double count = worker_group_of(context)->count, cpus = fmin(now[METRIC_SYSTEM_CPUS], now[METRIC_CGROUP_CPU_LIMIT]);
	double next = fmin(2 * count, floor(cpus));
	return count > 0 && cpus >= 1 && next > count ? next : NAN;
}

static const struct worker_shown *find_worker(const struct context *context, enum worker_state state)
{
	size_t count;
	const struct worker_shown *workers = model_workers(context->model, run_index(context), &count);
	for (size_t i = 0; i < count; i++)
		if (workers[i].state == state)
			return &workers[i];
	return NULL;
}

static void name_worker(const struct worker_shown *worker, char *out, size_t size)
{
	if (worker->worker && worker->worker->id != UINT32_MAX)
		snprintf(out, size, "worker %u (%d)", worker->worker->id, (int)worker->worker->pid);
	else
		snprintf(out, size, "worker %d", (int)(worker->worker ? worker->worker->pid : worker->process->pid));
}

/* "worker 3 (4711)", and the reason if known. */
TEXT(gone_worker)
{
	const struct worker_shown *worker = find_worker(context, WORKER_GONE);
	if (!worker)
		return;
	name_worker(worker, out, FIGURE_TEXT_SIZE);
	if (worker->worker && worker->worker->ended[0]) {
		char why[64];
		size_t used = strlen(out);
		text_clean(why, sizeof why, worker->worker->ended, strlen(worker->worker->ended));
		snprintf(out + used, FIGURE_TEXT_SIZE - used, ": %s", why);
	}
}

TEXT(stopped_worker)
{
	const struct worker_shown *worker = find_worker(context, WORKER_STOPPED);
	if (worker)
		name_worker(worker, out, FIGURE_TEXT_SIZE);
}

TEXT(stopped_pid)
{
	const struct worker_shown *worker = find_worker(context, WORKER_STOPPED);
	if (worker)
		snprintf(out, FIGURE_TEXT_SIZE, "%d", (int)(worker->worker ? worker->worker->pid : worker->process->pid));
}

TEXT(disk_worker)
{
	if (worker_group_of(context)->on_disk)
		name_worker(worker_group_of(context)->on_disk, out, FIGURE_TEXT_SIZE);
}

/* -- patterns: the most expensive one of each kind -- */

static const struct pattern *pattern_of(const struct context *context, enum pattern_kind kind)
{
	for (size_t i = 0; context->patterns && i < context->patterns->count; i++)
		if (context->patterns->list[i].kind == kind)
			return &context->patterns->list[i];
	return NULL;
}

static double pattern_ratio(const struct context *context, enum pattern_kind kind)
{
	const struct pattern *pattern = pattern_of(context, kind);
	if (!context->patterns || context->patterns->renewed_ns == 0)
		return NAN;
	return !pattern ? 0 : pattern->before_s > 0 ? pattern->after_s / pattern->before_s : NAN;
}

static void pattern_text(const struct context *context, enum pattern_kind kind, char out[FIGURE_TEXT_SIZE])
{
	const struct pattern *pattern = pattern_of(context, kind);
	if (pattern)
		pattern_words(pattern, context->run, out, 112);
}

#define OF_PATTERN(kind, member) (pattern_of(context, kind) ? (double)pattern_of(context, kind)->member : NAN)

NUMBER(period_ratio) { return pattern_ratio(context, PATTERN_PERIOD); }
/* The excess of these batches ÷ all time. */
static double lost_to(const struct pattern *pattern)
{
	double excess_s = pattern->after_s - pattern->before_s;
	return pattern->unit == PATTERN_SECONDS ? excess_s / pattern->period
											: excess_s / (pattern->period * pattern->before_s + excess_s);
}

NUMBER(period_lost)
{
	const struct pattern *pattern = pattern_of(context, PATTERN_PERIOD);
	return pattern ? lost_to(pattern) : pattern_ratio(context, PATTERN_PERIOD);
}

NUMBER(period_length) { return OF_PATTERN(PATTERN_PERIOD, period); }
NUMBER(period_count) { return OF_PATTERN(PATTERN_PERIOD, count); }
NUMBER(period_of) { return OF_PATTERN(PATTERN_PERIOD, of); }
NUMBER(period_baseline) { return OF_PATTERN(PATTERN_PERIOD, before_s); }
NUMBER(period_slow) { return OF_PATTERN(PATTERN_PERIOD, after_s); }
TEXT(period_words) { pattern_text(context, PATTERN_PERIOD, out); }
TEXT(period_unit)
{
	if (pattern_of(context, PATTERN_PERIOD))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern_unit_name(pattern_of(context, PATTERN_PERIOD)->unit));
}
NUMBER(period_at_epoch)
{
	const struct pattern *pattern = pattern_of(context, PATTERN_PERIOD);
	return pattern ? pattern->is_epoch_first : NAN;
}
/* Any epoch has something to begin. */
NUMBER(period_begin_cheap)
{
	const struct pattern *pattern = pattern_of(context, PATTERN_PERIOD);
	return pattern ? pattern->is_epoch_first && lost_to(pattern) < CHEAP_BEGIN_MAX : (double)NAN;
}
NUMBER(period_planned) { return OF_PATTERN(PATTERN_PERIOD, is_planned); }
TEXT(period_kind)
{
	const struct pattern *pattern = pattern_of(context, PATTERN_PERIOD);
	if (pattern && pattern->phase != NAME_NONE)
		snprintf(out, FIGURE_TEXT_SIZE, "%s", phase_kind_name(phase_kind(context->run, pattern->phase)));
}
TEXT(period_candidate)
{
	if (pattern_of(context, PATTERN_PERIOD))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern_of(context, PATTERN_PERIOD)->candidate);
}
NUMBER(period_line) { return OF_PATTERN(PATTERN_PERIOD, has_line); }
TEXT(period_next)
{
	if (pattern_of(context, PATTERN_PERIOD))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern_of(context, PATTERN_PERIOD)->next);
}
NUMBER(drift_ratio) { return pattern_ratio(context, PATTERN_DRIFT); }
NUMBER(drift_before) { return OF_PATTERN(PATTERN_DRIFT, before_s); }
NUMBER(drift_after) { return OF_PATTERN(PATTERN_DRIFT, after_s); }
NUMBER(drift_first) { return OF_PATTERN(PATTERN_DRIFT, first); }
TEXT(drift_words) { pattern_text(context, PATTERN_DRIFT, out); }
TEXT(drift_cause)
{
	const struct pattern *pattern = pattern_of(context, PATTERN_DRIFT);
	if (pattern && pattern_has_lead(pattern, context->run))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern->candidate[0] ? pattern->candidate : pattern->what);
}
NUMBER(kinds_ratio) { return pattern_ratio(context, PATTERN_KINDS); }
NUMBER(kinds_fast) { return OF_PATTERN(PATTERN_KINDS, before_s); }
NUMBER(kinds_slow) { return OF_PATTERN(PATTERN_KINDS, after_s); }
TEXT(kinds_words) { pattern_text(context, PATTERN_KINDS, out); }

/* -- stall -- */

static const struct stall *stall_of(const struct context *context)
{
	struct rule_cache *cache = context->cache;
	if (!cache->has_stall) {
		cache->stall = (struct stall){ 0 };
		cache->is_stalled = context->run && stall_find(context->model, context->run, &cache->stall);
		cache->has_stall = true;
	}
	return cache->is_stalled ? &cache->stall : NULL;
}

NUMBER(stall_seconds) { return !context->run ? NAN : stall_of(context) ? stall_of(context)->seconds : 0; }
NUMBER(stall_baseline) { return stall_of(context) ? stall_of(context)->baseline_s : NAN; }
TEXT(stall_stack)
{
	if (stall_of(context))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", stall_of(context)->stack);
}
TEXT(stall_why)
{
	if (stall_of(context))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", stall_of(context)->why);
}

TEXT(stall_where)
{
	const struct stall *stall = stall_of(context);
	if (!stall)
		return;
	if (stall->stack[0])
		snprintf(out, FIGURE_TEXT_SIZE, "in %.100s", stall->stack);
	else
		snprintf(
			out, FIGURE_TEXT_SIZE, "%s", stall->is_between ? "between two batches" : "in a batch, outside its phases");
}

NUMBER(stall_pid)
{
	return context->run ? (double)(context->run->pid ? context->run->pid : context->run->inner_pid) : NAN;
}

#define RUN_NUMBER(name, form, function, what) NUMBER_ROW(name, form, RUN, function, what, NULL)
#define LOAD(name, form, function, what) NUMBER_ROW(name, form, RUN, function, what, "no worker was observed for 2 s")
#define RUN_TEXT(name, function, what) TEXT_ROW(name, RUN, function, what, NULL)

static const struct figure rows[] = {
	RUN_NUMBER("workers.count", COUNT, worker_count, "live DataLoader workers"),
	RUN_NUMBER(
		"workers.busy_ratio", PERCENT, worker_busy, "share of the last 5 s in which instrumented workers loaded"),
	RUN_NUMBER("workers.idle_ratio", PERCENT, worker_idle, "the rest of that time"),
	RUN_NUMBER("workers.gone", COUNT, worker_gone, "workers that died unexpectedly"),
	RUN_TEXT("workers.gone_who", gone_worker, "one of these, and the reason"),
	RUN_NUMBER("workers.stopped", COUNT, worker_stopped, "workers that are stopped (SIGSTOP, a debugger)"),
	RUN_TEXT("workers.stopped_who", stopped_worker, "one of these"),
	RUN_TEXT("workers.stopped_pid", stopped_pid, "its process id"),
	RUN_NUMBER("workers.disk_s", SECONDS, worker_disk, "longest current wait of a worker for the disk"),
	RUN_TEXT("workers.disk_who", disk_worker, "that worker"),
	RUN_NUMBER("workers.resident_bytes", BYTES, worker_memory, "resident memory of all workers"),
	LOAD("workers.cpu_ratio", PERCENT, worker_cpu, "mean CPU time of a worker in the last 10 s: 100 % is one CPU each"),
	LOAD("workers.on_disk_ratio", PERCENT, worker_on_disk,
		"share of the last 10 s in which workers waited for the disk (state D)"),
	LOAD("workers.queue_ratio", PERCENT, worker_queue, "share in which workers waited for a CPU"),
	LOAD("workers.read_bytes_per_s", BYTES_PER_S, worker_read, "disk reads of the workers"),
	{ "workers.next_count", FORM_COUNT, RULE_OF_RUN, worker_next, NULL, 0,
		"twice as many workers, up to the number of CPUs", "there are no workers, or as many as CPUs" },
	RUN_NUMBER("workers.fetch_longest_s", SECONDS, fetch_longest, "the longest fetch of a worker"),
	RUN_NUMBER("workers.fetch_usual_s", SECONDS, fetch_baseline, "the median fetch"),
	RUN_NUMBER("workers.fetch_ratio", FACTOR, fetch_ratio, "the longest ÷ the median"),
	RUN_NUMBER("period.ratio", FACTOR, period_ratio, "step of periodically slow batches ÷ the others; 0 = no period"),
	RUN_NUMBER("period.lost_ratio", PERCENT, period_lost, "their excess ÷ all time; 0 = no period"),
	RUN_NUMBER("period.length", COUNT, period_length, "length of the period"),
	RUN_TEXT("period.unit", period_unit, "batches or seconds"),
	RUN_NUMBER("period.count", COUNT, period_count, "slow batches that fit the period"),
	RUN_NUMBER("period.of", COUNT, period_of, "expected slow batches"),
	RUN_NUMBER("period.usual_s", SECONDS, period_baseline, "median of the others"),
	RUN_NUMBER("period.slow_s", SECONDS, period_slow, "median of these"),
	RUN_TEXT("period.words", period_words, "all of that in one line"),
	RUN_NUMBER("period.at_epoch", NUMBER, period_at_epoch, "1: they are the first batches of epochs"),
	RUN_NUMBER("period.is_cheap_begin", NUMBER, period_begin_cheap,
		"1: they are the first batches of epochs, and their excess is less than 2 % of all time"),
	RUN_NUMBER("period.is_planned", NUMBER, period_planned,
		"1: only these batches do a certain work of the program's own, such as an evaluation"),
	RUN_TEXT("period.phase_kind", period_kind, "kind of their slow phase, as phase.kind"),
	RUN_TEXT("period.candidate", period_candidate, "likely reason"),
	RUN_NUMBER("period.has_line", NUMBER, period_line, "1: a line of code is known for them"),
	RUN_TEXT("period.next", period_next, "advice for their common cause"),
	RUN_NUMBER("drift.ratio", FACTOR, drift_ratio, "steps since a change ÷ steps before; 0 = no change"),
	RUN_NUMBER("drift.before_s", SECONDS, drift_before, "median before"),
	RUN_NUMBER("drift.after_s", SECONDS, drift_after, "median since"),
	RUN_NUMBER("drift.first", COUNT, drift_first, "the first slower batch"),
	RUN_TEXT("drift.cause", drift_cause, "its cause, or its phase other than forward and backward, if pmtop found one"),
	RUN_TEXT("drift.words", drift_words, "all of that in one line"),
	RUN_NUMBER("kinds.ratio", FACTOR, kinds_ratio, "slower ÷ faster of two kinds of batches; 0 = one kind"),
	RUN_NUMBER("kinds.fast_s", SECONDS, kinds_fast, "median of the faster kind"),
	RUN_NUMBER("kinds.slow_s", SECONDS, kinds_slow, "median of the slower kind"),
	RUN_TEXT("kinds.words", kinds_words, "all of that in one line"),
	RUN_NUMBER("stall.seconds", SECONDS, stall_seconds,
		"time since a batch or span began or ended, if far longer than normal; else 0"),
	RUN_NUMBER("stall.usual_s", SECONDS, stall_baseline, "the longest normal time"),
	RUN_TEXT("stall.where", stall_where, "\"in backward › all_reduce\", \"between two batches\""),
	RUN_TEXT("stall.stack", stall_stack, "the open spans, outermost first"),
	RUN_TEXT("stall.why", stall_why, "state of its process"),
	RUN_NUMBER("run.pid", NUMBER, stall_pid, "process id of the run"),
};

const struct figure_part worker_figures = { rows, sizeof rows / sizeof *rows };
