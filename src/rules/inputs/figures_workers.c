/* Figures of a run's loader workers, of what its slow batches have in common, and of a standstill. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/rules/rule_figures.h"

#define NUMBER(name) static double name(const struct look *look, const char *argument)
#define TEXT(name) static void name(const struct look *look, const char *argument, char out[FIGURE_TEXT_SIZE])
#define UNUSED (void)argument

/* -- workers; of a rule of the model those of the run that look_run() gives -- */

static int run_index(const struct look *look)
{
	const struct run *run = look_run(look);
	return run ? (int)(run - look->model->runs) : -1;
}

static const struct crew_now *crew_of(const struct look *look)
{
	if (!look->cache->has_crew) {
		model_crew_now(look->model, run_index(look), &look->cache->crew);
		look->cache->has_crew = true;
	}
	return &look->cache->crew;
}

static const struct figures *fetches_of(const struct look *look)
{
	const struct crew *crew = model_crew(look->model, run_index(look));
	return crew && crew->work.fetch.count ? &crew->work.fetch : NULL;
}

NUMBER(worker_count)
{
	UNUSED;
	return crew_of(look)->count;
}
NUMBER(worker_busy)
{
	UNUSED;
	return crew_of(look)->count ? crew_of(look)->busy_ratio : NAN;
}
NUMBER(worker_idle) { return 1 - worker_busy(look, argument); }
NUMBER(worker_gone)
{
	UNUSED;
	return crew_of(look)->states[WORKER_GONE];
}
NUMBER(worker_stopped)
{
	UNUSED;
	return crew_of(look)->states[WORKER_STOPPED];
}
NUMBER(worker_disk)
{
	UNUSED;
	return crew_of(look)->on_disk ? crew_of(look)->on_disk_s : 0;
}
NUMBER(worker_memory)
{
	UNUSED;
	return crew_of(look)->count ? crew_of(look)->resident_bytes : NAN;
}
NUMBER(fetch_longest)
{
	UNUSED;
	return fetches_of(look) ? fetches_of(look)->max_s : NAN;
}
NUMBER(fetch_usual)
{
	UNUSED;
	return fetches_of(look) ? fetches_of(look)->p50_s : NAN;
}
NUMBER(fetch_ratio) { return fetch_longest(look, argument) / fetch_usual(look, argument); }

static const struct crew_load *load_of(const struct look *look)
{
	if (!look->cache->has_load) {
		model_crew_load(look->model, run_index(look), &look->cache->load);
		look->cache->has_load = true;
	}
	return &look->cache->load;
}

NUMBER(worker_cpu)
{
	UNUSED;
	return load_of(look)->cpu_ratio;
}
NUMBER(worker_on_disk)
{
	UNUSED;
	return load_of(look)->disk_ratio;
}
NUMBER(worker_queue)
{
	UNUSED;
	return load_of(look)->queue_ratio;
}
NUMBER(worker_read)
{
	UNUSED;
	return load_of(look)->read_bytes_per_s;
}

/* Twice as many, but no more than there are CPUs for. */
NUMBER(worker_next)
{
	UNUSED;
	const double *now = look->model->system.now;
	double count = crew_of(look)->count, cpus = fmin(now[METRIC_SYSTEM_CPUS], now[METRIC_CGROUP_CPU_LIMIT]);
	double next = fmin(2 * count, floor(cpus));
	return count > 0 && cpus >= 1 && next > count ? next : NAN;
}

static const struct worker_shown *find_worker(const struct look *look, enum worker_state state)
{
	size_t count;
	const struct worker_shown *workers = model_workers(look->model, run_index(look), &count);
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

/* "worker 3 (4711)", and why where that is known. */
TEXT(gone_worker)
{
	UNUSED;
	const struct worker_shown *worker = find_worker(look, WORKER_GONE);
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
	UNUSED;
	const struct worker_shown *worker = find_worker(look, WORKER_STOPPED);
	if (worker)
		name_worker(worker, out, FIGURE_TEXT_SIZE);
}

TEXT(stopped_pid)
{
	UNUSED;
	const struct worker_shown *worker = find_worker(look, WORKER_STOPPED);
	if (worker)
		snprintf(out, FIGURE_TEXT_SIZE, "%d", (int)(worker->worker ? worker->worker->pid : worker->process->pid));
}

TEXT(disk_worker)
{
	UNUSED;
	if (crew_of(look)->on_disk)
		name_worker(crew_of(look)->on_disk, out, FIGURE_TEXT_SIZE);
}

/* -- patterns: of each kind the one that matters most; where none is, slow batches have nothing in common -- */

static const struct pattern *pattern_of(const struct look *look, enum pattern_kind kind)
{
	for (size_t i = 0; look->patterns && i < look->patterns->count; i++)
		if (look->patterns->list[i].kind == kind)
			return &look->patterns->list[i];
	return NULL;
}

static double pattern_ratio(const struct look *look, enum pattern_kind kind)
{
	const struct pattern *pattern = pattern_of(look, kind);
	if (!look->patterns || look->patterns->renewed_ns == 0)
		return NAN;
	return !pattern ? 0 : pattern->before_s > 0 ? pattern->after_s / pattern->before_s : NAN;
}

static void pattern_text(const struct look *look, enum pattern_kind kind, char out[FIGURE_TEXT_SIZE])
{
	const struct pattern *pattern = pattern_of(look, kind);
	if (pattern)
		pattern_words(pattern, look->run, out, 112);
}

#define OF_PATTERN(kind, member) (pattern_of(look, kind) ? (double)pattern_of(look, kind)->member : NAN)

NUMBER(period_ratio)
{
	UNUSED;
	return pattern_ratio(look, PATTERN_PERIOD);
}
/* Of all time what these batches take more than the others do. */
NUMBER(period_lost)
{
	UNUSED;
	const struct pattern *pattern = pattern_of(look, PATTERN_PERIOD);
	if (!pattern)
		return pattern_ratio(look, PATTERN_PERIOD);
	double excess_s = pattern->after_s - pattern->before_s;
	return pattern->unit == PATTERN_SECONDS ? excess_s / pattern->period
											: excess_s / (pattern->period * pattern->before_s + excess_s);
}

NUMBER(period_length)
{
	UNUSED;
	return OF_PATTERN(PATTERN_PERIOD, period);
}
NUMBER(period_count)
{
	UNUSED;
	return OF_PATTERN(PATTERN_PERIOD, count);
}
NUMBER(period_of)
{
	UNUSED;
	return OF_PATTERN(PATTERN_PERIOD, of);
}
NUMBER(period_usual)
{
	UNUSED;
	return OF_PATTERN(PATTERN_PERIOD, before_s);
}
NUMBER(period_slow)
{
	UNUSED;
	return OF_PATTERN(PATTERN_PERIOD, after_s);
}
TEXT(period_words)
{
	UNUSED;
	pattern_text(look, PATTERN_PERIOD, out);
}
TEXT(period_unit)
{
	UNUSED;
	if (pattern_of(look, PATTERN_PERIOD))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern_unit_name(pattern_of(look, PATTERN_PERIOD)->unit));
}
NUMBER(period_at_epoch)
{
	UNUSED;
	const struct pattern *pattern = pattern_of(look, PATTERN_PERIOD);
	return pattern ? pattern->is_epoch_first : NAN;
}
TEXT(period_kind)
{
	UNUSED;
	const struct pattern *pattern = pattern_of(look, PATTERN_PERIOD);
	if (pattern && pattern->phase != NAME_NONE)
		snprintf(out, FIGURE_TEXT_SIZE, "%s", phase_kind_name(phase_kind(look->run, pattern->phase)));
}
TEXT(period_candidate)
{
	UNUSED;
	if (pattern_of(look, PATTERN_PERIOD))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", pattern_of(look, PATTERN_PERIOD)->candidate);
}
NUMBER(drift_ratio)
{
	UNUSED;
	return pattern_ratio(look, PATTERN_DRIFT);
}
NUMBER(drift_before)
{
	UNUSED;
	return OF_PATTERN(PATTERN_DRIFT, before_s);
}
NUMBER(drift_after)
{
	UNUSED;
	return OF_PATTERN(PATTERN_DRIFT, after_s);
}
NUMBER(drift_first)
{
	UNUSED;
	return OF_PATTERN(PATTERN_DRIFT, first);
}
TEXT(drift_words)
{
	UNUSED;
	pattern_text(look, PATTERN_DRIFT, out);
}
NUMBER(kinds_ratio)
{
	UNUSED;
	return pattern_ratio(look, PATTERN_KINDS);
}
NUMBER(kinds_fast)
{
	UNUSED;
	return OF_PATTERN(PATTERN_KINDS, before_s);
}
NUMBER(kinds_slow)
{
	UNUSED;
	return OF_PATTERN(PATTERN_KINDS, after_s);
}
TEXT(kinds_words)
{
	UNUSED;
	pattern_text(look, PATTERN_KINDS, out);
}

/* -- a standstill -- */

static const struct stall *stall_of(const struct look *look)
{
	struct look_cache *cache = look->cache;
	if (!cache->has_stall) {
		cache->stall = (struct stall){ 0 };
		cache->is_stalled = look->run && stall_find(look->model, look->run, &cache->stall);
		cache->has_stall = true;
	}
	return cache->is_stalled ? &cache->stall : NULL;
}

NUMBER(stall_seconds)
{
	UNUSED;
	return !look->run ? NAN : stall_of(look) ? stall_of(look)->seconds : 0;
}
NUMBER(stall_usual)
{
	UNUSED;
	return stall_of(look) ? stall_of(look)->usual_s : NAN;
}
TEXT(stall_stack)
{
	UNUSED;
	if (stall_of(look))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", stall_of(look)->stack);
}
TEXT(stall_why)
{
	UNUSED;
	if (stall_of(look))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", stall_of(look)->why);
}

TEXT(stall_where)
{
	UNUSED;
	const struct stall *stall = stall_of(look);
	if (!stall)
		return;
	if (stall->stack[0])
		snprintf(out, FIGURE_TEXT_SIZE, "in %.100s", stall->stack);
	else
		snprintf(out, FIGURE_TEXT_SIZE, "%s",
			stall->is_between ? "between two batches" : "in a batch, outside of its phases");
}

NUMBER(stall_pid)
{
	UNUSED;
	return look->run ? (double)(look->run->pid ? look->run->pid : look->run->inner_pid) : NAN;
}

#define RUN_NUMBER(name, form, function, what) \
	{ \
		name, FORM_##form, RULE_OF_RUN, function, NULL, 0, what, NULL \
	}
#define LOAD(name, form, function, what) \
	{ \
		name, FORM_##form, RULE_OF_RUN, function, NULL, 0, what, "no worker was watched for 2 s" \
	}
#define RUN_TEXT(name, function, what) \
	{ \
		name, FORM_TEXT, RULE_OF_RUN, NULL, function, 0, what, NULL \
	}

static const struct figure rows[] = {
	RUN_NUMBER("workers.count", COUNT, worker_count, "loader workers that live"),
	RUN_NUMBER("workers.busy_ratio", PERCENT, worker_busy,
		"share of the last 5 s in which they loaded; of those that publish"),
	RUN_NUMBER("workers.idle_ratio", PERCENT, worker_idle, "the rest of it"),
	RUN_NUMBER("workers.gone", COUNT, worker_gone, "workers that died before they were done"),
	RUN_TEXT("workers.gone_who", gone_worker, "one of these, and why"),
	RUN_NUMBER("workers.stopped", COUNT, worker_stopped, "workers that are stopped (SIGSTOP, a debugger)"),
	RUN_TEXT("workers.stopped_who", stopped_worker, "one of these"),
	RUN_TEXT("workers.stopped_pid", stopped_pid, "its process id"),
	RUN_NUMBER("workers.disk_s", SECONDS, worker_disk, "for how long one has been waiting for the disk"),
	RUN_TEXT("workers.disk_who", disk_worker, "that one"),
	RUN_NUMBER("workers.resident_bytes", BYTES, worker_memory, "resident memory of all"),
	LOAD("workers.cpu_ratio", PERCENT, worker_cpu, "CPU time of a worker in the last 10 s: 100 % is one CPU each"),
	LOAD("workers.on_disk_ratio", PERCENT, worker_on_disk,
		"share of the last 10 s in which they waited for the disk (state D)"),
	LOAD("workers.queue_ratio", PERCENT, worker_queue, "share in which they waited for a CPU"),
	LOAD("workers.read_bytes_per_s", BYTES_PER_S, worker_read, "what they read from disks"),
	{ "workers.next_count", FORM_COUNT, RULE_OF_RUN, worker_next, NULL, 0,
		"twice as many workers, as far as there are CPUs for them", "there are no workers, or as many as CPUs" },
	RUN_NUMBER("workers.fetch_longest_s", SECONDS, fetch_longest, "the longest fetch of a worker"),
	RUN_NUMBER("workers.fetch_usual_s", SECONDS, fetch_usual, "the median fetch"),
	RUN_NUMBER("workers.fetch_ratio", FACTOR, fetch_ratio, "the longest ÷ the median"),
	RUN_NUMBER(
		"period.ratio", FACTOR, period_ratio, "batches that are slow in a rhythm ÷ the others; 0 = there is none"),
	RUN_NUMBER("period.lost_ratio", PERCENT, period_lost,
		"of all time what they take more than the others do; 0 = there is none"),
	RUN_NUMBER("period.length", COUNT, period_length, "how far apart they are"),
	RUN_TEXT("period.unit", period_unit, "batches or seconds"),
	RUN_NUMBER("period.count", COUNT, period_count, "how many have kept to it"),
	RUN_NUMBER("period.of", COUNT, period_of, "how many would have"),
	RUN_NUMBER("period.usual_s", SECONDS, period_usual, "median of the others"),
	RUN_NUMBER("period.slow_s", SECONDS, period_slow, "median of these"),
	RUN_TEXT("period.words", period_words, "all of that in one line"),
	RUN_NUMBER("period.at_epoch", NUMBER, period_at_epoch, "1: they are the first of each epoch"),
	RUN_TEXT("period.phase_kind", period_kind, "kind of the phase that is slow in them, as phase.kind"),
	RUN_TEXT("period.candidate", period_candidate, "what has the same length"),
	RUN_NUMBER("drift.ratio", FACTOR, drift_ratio, "steps since a change ÷ those before; 0 = there is none"),
	RUN_NUMBER("drift.before_s", SECONDS, drift_before, "median before"),
	RUN_NUMBER("drift.after_s", SECONDS, drift_after, "median since"),
	RUN_NUMBER("drift.first", COUNT, drift_first, "the batch since which"),
	RUN_TEXT("drift.words", drift_words, "all of that in one line"),
	RUN_NUMBER("kinds.ratio", FACTOR, kinds_ratio, "slower ÷ faster of two kinds of batches; 0 = there is one kind"),
	RUN_NUMBER("kinds.fast_s", SECONDS, kinds_fast, "median of the one"),
	RUN_NUMBER("kinds.slow_s", SECONDS, kinds_slow, "and of the other"),
	RUN_TEXT("kinds.words", kinds_words, "all of that in one line"),
	RUN_NUMBER("stall.seconds", SECONDS, stall_seconds,
		"for how long nothing has begun or ended, where that is far more than usual; else 0"),
	RUN_NUMBER("stall.usual_s", SECONDS, stall_usual, "the longest that is usual"),
	RUN_TEXT("stall.where", stall_where, "\"in backward › all_reduce\", \"between two batches\""),
	RUN_TEXT("stall.stack", stall_stack, "the open spans, outermost first"),
	RUN_TEXT("stall.why", stall_why, "what is known of its process"),
	RUN_NUMBER("run.pid", NUMBER, stall_pid, "process id of the run"),
};

const struct figure_part worker_figures = { rows, sizeof rows / sizeof *rows };
