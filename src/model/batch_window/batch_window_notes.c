#include "src/model/batch_window/batch_window_notes.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window_private.h"

/* Only fetches longer than the baseline by this factor, and than this minimum, are noted. */
#define LONG_FETCH_RATIO 1.3
#define LONG_FETCH_MIN_S 0.01
/* Maximum difference of the times within one reading. */
#define READ_APART_NS (20 * NS_PER_MS)
#define TORCH_WORKER "pt_data_worker"

const enum metric watched_metrics[SLOT_COUNT] = {
#define WATCHED_METRIC(metric) [SLOT_##metric] = METRIC_##metric,
	WATCHED_OF_ALL(WATCHED_METRIC) WATCHED_OF_RUNS(WATCHED_METRIC)
#undef WATCHED_METRIC
};

void model_init_batch_windows(struct model *model)
{
	model->priv->window_notes = calloc(1, sizeof *model->priv->window_notes);
}

static void free_watched(struct watched *watched)
{
	for (size_t i = 0; i < SLOT_COUNT; i++)
		readings_release(&watched->slots[i]);
	readings_release(&watched->on_disk);
	readings_release(&watched->stopped);
	free(watched);
}

void model_forget_watched(struct model *model, struct process_past *past)
{
	if (!past->watched)
		return;
	free_watched(past->watched);
	past->watched = NULL;
	model->priv->window_notes->watched_count--;
}

void model_free_batch_windows(struct model *model)
{
	struct window_notes *notes = model->priv->window_notes;
	for (size_t i = 0; i < model->process_count; i++)
		model_forget_watched(model, &model->priv->pasts[i]);
	for (size_t i = 0; notes && i < notes->machine_count; i++)
		readings_release(&notes->machine[i].readings);
	for (size_t i = 0; notes && i < notes->clock_history_count; i++)
		clock_history_release(&notes->clock_histories[i]);
	if (notes)
		readings_release(&notes->process_readings);
	free(notes);
}

/* -- the machine -- */

static bool is_watched(enum metric metric, int32_t instance)
{
	switch (metric) {
#define WATCHED_CASE(metric) case METRIC_##metric:
		WATCHED_OF_SYSTEM(WATCHED_CASE)
		return true;
		WATCHED_OF_DEVICES(WATCHED_CASE)
		return instance < DEVICES_WATCHED;
#undef WATCHED_CASE
	default: return false;
	}
}

void model_note_growth(struct model *model, enum metric metric, int32_t instance, int64_t time_ns, double growth)
{
	struct window_notes *notes = window_notes_of(model);
	if (!notes || !is_watched(metric, instance))
		return;
	size_t at = 0;
	while (
		at < notes->machine_count && (notes->machine[at].metric != metric || notes->machine[at].instance != instance))
		at++;
	if (at == MACHINE_COUNTERS_MAX)
		return;
	if (at == notes->machine_count)
		notes->machine[notes->machine_count++] = (struct machine_counter){ .metric = metric, .instance = instance };
	readings_push(&notes->machine[at].readings, time_ns, growth);
}

/* -- processes -- */

static bool is_of_run(const struct model *model, const struct process *process)
{
	bool is = process->is_target;
	for (unsigned i = 0; i < model->run_count && !is; i++)
		is = model->runs[i].pid == process->pid;
	return is;
}

/* NULL: WATCHED_MAX is reached, or out of memory. */
static struct watched *watch(struct model *model, size_t process)
{
	struct window_notes *notes = window_notes_of(model);
	struct process_past *past = &model->priv->pasts[process];
	if (past->watched || !notes || notes->watched_count >= WATCHED_MAX)
		return past->watched;
	past->watched = calloc(1, sizeof *past->watched);
	if (past->watched) {
		past->watched->is_of_run = is_of_run(model, &model->processes[process]);
		notes->watched_count++;
	}
	return past->watched;
}

static size_t slot_of(enum metric metric)
{
	size_t slot = 0;
	while (slot < SLOT_COUNT && watched_metrics[slot] != metric)
		slot++;
	return slot;
}

void model_note_process_growth(struct model *model, size_t process, enum metric metric, int64_t time_ns, double growth)
{
	size_t slot = slot_of(metric);
	struct watched *watched = slot < SLOT_COUNT ? watch(model, process) : NULL;
	if (watched && (slot < SLOTS_OF_ALL || watched->is_of_run))
		readings_push(&watched->slots[slot], time_ns, growth);
}

void model_note_state(struct model *model, size_t process, int64_t time_ns)
{
	struct window_notes *notes = window_notes_of(model);
	if (!notes)
		return;
	if (time_ns > notes->processes_read_ns) {
		notes->processes_read_ns = time_ns;
		readings_push(&notes->process_readings, time_ns, notes->process_readings.count ? 1 : NAN);
	}
	struct watched *watched = watch(model, process);
	if (!watched)
		return;
	double seconds = watched->state ? seconds_between(watched->state_ns, time_ns) : NAN;
	readings_push(&watched->on_disk, time_ns, watched->state && watched->state != 'D' ? 0 : seconds);
	readings_push(
		&watched->stopped, time_ns, watched->state && watched->state != 'T' && watched->state != 't' ? 0 : seconds);
	double code = model->processes[process].now[METRIC_PROCESS_STATE];
	watched->state = code > 0 && code < 128 ? (char)code : 0;
	watched->state_ns = time_ns;
}

void model_note_process_came(struct model *model, size_t process, int64_t time_ns)
{
	struct window_notes *notes = window_notes_of(model);
	if (!notes || notes->processes_read_ns == 0 || notes->processes_read_ns >= time_ns)
		return;
	int64_t before_ns = model->priv->pasts[process].came_after_ns = notes->processes_read_ns;
	struct watched *watched = watch(model, process);
	for (size_t i = 0; watched && i < SLOTS_OF_ALL; i++)
		readings_begin(&watched->slots[i], before_ns);
	model_note_moment(model, WINDOW_CHILD_CAME, before_ns, time_ns, model->processes[process].pid, NAN,
		model->processes[process].command);
}

void model_note_process_went(struct model *model, size_t process, int64_t time_ns)
{
	struct window_notes *notes = window_notes_of(model);
	uint32_t id;
	if (notes && !batch_window_is_worker(model, &model->processes[process], &id))
		model_note_moment(model, WINDOW_CHILD_WENT, notes->processes_read_ns, time_ns, model->processes[process].pid,
			NAN, model->processes[process].command);
}

/* -- workers -- */

bool batch_window_is_worker(const struct model *model, const struct process *process, uint32_t *id)
{
	const struct workers *workers = workers_of(model);
	*id = UINT32_MAX;
	for (size_t i = 0; workers && i < workers->count; i++) {
		if (workers->retained[i]->worker.pid != process->pid)
			continue;
		*id = workers->retained[i]->worker.id;
		return true;
	}
	return strcmp(process->command, TORCH_WORKER) == 0;
}

/* The baseline is the minimum of the worker's and its group's median, so that a worker that is always slow stands
 * out. */
void batch_window_baseline_fetch(
	const struct model *model, const struct worker_retained *retained, double *baseline_s, double *long_s)
{
	const struct workers *workers = workers_of(model);
	double worker_group_s = NAN;
	for (size_t i = 0; workers && i < workers->worker_group_count; i++)
		if (workers->worker_groups[i]->worker_group.owner == retained->worker.owner)
			worker_group_s = workers->worker_groups[i]->worker_group.work.fetch.p50_s;
	*baseline_s = fmin(retained->worker.work.fetch.p50_s, worker_group_s);
	*long_s = fmax(*baseline_s * LONG_FETCH_RATIO, LONG_FETCH_MIN_S);
}

static const struct worker_retained *find_retained(const struct model *model, unsigned source_id)
{
	const struct workers *workers = workers_of(model);
	for (size_t i = 0; workers && i < workers->count; i++)
		if (workers->retained[i]->source_id == source_id && !workers->retained[i]->is_emitted_gone)
			return workers->retained[i];
	return NULL;
}

/* The longest fetch since the previous reading, with the accuracy of a histogram bucket; NAN = unknown. */
static double longest_new(const struct worker_retained *retained, const struct worker_row *row)
{
	for (size_t i = row->histogram ? HISTOGRAM_BUCKETS : 0; i-- > 0;)
		if (row->histogram[i] > retained->histogram[i])
			return fmin(histogram_lower_ns(i) * exp2(0.5 / HISTOGRAM_PER_OCTAVE) * 1e-9, row->max_s);
	return NAN;
}

/* Notes the longest new fetch. If its length fits, it is the one in progress at the previous reading; else it ended
 * when the current one began, or before. */
static void note_fetch(struct window_notes *notes, const struct model *model, const struct worker_retained *retained,
	const struct record *record)
{
	const struct worker_row *row = record->worker;
	bool is_only = row->fetches == retained->worker.work.fetches + 1;
	double baseline_s, long_s, seconds = is_only ? row->total_s - retained->total_s : longest_new(retained, row);
	batch_window_baseline_fetch(model, retained, &baseline_s, &long_s);
	if (!(seconds > long_s) || seconds > 1e6)
		return;
	int64_t length_ns = (int64_t)(seconds * 1e9), read_ns = retained->moments[retained->newest].time_ns;
	int64_t last_end_ns =
		row->fetch_begin_ns && row->fetch_begin_ns < record->time_ns ? row->fetch_begin_ns : record->time_ns;
	int64_t end_ns = retained->worker.fetch_begin_ns + length_ns;
	bool is_one_of_many = retained->worker.fetch_begin_ns == 0 || end_ns < read_ns - READ_APART_NS ||
		end_ns > last_end_ns + READ_APART_NS;
	end_ns = is_one_of_many ? last_end_ns : end_ns;
	notes->fetches[notes->fetch_next] = (struct fetch_noted){ row->pid, retained->worker.id, end_ns - length_ns, end_ns,
		is_one_of_many && !is_only ? read_ns : 0, baseline_s };
	notes->fetch_next = (notes->fetch_next + 1) % FETCHES_NOTED;
	notes->fetch_count += notes->fetch_count < FETCHES_NOTED;
}

void model_note_worker(struct model *model, const struct record *record)
{
	struct window_notes *notes = window_notes_of(model);
	const struct worker_retained *retained = notes ? find_retained(model, record->run) : NULL;
	if (!retained)
		return;
	if (record->kind == RECORD_WORKER_GONE) {
		if (!end_is_orderly(record->text))
			model_note_moment(model, WINDOW_WORKER_WENT, notes->processes_read_ns, record->time_ns,
				retained->worker.pid, NAN, record->text);
	} else if (record->worker && record->worker->pid == retained->worker.pid &&
		record->worker->fetches > retained->worker.work.fetches) {
		note_fetch(notes, model, retained, record);
	}
}

/* -- moments -- */

void model_note_moment(struct model *model, enum window_event_kind kind, int64_t from_ns, int64_t to_ns, int32_t pid,
	double value, const char *text)
{
	struct window_notes *notes = window_notes_of(model);
	if (!notes)
		return;
	struct moment *moment = &notes->moments[notes->moment_next];
	notes->moment_next = (notes->moment_next + 1) % MOMENTS_MAX;
	notes->moment_count += notes->moment_count < MOMENTS_MAX;
	*moment = (struct moment){
		.kind = kind, .pid = pid, .worker = UINT32_MAX, .gpu = -1, .from_ns = from_ns, .to_ns = to_ns, .value = value
	};
	put_text(moment->text, sizeof moment->text, text ? text : "");
	struct process process = { .pid = pid };
	if (pid)
		batch_window_is_worker(model, &process, &moment->worker);
}
