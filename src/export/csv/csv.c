#include "src/export/csv/csv.h"

#include <inttypes.h>
#include <math.h>

#include "src/base/formats/cells.h"
#include "src/export/export.h"
#include "src/export/figures/scope.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/machine/processes.h"

/* The input of a line; every member may be NULL or empty. */
struct row {
	const struct model *model;
	const struct run *run;
	const struct track *track; /* the run's main track */
	const struct batch *newest;
	const struct process *target;
};

static double count_of(uint64_t count) { return (double)count; }

static double running_epoch(const struct row *row)
{
	const struct run_state *state = row->run ? &row->run->state : NULL;
	return state && state->epochs_begun && state->epoch_index != EPOCH_UNKNOWN ? (double)state->epoch_index : NAN;
}

static double figure(const struct figures *figures, double value) { return figures->count ? value : NAN; }

/* The numeric columns in order: COLUMN(name, value from `row`, or NAN). */
#define RUN_FIGURE(value) (row->run ? (value) : NAN)
#define TARGET_FIGURE(value) (row->target ? (value) : NAN)
#define GPU_FIGURE(metric) run_gpu_figure(row->model, row->run, METRIC_GPU_##metric)
#define ENERGY_FIGURE(name) (energy_is_metered(&row->model->energy) ? row->model->energy.name : NAN)
#define COLUMNS(X) \
	X(epoch, running_epoch(row)) \
	X(batch, row->newest ? count_of(row->newest->index) : NAN) \
	X(batches, RUN_FIGURE(count_of(row->track->count))) \
	X(step_last_s, RUN_FIGURE(figure(&row->track->step, row->track->step.last_s))) \
	X(step_mean_s, RUN_FIGURE(figure(&row->track->step, row->track->step.mean_s))) \
	X(rate_per_s, RUN_FIGURE(row->track->rate_per_s)) \
	X(batch_last_s, RUN_FIGURE(figure(&row->track->batch, row->track->batch.last_s))) \
	X(batch_mean_s, RUN_FIGURE(figure(&row->track->batch, row->track->batch.mean_s))) \
	X(loss, RUN_FIGURE(row->run->loss)) \
	X(samples_per_s, RUN_FIGURE(row->track->samples_per_s)) \
	X(flagged, RUN_FIGURE(count_of(row->track->flagged_count))) \
	X(run_eta_s, RUN_FIGURE(row->run->run_eta_s)) \
	X(rss_bytes, row->model->memory.rss_bytes) \
	X(peak_rss_bytes, row->model->memory.peak_rss_bytes) \
	X(tree_rss_bytes, row->model->memory.tree_rss_bytes) \
	X(swap_bytes, row->model->memory.swap_bytes) \
	X(cpu_ratio, TARGET_FIGURE(row->target->cpu_ratio)) \
	X(run_queue_wait_ratio, TARGET_FIGURE(row->target->run_queue_wait_ratio)) \
	X(major_faults_per_s, TARGET_FIGURE(row->target->major_faults_per_s)) \
	X(read_bytes_per_s, TARGET_FIGURE(row->target->read_bytes_per_s)) \
	X(write_bytes_per_s, TARGET_FIGURE(row->target->write_bytes_per_s)) \
	X(lost_events, RUN_FIGURE(count_of(row->run->lost_events))) \
	X(gpu_utilisation_ratio, GPU_FIGURE(BUSY)) \
	X(gpu_sm_active_ratio, GPU_FIGURE(SM_ACTIVE)) \
	X(gpu_memory_used_bytes, GPU_FIGURE(MEMORY_USED)) \
	X(gpu_process_memory_bytes, run_gpu_memory(row->model, row->run)) \
	X(gpu_power_w, GPU_FIGURE(POWER)) \
	X(gpu_temperature_c, GPU_FIGURE(TEMPERATURE)) \
	X(gpu_clock_hz, GPU_FIGURE(CLOCK)) \
	X(cpu_power_w, ENERGY_FIGURE(cpu_watts)) \
	X(energy_j, \
		energy_is_metered(&row->model->energy) \
			? energy_total(row->model->energy.cpu_joules, row->model->energy.gpu_joules) \
			: NAN) \
	X(energy_per_batch_j, ENERGY_FIGURE(joules_per_batch))

static void add_number(struct buffer *out, double value)
{
	buffer_puts(out, ",");
	cell_number(out, value);
}

static void add_text(struct buffer *out, const char *text)
{
	buffer_puts(out, ",");
	cell_text(out, text);
}

static void add_row(struct buffer *out, const struct row *row, int64_t realtime_ns)
{
	int32_t pid = scope_pid(row->model, row->run);
	buffer_printf(out, "%" PRId64, realtime_ns);
	buffer_puts(out, ",");
	cell_time(out, realtime_ns, 3);
	add_number(out, pid ? (double)pid : NAN);
	add_text(out, row->run ? row->run->name : "");
	add_text(out, row->run ? scope_mode_name(row->run, row->run->state.mode) : "");
#define ADD_COLUMN(name, value) add_number(out, value);
	COLUMNS(ADD_COLUMN)
#undef ADD_COLUMN
	buffer_puts(out, "\n");
}

void export_csv(struct buffer *out, const struct model *model, int run_index, int64_t realtime_ns, int with_header)
{
	const struct run *run = scope_run(model, run_index);
	struct row row = { .model = model, .run = run, .track = run ? run_main(run) : NULL, .target = model_target(model) };
	row.newest = run ? scope_newest(row.track) : NULL;
	if (with_header) {
#define ADD_NAME(name, value) "," #name
		buffer_puts(out, "time_ns,time,pid,run,mode" COLUMNS(ADD_NAME) "\n");
#undef ADD_NAME
	}
	add_row(out, &row, realtime_ns);
}
