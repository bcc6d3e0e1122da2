#include "src/model/machine/perf.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/model_private.h"
#include "src/model/run/steps/tracks.h"

/* Without a new count for so long, rates are unknown. */
#define COUNTS_STALE_NS (5 * NS_PER_S)
/* Each reading contains all processes: one without a count for so long has ended. */
#define PROCESS_GONE_NS (2 * NS_PER_S)
/* Memory traffic is known only for the whole machine. It is attributed to the process tree if the tree uses this share
 * of all CPU time used. */
#define NEARLY_ALL_RATIO 0.9
/* FLOPs per batch: recent steps must take at least so long that the distance of readings does not matter. */
#define WINDOW_MIN_S 1.0

enum { SOCKETS_MAX = 16, POINTS_MAX = 512, POINTS_A_WINDOW = 256 };

/* One event of one process (or socket). */
struct count_past {
	int64_t time_ns;    /* of the latest count; 0 = never counted */
	double value, base; /* as reported; total of the counts before a restart */
	double per_s, counted_ratio;
	uint64_t set; /* number of the set with the latest count */
};

struct process_counts {
	struct count_past events[PERF_EVENTS_MAX];
};

struct perf_past {
	uint64_t set; /* counts the sets */
	bool has_new; /* counts in this set */
	bool is_user_only[PERF_EVENTS_MAX];
	double ended_total[PERF_EVENTS_MAX];
	size_t room, socket_count;
	struct process_counts *processes; /* same indexes as perf->processes */
	struct {
		int32_t socket;
		struct count_past past;
	} sockets[SOCKETS_MAX];
	size_t point_count; /* total FLOPs of the process tree over time */
	struct {
		int64_t time_ns;
		double flops;
	} points[POINTS_MAX];
	double window_s; /* duration of the recent steps */
};

static void forget_derived(struct perf *perf)
{
	perf->cpus = perf->ipc = perf->clock_hz = perf->cache_miss_ratio = perf->branch_miss_ratio = NAN;
	perf->stalled_front_ratio = perf->stalled_back_ratio = perf->flops_per_s = perf->bytes_per_s = perf->intensity =
		NAN;
}

void model_init_perf(struct model *model)
{
	struct perf *perf = &model->perf;
	*perf = (struct perf){
		.flops_per_batch = NAN, .flops_per_sample = NAN, .ipc_series = series_new(), .flops_series = series_new()
	};
	forget_derived(perf);
	model->priv->perf = calloc(1, sizeof *model->priv->perf);
}

void model_free_perf(struct model *model)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	for (unsigned i = 0; i < perf->event_count; i++)
		series_free(perf->events[i].series);
	series_free(perf->ipc_series);
	series_free(perf->flops_series);
	free(perf->processes);
	free(past ? past->processes : NULL);
	free(past);
}

const struct perf_event_now *perf_find(const struct perf *perf, enum perf_role role)
{
	for (unsigned i = 0; i < perf->event_count; i++)
		if (perf->events[i].is_used && perf->events[i].role == role)
			return &perf->events[i];
	return NULL;
}

/* -- records -- */

static void forget_counts(struct model *model, unsigned event)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	past->ended_total[event] = 0;
	for (size_t i = 0; i < perf->process_count; i++) {
		past->processes[i].events[event] = (struct count_past){ .per_s = NAN };
		perf->processes[i].per_s[event] = perf->processes[i].total[event] = NAN;
	}
	if (perf->events[event].role == PERF_ROLE_MEMORY_BYTES)
		past->socket_count = 0;
	if (perf->events[event].role == PERF_ROLE_FLOPS)
		past->point_count = 0;
}

void model_take_perf_event(struct model *model, const struct record *record)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	unsigned at = record->perf_event.event;
	enum perf_role role =
		record->perf_event.role < PERF_ROLE_COUNT ? (enum perf_role)record->perf_event.role : PERF_ROLE_OTHER;
	const char *name = record->perf_event.name ? record->perf_event.name : "";
	if (!past || at >= PERF_EVENTS_MAX)
		return;
	struct perf_event_now *event = &perf->events[at];
	char cleaned[sizeof event->name];
	put_text(cleaned, sizeof cleaned, name);
	if (event->is_used && event->role == role && strcmp(event->name, cleaned) == 0)
		return;
	forget_counts(model, at);
	series_free(event->series);
	*event = (struct perf_event_now){
		.is_used = true, .role = role, .per_s = NAN, .total = NAN, .counted_ratio = NAN, .series = series_new()
	};
	memcpy(event->name, cleaned, sizeof cleaned);
	forget_counts(model, at);
	size_t length = strlen(event->name);
	past->is_user_only[at] = length > 2 && strcmp(event->name + length - 2, ":u") == 0;
	if (at >= perf->event_count)
		perf->event_count = at + 1;
}

static bool grow(struct perf *perf, struct perf_past *past)
{
	size_t room = past->room ? past->room * 2 : 8;
	if (room > PERF_PROCESSES_MAX)
		return false;
	struct perf_process *processes = realloc(perf->processes, room * sizeof *processes);
	if (!processes)
		return false;
	perf->processes = processes;
	struct process_counts *counts = realloc(past->processes, room * sizeof *counts);
	if (!counts)
		return false;
	past->processes = counts;
	past->room = room;
	return true;
}

/* Returns PERF_PROCESSES_MAX if there is no room. */
static size_t find_or_add_process(struct perf *perf, struct perf_past *past, int32_t pid)
{
	for (size_t i = 0; i < perf->process_count; i++)
		if (perf->processes[i].pid == pid)
			return i;
	if (perf->process_count == past->room && !grow(perf, past))
		return PERF_PROCESSES_MAX;
	size_t at = perf->process_count++;
	perf->processes[at].pid = pid;
	for (size_t i = 0; i < PERF_EVENTS_MAX; i++) {
		perf->processes[at].per_s[i] = perf->processes[at].total[i] = NAN;
		past->processes[at].events[i] = (struct count_past){ .per_s = NAN };
	}
	return at;
}

/* If a count decreases, counting was restarted or the pid was reused: its growth is unknown. */
static bool take_count(struct count_past *count, const struct record *record, uint64_t set)
{
	double value = record->perf_count.value, ratio = record->perf_count.counted_ratio;
	int64_t time_ns = bounded_time(record->time_ns);
	if (!isfinite(value) || value < 0 || time_ns <= count->time_ns)
		return false;
	bool is_reset = value < count->value, is_first = count->time_ns == 0;
	if (is_reset)
		count->base += count->value;
	count->per_s = is_first || is_reset || time_ns - count->time_ns > COUNTS_STALE_NS
		? NAN
		: (value - count->value) / seconds_between(count->time_ns, time_ns);
	count->value = value;
	count->counted_ratio = ratio >= 0 && ratio <= 1 ? ratio : NAN;
	count->time_ns = time_ns;
	count->set = set;
	return true;
}

static struct count_past *find_socket(struct perf_past *past, int32_t socket)
{
	size_t at = 0;
	while (at < past->socket_count && past->sockets[at].socket != socket)
		at++;
	if (at == SOCKETS_MAX)
		return NULL;
	if (at == past->socket_count) {
		past->sockets[at].socket = socket;
		past->sockets[at].past = (struct count_past){ .per_s = NAN };
		past->socket_count++;
	}
	return &past->sockets[at].past;
}

void model_take_perf_count(struct model *model, const struct record *record)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	unsigned event = record->perf_count.event;
	if (!past || event >= perf->event_count || !perf->events[event].is_used)
		return;
	struct count_past *count = NULL;
	if (perf->events[event].role == PERF_ROLE_MEMORY_BYTES) {
		count = find_socket(past, record->perf_count.pid);
	} else {
		size_t at = find_or_add_process(perf, past, record->perf_count.pid);
		count = at < PERF_PROCESSES_MAX ? &past->processes[at].events[event] : NULL;
	}
	if (!count || !take_count(count, record, past->set))
		return;
	past->has_new = true;
	int64_t time_ns = bounded_time(record->time_ns);
	if (perf->since_ns == 0)
		perf->since_ns = time_ns;
	if (time_ns > perf->seen_ns)
		perf->seen_ns = time_ns;
}

/* -- sums -- */

static int64_t newest_count_ns(const struct process_counts *counts, unsigned events)
{
	int64_t newest_ns = 0;
	for (unsigned i = 0; i < events; i++)
		if (counts->events[i].time_ns > newest_ns)
			newest_ns = counts->events[i].time_ns;
	return newest_ns;
}

/* Ended processes stay in the totals. */
static void drop_ended(struct perf *perf, struct perf_past *past)
{
	size_t retained = 0;
	for (size_t i = 0; i < perf->process_count; i++) {
		if (perf->seen_ns - newest_count_ns(&past->processes[i], perf->event_count) < PROCESS_GONE_NS) {
			if (retained != i) {
				perf->processes[retained] = perf->processes[i];
				past->processes[retained] = past->processes[i];
			}
			retained++;
			continue;
		}
		for (unsigned event = 0; event < perf->event_count; event++)
			if (past->processes[i].events[event].time_ns > 0)
				past->ended_total[event] +=
					past->processes[i].events[event].base + past->processes[i].events[event].value;
	}
	perf->process_count = retained;
}

struct tally {
	double per_s, total, counted_ratio;
	bool has_any;
};

static void tally_add(struct tally *tally, const struct count_past *count, uint64_t set)
{
	if (count->time_ns == 0)
		return;
	tally->has_any = true;
	tally->total += count->base + count->value;
	if (count->set != set)
		return;
	if (!isnan(count->per_s))
		tally->per_s = isnan(tally->per_s) ? count->per_s : tally->per_s + count->per_s;
	if (!(tally->counted_ratio <= count->counted_ratio) && !isnan(count->counted_ratio))
		tally->counted_ratio = count->counted_ratio;
}

static void sum_event(struct perf *perf, struct perf_past *past, unsigned event)
{
	struct perf_event_now *now = &perf->events[event];
	struct tally tally = {
		.per_s = NAN, .total = past->ended_total[event], .counted_ratio = NAN, .has_any = past->ended_total[event] > 0
	};
	if (now->role == PERF_ROLE_MEMORY_BYTES)
		for (size_t i = 0; i < past->socket_count; i++)
			tally_add(&tally, &past->sockets[i].past, past->set);
	else
		for (size_t i = 0; i < perf->process_count; i++) {
			const struct count_past *count = &past->processes[i].events[event];
			tally_add(&tally, count, past->set);
			perf->processes[i].total[event] = count->time_ns ? count->base + count->value : NAN;
			perf->processes[i].per_s[event] = count->set == past->set ? count->per_s : NAN;
		}
	now->per_s = tally.per_s;
	now->total = tally.has_any ? tally.total : NAN;
	now->counted_ratio = tally.counted_ratio;
	series_push(now->series, perf->seen_ns, now->per_s);
}

/* -- derived figures -- */

static double per_s(const struct perf *perf, enum perf_role role)
{
	const struct perf_event_now *event = perf_find(perf, role);
	return event ? event->per_s : NAN;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* Cycles of user space only would give a clock that is too low. */
static double clock_of(const struct perf *perf, const struct perf_past *past)
{
	const struct perf_event_now *cycles = perf_find(perf, PERF_ROLE_CYCLES);
	if (!cycles || past->is_user_only[cycles - perf->events])
		return NAN;
	return ratio(cycles->per_s, per_s(perf, PERF_ROLE_TASK_CLOCK) * 1e-9);
}

static double intensity_of(const struct model *model)
{
	const struct perf *perf = &model->perf;
	double used = model->system.cpu_ratio * model->system.now[METRIC_SYSTEM_CPUS];
	return used > 0 && perf->cpus > NEARLY_ALL_RATIO * used ? ratio(perf->flops_per_s, perf->bytes_per_s) : NAN;
}

static void derive(struct model *model)
{
	struct perf *perf = &model->perf;
	double cycles = per_s(perf, PERF_ROLE_CYCLES);
	perf->cpus = per_s(perf, PERF_ROLE_TASK_CLOCK) * 1e-9;
	perf->ipc = ratio(per_s(perf, PERF_ROLE_INSTRUCTIONS), cycles);
	perf->clock_hz = clock_of(perf, model->priv->perf);
	perf->cache_miss_ratio = ratio(per_s(perf, PERF_ROLE_CACHE_MISSES), per_s(perf, PERF_ROLE_CACHE_REFERENCES));
	perf->branch_miss_ratio = ratio(per_s(perf, PERF_ROLE_BRANCH_MISSES), per_s(perf, PERF_ROLE_BRANCHES));
	perf->stalled_front_ratio = ratio(per_s(perf, PERF_ROLE_STALLED_FRONT), cycles);
	perf->stalled_back_ratio = ratio(per_s(perf, PERF_ROLE_STALLED_BACK), cycles);
	perf->flops_per_s = per_s(perf, PERF_ROLE_FLOPS);
	perf->bytes_per_s = per_s(perf, PERF_ROLE_MEMORY_BYTES);
	perf->intensity = intensity_of(model);
	series_push(perf->ipc_series, perf->seen_ns, perf->ipc);
	series_push(perf->flops_series, perf->seen_ns, perf->flops_per_s);
}

/* -- FLOPs per batch -- */

/* Points are spaced so that POINTS_MAX of them cover all recent steps. */
static void push_flops(struct perf *perf, struct perf_past *past)
{
	const struct perf_event_now *flops = perf_find(perf, PERF_ROLE_FLOPS);
	if (!flops || isnan(flops->total))
		return;
	int64_t apart_ns = (int64_t)(past->window_s / POINTS_A_WINDOW * (double)NS_PER_S);
	bool replaces = past->point_count > 1 && perf->seen_ns - past->points[past->point_count - 2].time_ns < apart_ns;
	if (!replaces && past->point_count == POINTS_MAX)
		memmove(&past->points[0], &past->points[1], --past->point_count * sizeof past->points[0]);
	size_t at = replaces ? past->point_count - 1 : past->point_count++;
	past->points[at].time_ns = perf->seen_ns;
	past->points[at].flops = flops->total;
}

/* Total FLOPs at a time, interpolated linearly; NAN outside of the readings. */
static double flops_at(const struct perf_past *past, int64_t time_ns)
{
	size_t low = 0, high = past->point_count;
	if (high < 2 || time_ns < past->points[0].time_ns || time_ns > past->points[high - 1].time_ns)
		return NAN;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (past->points[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	if (low + 1 == past->point_count)
		return past->points[low].flops;
	double share = (double)(time_ns - past->points[low].time_ns) /
		(double)(past->points[low + 1].time_ns - past->points[low].time_ns);
	return past->points[low].flops + share * (past->points[low + 1].flops - past->points[low].flops);
}

static const struct run *main_run(const struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_live)
			return &model->runs[i];
	return model->run_count ? &model->runs[0] : NULL;
}

struct recent {
	size_t steps;
	double flops, seconds;
	int64_t from_ns, to_ns;
};

static int64_t step_end(const struct batch *batch)
{
	return batch->begin_ns + (int64_t)(batch->step_s * (double)NS_PER_S);
}

static struct recent recent_steps(const struct perf_past *past, const struct track *track)
{
	struct recent recent = { 0 };
	for (uint64_t ordinal = track->end; ordinal > track->first && recent.steps < RUN_RECENT; ordinal--) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (!batch || !(batch->step_s > 0))
			continue;
		double end = flops_at(past, step_end(batch)), begin = flops_at(past, batch->begin_ns);
		if (isnan(begin) && recent.steps > 0)
			break;
		if (isnan(begin) || isnan(end))
			continue;
		if (recent.steps++ == 0)
			recent.to_ns = step_end(batch);
		recent.from_ns = batch->begin_ns;
		recent.flops += end - begin;
		recent.seconds += batch->step_s;
	}
	return recent;
}

/* Samples of all ranks in the process tree, because the sum contains the FLOPs of all of them. */
static double samples_between(const struct model *model, int64_t from_ns, int64_t to_ns)
{
	double samples = 0;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct track *track = run_main(&model->runs[i]);
		for (uint64_t ordinal = track->end; ordinal > track->first; ordinal--) {
			const struct batch *batch = track_batch(track, ordinal - 1);
			if (!batch || !(batch->step_s > 0) || step_end(batch) > to_ns)
				continue;
			if (batch->begin_ns < from_ns)
				break;
			samples += batch->samples;
		}
	}
	return samples;
}

static void refresh_batches(struct model *model)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	const struct run *run = main_run(model);
	perf->flops_per_batch = perf->flops_per_sample = NAN;
	if (!run || past->point_count < 2)
		return;
	struct recent recent = recent_steps(past, run_main(run));
	const struct figures *steps = &run_main(run)->recent;
	past->window_s = steps->count ? steps->total_s : 0;
	if (recent.steps == 0 || recent.seconds < WINDOW_MIN_S)
		return;
	perf->flops_per_batch = recent.flops / (double)recent.steps;
	perf->flops_per_sample = ratio(recent.flops, samples_between(model, recent.from_ns, recent.to_ns));
}

/* -- after a set -- */

static void forget_rates(struct perf *perf)
{
	for (unsigned i = 0; i < perf->event_count; i++)
		perf->events[i].per_s = NAN;
	for (size_t i = 0; i < perf->process_count; i++)
		for (unsigned event = 0; event < perf->event_count; event++)
			perf->processes[i].per_s[event] = NAN;
	forget_derived(perf);
}

void model_refresh_perf(struct model *model)
{
	struct perf *perf = &model->perf;
	struct perf_past *past = model->priv->perf;
	if (!past)
		return;
	if (past->has_new) {
		drop_ended(perf, past);
		for (unsigned i = 0; i < perf->event_count; i++)
			if (perf->events[i].is_used)
				sum_event(perf, past, i);
		derive(model);
		push_flops(perf, past);
		refresh_batches(model);
	} else if (perf->seen_ns && model->now_ns - perf->seen_ns > COUNTS_STALE_NS) {
		forget_rates(perf);
	}
	past->has_new = false;
	past->set++;
}

/* -- MFU -- */

static double meta_number(const struct run *run, const char *key)
{
	const char *text = run_meta(run, key);
	char *end;
	if (!text)
		return NAN;
	double value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(value) && value > 0 ? value : NAN;
}

double run_mfu(const struct model *model, const struct run *run)
{
	(void)model;
	return meta_number(run, "flops_per_sample") * run_main(run)->samples_per_s / meta_number(run, "peak_flops");
}
