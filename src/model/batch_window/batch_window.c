#include "src/model/batch_window/batch_window.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window_clocks.h"
#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/batch_window/batch_window_private.h"

/* Some counters are read once per second: so long after the batch's end they have been read too. */
#define SETTLED_NS (1600 * NS_PER_MS)
#define SWEEP_NS NS_PER_S
#define OLD_NS_MAX (READINGS_RETAINED_S * NS_PER_S)
/* Minimum CPU time of a child, and minimum time in a state, to be reported. */
#define CHILD_MIN_S 0.02
#define CHILD_MIN_RATIO 0.05
#define STATE_MIN_S 0.005
#define STATE_WHOLE_RATIO 0.9

enum { EVENTS_OF_A_KIND = 3, SETTLED_IN_A_ROW = 32 };

const struct window_figure *batch_window_find(
	const struct batch_window *batch_window, enum metric metric, int32_t instance)
{
	for (size_t i = 0; i < batch_window->figure_count; i++)
		if (batch_window->figures[i].metric == metric && batch_window->figures[i].instance == instance)
			return &batch_window->figures[i];
	return NULL;
}

/* -- figures -- */

static void add_figure(struct batch_window *out, enum metric metric, int32_t instance, const struct readings *readings)
{
	if (out->figure_count == WINDOW_FIGURES_MAX || readings->count == 0)
		return;
	struct window_figure figure = { .metric = metric, .instance = instance };
	readings_bounds(readings, out->from_ns, out->to_ns, &figure.min, &figure.max);
	figure.baseline = readings_baseline(readings, out->from_ns) * out->seconds;
	out->figures[out->figure_count++] = figure;
}

static void add_process_figures(struct batch_window *out, int32_t pid, const struct watched *watched)
{
	for (size_t i = 0; i < SLOT_COUNT; i++)
		add_figure(out, watched_metrics[i], pid, &watched->slots[i]);
}

/* How busy a child was in the window: if there is no room for all, the busiest are included. */
static double busyness(const struct batch_window *out, const struct watched *watched)
{
	static const struct {
		enum watched_slot slot;
		double per_s;
	} scales[] = {
		{ SLOT_PROCESS_CPU_USER, 1e9 },
		{ SLOT_PROCESS_CPU_SYSTEM, 1e9 },
		{ SLOT_PROCESS_RUN_QUEUE_WAIT, 1e9 },
		{ SLOT_PROCESS_DISK_WAIT, 1e9 },
		{ SLOT_PROCESS_READ, 1e8 },
		{ SLOT_PROCESS_WRITTEN, 1e8 },
	};
	double sum = 0;
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
		sum += readings_estimate(&watched->slots[scales[i].slot], out->from_ns, out->to_ns) / scales[i].per_s;
	return sum + readings_estimate(&watched->on_disk, out->from_ns, out->to_ns) +
		readings_estimate(&watched->stopped, out->from_ns, out->to_ns);
}

struct child {
	size_t process;
	double busyness;
};

static int by_busyness(const void *left, const void *right)
{
	const struct child *a = left, *b = right;
	return a->busyness != b->busyness ? (a->busyness < b->busyness ? 1 : -1)
									  : (a->process > b->process) - (a->process < b->process);
}

/* Did the process exist during the window? */
static bool was_there(const struct model *model, size_t at, const struct batch_window *out)
{
	const struct process *process = &model->processes[at];
	return model->priv->pasts[at].watched && process->seen_ns <= out->to_ns + NS_PER_S &&
		(!process->is_gone || process->gone_ns >= out->from_ns);
}

static void add_child_figures(const struct model *model, size_t own, struct batch_window *out)
{
	struct child children[WATCHED_MAX];
	size_t count = 0;
	for (size_t i = 0; i < model->process_count && count < WATCHED_MAX; i++)
		if (i != own && was_there(model, i, out))
			children[count++] = (struct child){ i, busyness(out, model->priv->pasts[i].watched) };
	qsort(children, count, sizeof *children, by_busyness);
	for (size_t i = 0; i < count; i++)
		add_process_figures(
			out, model->processes[children[i].process].pid, model->priv->pasts[children[i].process].watched);
}

/* -- events -- */

struct window_event *batch_window_add(struct candidates *candidates, enum window_event_kind kind, int32_t pid,
	int64_t time_ns, double value, const char *text)
{
	if (candidates->count == CANDIDATES_MAX)
		return NULL;
	struct window_event *event = &candidates->events[candidates->count++];
	*event = (struct window_event){ .kind = kind,
		.pid = pid,
		.worker = UINT32_MAX,
		.time_ns = time_ns,
		.value = value,
		.baseline = NAN,
		.part_ratio = NAN,
		.busy_ratio = NAN };
	put_text(event->text, sizeof event->text, text);
	return event;
}

static void add_state(const struct model *model, size_t at, const struct readings *readings,
	enum window_event_kind kind, bool is_stop, const struct batch_window *out, struct candidates *candidates)
{
	const struct process *process = &model->processes[at];
	double seconds = readings_estimate(readings, out->from_ns, out->to_ns);
	/* A process stays stopped between two readings, but a wait seen before and after the window may be two waits. */
	bool is_seen = readings_grew_after(readings, out->from_ns, out->to_ns) ||
		(is_stop && seconds >= STATE_WHOLE_RATIO * out->seconds);
	if (!is_seen || seconds < STATE_MIN_S)
		return;
	struct window_event *event =
		batch_window_add(candidates, kind, process->pid, out->from_ns, seconds, process->command);
	if (!event)
		return;
	event->baseline = readings_baseline(readings, out->from_ns) * out->seconds;
	batch_window_is_worker(model, process, &event->worker);
}

static double cpu_used(const struct watched *watched, const struct batch_window *out)
{
	return 1e-9 *
		(readings_estimate(&watched->slots[SLOT_PROCESS_CPU_USER], out->from_ns, out->to_ns) +
			readings_estimate(&watched->slots[SLOT_PROCESS_CPU_SYSTEM], out->from_ns, out->to_ns));
}

static void add_child_that_ran(
	const struct model *model, size_t at, const struct batch_window *out, struct candidates *candidates)
{
	const struct process *process = &model->processes[at];
	const struct watched *watched = model->priv->pasts[at].watched;
	uint32_t id;
	double used_s = cpu_used(watched, out);
	if (out->readings == 0 || used_s < CHILD_MIN_S || used_s < CHILD_MIN_RATIO * out->seconds ||
		batch_window_is_worker(model, process, &id))
		return;
	struct window_event *event =
		batch_window_add(candidates, WINDOW_CHILD_RAN, process->pid, out->from_ns, used_s, process->command);
	double baseline_ns = readings_baseline(&watched->slots[SLOT_PROCESS_CPU_USER], out->from_ns) +
		readings_baseline(&watched->slots[SLOT_PROCESS_CPU_SYSTEM], out->from_ns);
	if (event)
		event->baseline = baseline_ns * 1e-9 * out->seconds;
}

static void add_processes(
	const struct model *model, size_t own, const struct batch_window *out, struct candidates *candidates)
{
	for (size_t i = 0; i < model->process_count; i++) {
		const struct watched *watched = model->priv->pasts[i].watched;
		if (!was_there(model, i, out))
			continue;
		add_state(model, i, &watched->on_disk, i == own ? WINDOW_TARGET_ON_DISK : WINDOW_WORKER_ON_DISK, false, out,
			candidates);
		add_state(model, i, &watched->stopped, i == own ? WINDOW_TARGET_STOPPED : WINDOW_WORKER_STOPPED, true, out,
			candidates);
		if (i != own)
			add_child_that_ran(model, i, out, candidates);
	}
}

/* CPU time of a child that started in the window; NAN = no longer known. */
static double cpu_of(const struct model *model, int32_t pid, const struct batch_window *out)
{
	for (size_t i = model->process_count; i-- > 0;)
		if (model->processes[i].pid == pid)
			return model->priv->pasts[i].watched ? cpu_used(model->priv->pasts[i].watched, out) : NAN;
	return NAN;
}

static void add_moments(
	const struct model *model, const struct run *run, const struct batch_window *out, struct candidates *candidates)
{
	const struct window_notes *notes = window_notes_of(model);
	for (size_t i = 0; i < notes->moment_count; i++) {
		const struct moment *moment = &notes->moments[(notes->moment_next + MOMENTS_MAX - 1 - i) % MOMENTS_MAX];
		if (moment->to_ns < out->from_ns || moment->from_ns >= out->to_ns ||
			(moment->gpu >= 0 && !batch_window_is_on(model, run, moment->gpu)))
			continue;
		double value = moment->kind == WINDOW_CHILD_CAME ? cpu_of(model, moment->pid, out) : moment->value;
		struct window_event *event =
			batch_window_add(candidates, moment->kind, moment->pid, moment->to_ns, value, moment->text);
		if (!event)
			return;
		event->worker = moment->worker;
		batch_window_name_gpu(model, moment->gpu, event->gpu);
	}
}

static void add_fetch(
	const struct batch_window *out, struct candidates *candidates, const struct fetch_noted *fetch, double long_s)
{
	int64_t begin_ns = fetch->begin_ns;
	/* It may have ended with this batch. */
	if (begin_ns >= out->to_ns && fetch->since_ns && fetch->since_ns < out->to_ns)
		begin_ns = out->to_ns - (fetch->end_ns - fetch->begin_ns);
	int64_t upto_ns = fetch->end_ns && fetch->end_ns < out->to_ns ? fetch->end_ns : out->to_ns;
	double seconds = seconds_between(begin_ns, upto_ns);
	if (begin_ns >= out->to_ns || (fetch->end_ns && fetch->end_ns < out->from_ns) || !(seconds > long_s))
		return;
	struct window_event *event = batch_window_add(candidates, WINDOW_WORKER_FETCHED, fetch->pid, begin_ns, seconds, "");
	if (!event)
		return;
	event->worker = fetch->worker;
	event->baseline = fetch->baseline_s;
}

static void add_fetches(const struct model *model, const struct batch_window *out, struct candidates *candidates)
{
	const struct window_notes *notes = window_notes_of(model);
	const struct workers *workers = workers_of(model);
	for (size_t i = 0; i < notes->fetch_count; i++)
		add_fetch(out, candidates, &notes->fetches[(notes->fetch_next + FETCHES_NOTED - 1 - i) % FETCHES_NOTED], 0);
	for (size_t i = 0; workers && i < workers->count; i++) {
		const struct worker *worker = &workers->retained[i]->worker;
		struct fetch_noted now = { worker->pid, worker->id, worker->fetch_begin_ns, 0, 0, NAN };
		double long_s;
		if (worker->is_gone || worker->fetch_begin_ns == 0)
			continue;
		batch_window_baseline_fetch(model, workers->retained[i], &now.baseline_s, &long_s);
		add_fetch(out, candidates, &now, long_s);
	}
}

static void add_marks(const struct run *run, const struct batch_window *out, struct candidates *candidates)
{
	for (size_t i = run->mark_count; i-- > 0;)
		if (run->marks[i].time_ns >= out->from_ns && run->marks[i].time_ns <= out->to_ns)
			batch_window_add(candidates, WINDOW_MARKED, 0, run->marks[i].time_ns, NAN, run->marks[i].text);
}

/* Sorts kinds of events by how much they explain, most first. */
static int importance(enum window_event_kind kind)
{
	static const enum window_event_kind order[] = { WINDOW_SUSPENDED, WINDOW_TARGET_STOPPED, WINDOW_GPU_LOST,
		WINDOW_GPU_REPORTED, WINDOW_GPU_SLOWED, WINDOW_CLOCK_STEPPED, WINDOW_CPU_SLOWED, WINDOW_WORKER_WENT,
		WINDOW_WORKER_STOPPED, WINDOW_WORKER_FETCHED, WINDOW_WORKER_ON_DISK, WINDOW_TARGET_ON_DISK, WINDOW_GPU_SHARED,
		WINDOW_CHILD_CAME, WINDOW_CHILD_RAN, WINDOW_MARKED, WINDOW_CHILD_WENT };
	int at = 0;
	while ((size_t)at < sizeof order / sizeof *order && order[at] != kind)
		at++;
	return at;
}

static int by_importance(const void *left, const void *right)
{
	const struct window_event *a = left, *b = right;
	int first = importance(a->kind), second = importance(b->kind);
	if (first != second)
		return first - second;
	double one = isnan(a->value) ? 0 : fabs(a->value), other = isnan(b->value) ? 0 : fabs(b->value);
	if (one != other)
		return one < other ? 1 : -1;
	return a->time_ns != b->time_ns ? (a->time_ns < b->time_ns ? -1 : 1) : (a->pid > b->pid) - (a->pid < b->pid);
}

static void add_events(const struct model *model, const struct run *run, size_t own, struct batch_window *out)
{
	struct candidates candidates = { .count = 0 };
	size_t of_kind = 0;
	add_moments(model, run, out, &candidates);
	batch_window_add_clocks(model, run, out, &candidates);
	add_processes(model, own, out, &candidates);
	add_fetches(model, out, &candidates);
	add_marks(run, out, &candidates);
	qsort(candidates.events, candidates.count, sizeof candidates.events[0], by_importance);
	for (size_t i = 0; i < candidates.count && out->event_count < WINDOW_EVENTS_MAX; i++) {
		of_kind = i > 0 && candidates.events[i].kind == candidates.events[i - 1].kind ? of_kind + 1 : 1;
		if (of_kind <= EVENTS_OF_A_KIND)
			out->events[out->event_count++] = candidates.events[i];
	}
}

/* -- windows -- */

static size_t process_of(const struct model *model, int32_t pid)
{
	for (size_t i = model->process_count; i-- > 0;)
		if (model->processes[i].pid == pid)
			return i;
	return model->process_count;
}

static int64_t end_of(const struct batch *batch)
{
	return isfinite(batch->step_s) ? batch->begin_ns + (int64_t)fmin(batch->step_s * 1e9, 0x1p60) : batch->end_ns;
}

static bool is_over(const struct model *model, const struct run *run) { return model->target_ended || !run->is_live; }

bool model_batch_window(
	const struct model *model, const struct run *run, const struct batch *batch, struct batch_window *out)
{
	const struct window_notes *notes = window_notes_of(model);
	int64_t from_ns = batch->begin_ns, to_ns = end_of(batch);
	if (!notes || notes->processes_read_ns == 0 || batch->end_ns == 0 || to_ns <= from_ns)
		return false;
	if (to_ns <= readings_first_ns(&notes->process_readings) ||
		(notes->processes_read_ns < to_ns && !is_over(model, run)))
		return false;
	size_t own = process_of(model, run->pid);
	const struct watched *watched = own < model->process_count ? model->priv->pasts[own].watched : NULL;
	*out = (struct batch_window){ .from_ns = from_ns, .to_ns = to_ns, .seconds = seconds_between(from_ns, to_ns) };
	out->readings = readings_within(&notes->process_readings, from_ns, to_ns);
	if (watched)
		add_process_figures(out, run->pid, watched);
	for (size_t i = 0; i < notes->machine_count; i++)
		add_figure(out, notes->machine[i].metric, notes->machine[i].instance, &notes->machine[i].readings);
	add_child_figures(model, own, out);
	add_events(model, run, own, out);
	model_sampled_line(model, run, from_ns, to_ns, &out->line);
	model_step_phases(model, run, batch, &out->phases, &out->baseline_phases);
	model_waited_for(model, run, batch, from_ns, to_ns, &out->waited_for);
	model_sampled_gil(model, run->pid, from_ns, to_ns, out->line.samples, &out->gil);
	return true;
}

/* -- flagged batches -- */

/* Collectives are read twice a second. */
static bool has_new_waits(
	const struct model *model, const struct run *run, const struct flagged *flagged, int64_t to_ns)
{
	return flagged->batch_window->waited_for.read_ns < to_ns && model_collectives_read_ns(model, run->pid) >= to_ns;
}

/* Stores the window of a flagged batch as soon as it is known, again when its collectives are, and again after the
 * slower counters have been read. */
static void capture(const struct model *model, const struct run *run, struct flagged *flagged)
{
	int64_t to_ns = end_of(&flagged->batch);
	struct batch_window *batch_window;
	if (flagged->batch.end_ns == 0)
		return;
	bool is_last = is_over(model, run) || model->now_ns >= to_ns + SETTLED_NS;
	if (flagged->batch_window && !is_last && !has_new_waits(model, run, flagged, to_ns))
		return;
	batch_window = malloc(sizeof *batch_window);
	bool is_known = batch_window && model_batch_window(model, run, &flagged->batch, batch_window);
	if (is_known) {
		free(flagged->batch_window);
		flagged->batch_window = batch_window;
		flagged->has_news = true;
	} else {
		free(batch_window);
	}
	flagged->is_batch_window_settled =
		(is_known && is_last) || model->now_ns > to_ns + OLD_NS_MAX || is_over(model, run);
}

static void capture_flagged(const struct model *model, struct run *run, bool all)
{
	size_t settled = 0;
	for (size_t i = run->flagged_count; i-- > 0 && (all || settled < SETTLED_IN_A_ROW);) {
		settled = run->flagged[i].is_batch_window_settled ? settled + 1 : 0;
		if (settled == 0)
			capture(model, run, &run->flagged[i]);
	}
}

static void forget_gone(struct model *model)
{
	struct window_notes *notes = model->priv->window_notes;
	if (model->now_ns < notes->swept_ns + SWEEP_NS)
		return;
	notes->swept_ns = model->now_ns;
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].is_gone && model->now_ns - model->processes[i].gone_ns > OLD_NS_MAX)
			model_forget_watched(model, &model->priv->pasts[i]);
}

void model_refresh_batch_windows(struct model *model, bool all)
{
	if (!window_notes_of(model))
		return;
	for (unsigned i = 0; i < model->run_count; i++)
		capture_flagged(model, &model->runs[i], all);
	forget_gone(model);
}
