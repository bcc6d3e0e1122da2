#include "src/sources/synthetic/synthetic_figures.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/synthetic/synthetic_gpu.h"
#include "src/sources/synthetic/synthetic_meters.h"
#include "src/sources/synthetic/synthetic_private.h"

enum { CPUS = 8, THE_DISK = 0, TICK_NS = 10000000 };

/* Start value and growth per second, for the machine, the disk and the cgroup; the trainer; a worker. */
struct figure {
	enum metric metric;
	enum synthetic_who who;
	double base, per_s;
};
#define FIGURE(metric, who, base, per_s) \
	{ \
		METRIC_##metric, who, base, per_s \
	}

static const struct figure figures[] = {
	FIGURE(PROCESS_THREADS, OF_TRAINER, 9, 0),
	FIGURE(PROCESS_SWAP, OF_TRAINER, 0, 0),
	FIGURE(PROCESS_DESCRIPTORS, OF_TRAINER, 48, 0),
	FIGURE(PROCESS_CPU_USER, OF_TRAINER, 0, 0.82e9),
	FIGURE(PROCESS_CPU_SYSTEM, OF_TRAINER, 0, 0.04e9),
	FIGURE(PROCESS_RUN_QUEUE_WAIT, OF_TRAINER, 0, 2e6),
	FIGURE(PROCESS_MINOR_FAULTS, OF_TRAINER, 4e5, 1200),
	FIGURE(PROCESS_MAJOR_FAULTS, OF_TRAINER, 310, 0),
	FIGURE(PROCESS_SWITCHES_WILLING, OF_TRAINER, 1e4, 120),
	FIGURE(PROCESS_SWITCHES_FORCED, OF_TRAINER, 900, 20),
	FIGURE(PROCESS_READ, OF_TRAINER, 3e8, 0),
	FIGURE(PROCESS_WRITTEN, OF_TRAINER, 1e6, 4e3),
	FIGURE(PROCESS_READ_CALLS, OF_TRAINER, 4e8, 2e5),
	FIGURE(PROCESS_DISK_WAIT, OF_TRAINER, 0, 0),
	FIGURE(PROCESS_THREADS, OF_ONE_WORKER, 1, 0),
	FIGURE(PROCESS_CPU_USER, OF_ONE_WORKER, 0, 0.4e9),
	FIGURE(PROCESS_CPU_SYSTEM, OF_ONE_WORKER, 0, 0.02e9),
	FIGURE(PROCESS_RUN_QUEUE_WAIT, OF_ONE_WORKER, 0, 2e6),
	FIGURE(PROCESS_MINOR_FAULTS, OF_ONE_WORKER, 4e4, 300),
	FIGURE(PROCESS_MAJOR_FAULTS, OF_ONE_WORKER, 0, 0),
	FIGURE(PROCESS_READ, OF_ONE_WORKER, 2e7, 1e5),
	FIGURE(PROCESS_WRITTEN, OF_ONE_WORKER, 0, 0),
	FIGURE(PROCESS_DISK_WAIT, OF_ONE_WORKER, 0, 1e6),
	FIGURE(SYSTEM_CPUS, OF_MACHINE, CPUS, 0),
	FIGURE(SYSTEM_CPU_BUSY, OF_MACHINE, 1e14, 2.7e9),
	FIGURE(SYSTEM_CPU_IO_WAIT, OF_MACHINE, 1e12, 0.02e9),
	FIGURE(SYSTEM_CPU_STOLEN, OF_MACHINE, 0, 0),
	FIGURE(SYSTEM_RUNNING, OF_MACHINE, 3, 0),
	FIGURE(SYSTEM_BLOCKED, OF_MACHINE, 0, 0),
	FIGURE(SYSTEM_LOAD, OF_MACHINE, 2.6, 0),
	FIGURE(SYSTEM_MEMORY, OF_MACHINE, 64e9, 0),
	FIGURE(SYSTEM_MEMORY_AVAILABLE, OF_MACHINE, 46e9, 0),
	FIGURE(SYSTEM_MEMORY_CACHED, OF_MACHINE, 14e9, 0),
	FIGURE(SYSTEM_MEMORY_DIRTY, OF_MACHINE, 6e6, 0),
	FIGURE(SYSTEM_SWAP, OF_MACHINE, 8e9, 0),
	FIGURE(SYSTEM_SWAP_FREE, OF_MACHINE, 8e9, 0),
	FIGURE(SYSTEM_SWAP_IN, OF_MACHINE, 4e6, 0),
	FIGURE(SYSTEM_SWAP_OUT, OF_MACHINE, 9e6, 0),
	FIGURE(SYSTEM_PRESSURE_CPU, OF_MACHINE, 1e10, 0.01e9),
	FIGURE(SYSTEM_PRESSURE_MEMORY, OF_MACHINE, 0, 0),
	FIGURE(SYSTEM_PRESSURE_IO, OF_MACHINE, 1e9, 2e6),
	FIGURE(SYSTEM_SHM, OF_MACHINE, 32e9, 0),
	FIGURE(SYSTEM_SHM_USED, OF_MACHINE, 2e8, 0),
	FIGURE(SYSTEM_SHM_OWN, OF_MACHINE, 1.5e8, 0),
	FIGURE(SYSTEM_SPACE, OF_MACHINE, 500e9, 0),
	FIGURE(SYSTEM_SPACE_FREE, OF_MACHINE, 310e9, 0),
	FIGURE(SYSTEM_CLOCK_OFFSET, OF_MACHINE, 1.7e18, 0),
	FIGURE(SYSTEM_SUSPENDED, OF_MACHINE, 0, 0),
	FIGURE(DISK_READ, OF_DISK, 4e9, 4e5),
	FIGURE(DISK_WRITTEN, OF_DISK, 2e9, 1e5),
	FIGURE(DISK_READS, OF_DISK, 9e5, 6),
	FIGURE(DISK_WRITES, OF_DISK, 4e5, 8),
	FIGURE(DISK_READ_TIME, OF_DISK, 1e12, 1.2e6),
	FIGURE(DISK_WRITE_TIME, OF_DISK, 2e12, 4e6),
	FIGURE(DISK_BUSY, OF_DISK, 1e12, 6e6),
	FIGURE(CGROUP_MEMBERS_OUTSIDE, OF_MACHINE, 0, 0),
	FIGURE(CGROUP_OOM_KILLS, OF_MACHINE, 0, 0),
	FIGURE(CGROUP_CPU, OF_MACHINE, 1e12, 2.5e9),
	FIGURE(CGROUP_THROTTLED, OF_MACHINE, 0, 0),
	FIGURE(CGROUP_THROTTLED_PERIODS, OF_MACHINE, 0, 0),
	FIGURE(CGROUP_PERIODS, OF_MACHINE, 1e5, 10),
	FIGURE(SELF_CPU, OF_MACHINE, 0, 2e6),
	FIGURE(SELF_RESIDENT, OF_MACHINE, 6e6, 0),
};

bool synthetic_is_slow(const struct synthetic *synthetic, int64_t now_ns)
{
	return synthetic->has_slow && now_ns >= synthetic->slow_begin_ns && now_ns < synthetic->slow_end_ns;
}

double synthetic_slow_s(const struct synthetic *synthetic, int64_t now_ns)
{
	if (!synthetic->has_slow || now_ns <= synthetic->slow_begin_ns)
		return synthetic->slow_s_before;
	int64_t until_ns = now_ns < synthetic->slow_end_ns ? now_ns : synthetic->slow_end_ns;
	return synthetic->slow_s_before + seconds_between(synthetic->slow_begin_ns, until_ns);
}

/* The worker of the slow batch changes, and the whole growth is attributed to the newest one: readers take
 * differences. */
static double effect_of(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, int64_t now_ns)
{
	double sum = 0;
	for (size_t i = 0; i < EFFECTS_MAX; i++) {
		const struct synthetic_effect *effect = &synthetic->scenario->effects[i];
		if (effect->per_s > 0 && effect->metric == metric && effect->who == who)
			sum += effect->per_s * synthetic_slow_s(synthetic, now_ns);
	}
	return sum;
}

static double level_of(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, double otherwise)
{
	for (size_t i = 0; i < LEVELS_MAX; i++) {
		const struct synthetic_level *level = &synthetic->scenario->levels[i];
		if (level->value > 0 && level->metric == metric && level->who == who)
			return level->value;
	}
	return otherwise;
}

double synthetic_retained_bytes(const struct synthetic *synthetic)
{
	const struct scenario *scenario = synthetic->scenario;
	uint64_t batches = scenario->sawtooth ? synthetic->batch % scenario->sawtooth : synthetic->batch;
	return scenario->leak_bytes * (double)batches;
}

/* -- memory -- */

static double retained_by(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who)
{
	const struct scenario *scenario = synthetic->scenario;
	bool is_spike = scenario->spike_every && synthetic->batch % scenario->spike_every < 8 &&
		metric == METRIC_PROCESS_ANONYMOUS && who == OF_TRAINER && synthetic->batch >= 8;
	return (scenario->leaks == metric && scenario->leaker == who ? synthetic_retained_bytes(synthetic) : 0) +
		(is_spike ? scenario->spike_bytes : 0);
}

static void emit_memory(const struct synthetic *synthetic, int64_t now_ns, int32_t pid, enum synthetic_who who,
	bool is_leaker, struct sample_set *out)
{
	double base = who == OF_TRAINER ? level_of(synthetic, METRIC_PROCESS_RESIDENT, OF_TRAINER, 2.6e9) : 2.1e8;
	double anonymous = 0.88 * base + (is_leaker ? retained_by(synthetic, METRIC_PROCESS_ANONYMOUS, who) : 0);
	double file = 0.1 * base + (is_leaker ? retained_by(synthetic, METRIC_PROCESS_FILE, who) : 0),
		   shared = 0.02 * base + (is_leaker ? retained_by(synthetic, METRIC_PROCESS_SHARED, who) : 0);
	sample_set_figure(out, now_ns, METRIC_PROCESS_RESIDENT, pid, anonymous + file + shared);
	sample_set_figure(out, now_ns, METRIC_PROCESS_RESIDENT_PEAK, pid, anonymous + file + shared + 2e6);
	sample_set_figure(out, now_ns, METRIC_PROCESS_ANONYMOUS, pid, anonymous);
	sample_set_figure(out, now_ns, METRIC_PROCESS_FILE, pid, file);
	sample_set_figure(out, now_ns, METRIC_PROCESS_SHARED, pid, shared);
}

/* The last worker is the one that is killed. */
bool synthetic_worker_is_gone(const struct synthetic *synthetic, unsigned worker)
{
	return synthetic->scenario->worker_gone_at && synthetic->batch > synthetic->scenario->worker_gone_at &&
		worker == SYNTHETIC_WORKERS - 1;
}

/* -- processes -- */

static void emit_new_process(struct sample_set *out, int64_t now_ns, int32_t pid, const char *command)
{
	struct record *record = sample_set_add(out, RECORD_PROCESS_SEEN, 0, now_ns);
	if (!record)
		return;
	record->process.pid = pid;
	record->process.parent = pid == SYNTHETIC_PID ? 1 : SYNTHETIC_PID;
	record->process.start_ticks = (uint64_t)pid;
	record->process.command = sample_set_text(out, command, strlen(command));
	record->process.is_target = pid == SYNTHETIC_PID;
}

int32_t synthetic_worker_pid(unsigned worker) { return SYNTHETIC_PID + 1 + (int32_t)worker; }

static int32_t pid_of_child(const struct synthetic *synthetic)
{
	return SYNTHETIC_PID + 1 + SYNTHETIC_WORKERS + (int32_t)(synthetic->planted_count % 1000000);
}

static void emit_state(const struct synthetic *synthetic, int64_t now_ns, int32_t pid, char baseline, char while_slow,
	struct sample_set *out)
{
	char state = while_slow && synthetic_is_slow(synthetic, now_ns) ? while_slow : baseline;
	sample_set_figure(out, now_ns, METRIC_PROCESS_STATE, pid, state);
	struct record *wait = sample_set_add(out, RECORD_PROCESS_WAIT, 0, now_ns);
	if (!wait)
		return;
	wait->wait.pid = pid;
	wait->wait.text = state == 'D' ? "io_schedule" : state == 'T' ? "do_signal_stop" : state == 'S' ? "pipe_read" : "";
}

static void emit_child(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	int32_t pid = pid_of_child(synthetic);
	bool is_here = synthetic->scenario->child && synthetic_is_slow(synthetic, now_ns);
	if (!is_here && synthetic->child_is_here)
		sample_set_add(out, RECORD_PROCESS_GONE, 0, now_ns)->process.pid = pid;
	if (is_here && !synthetic->child_is_here)
		emit_new_process(out, now_ns, pid, synthetic->scenario->child);
	synthetic->child_is_here = is_here;
	if (!is_here)
		return;
	double seconds = seconds_between(synthetic->slow_begin_ns, now_ns);
	sample_set_figure(out, now_ns, METRIC_PROCESS_CPU_USER, pid, floor(0.97 * seconds * 1e9 / TICK_NS) * TICK_NS);
	sample_set_figure(out, now_ns, METRIC_PROCESS_CPU_SYSTEM, pid, 0);
	sample_set_figure(out, now_ns, METRIC_PROCESS_RESIDENT, pid, 6e7);
	sample_set_figure(out, now_ns, METRIC_PROCESS_STATE, pid, 'R');
}

static void emit_processes(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	if (!synthetic->is_introduced) {
		emit_new_process(out, now_ns, SYNTHETIC_PID, "synthetic (no process runs)");
		for (unsigned worker = 0; worker < SYNTHETIC_WORKERS; worker++)
			emit_new_process(out, now_ns, synthetic_worker_pid(worker), "synthetic worker");
	}
	if (!synthetic->worker_is_gone && synthetic_worker_is_gone(synthetic, SYNTHETIC_WORKERS - 1)) {
		struct record *gone = sample_set_add(out, RECORD_WORKER_GONE, SYNTHETIC_WORKERS - 1, now_ns);
		if (gone)
			gone->text = "killed or crashed";
		struct record *process = sample_set_add(out, RECORD_PROCESS_GONE, 0, now_ns);
		if (process)
			process->process.pid = synthetic_worker_pid(SYNTHETIC_WORKERS - 1);
		synthetic->worker_is_gone = true;
	}
	emit_memory(synthetic, now_ns, SYNTHETIC_PID, OF_TRAINER, synthetic->scenario->leaker == OF_TRAINER, out);
	emit_state(synthetic, now_ns, SYNTHETIC_PID, 'R', synthetic->scenario->trainer_state, out);
	for (unsigned worker = 0; worker < SYNTHETIC_WORKERS; worker++) {
		bool is_it = worker == synthetic->slow_worker;
		if (synthetic_worker_is_gone(synthetic, worker))
			continue;
		emit_memory(synthetic, now_ns, synthetic_worker_pid(worker), OF_ONE_WORKER,
			synthetic->scenario->leaker == OF_ONE_WORKER && worker == 2, out);
		emit_state(synthetic, now_ns, synthetic_worker_pid(worker),
			synthetic->scenario->worker_default_state ? synthetic->scenario->worker_default_state : 'S',
			is_it ? synthetic->scenario->worker_state : 0, out);
	}
	emit_child(synthetic, now_ns, out);
}

static void emit_workers(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	for (unsigned worker = 0; worker < SYNTHETIC_WORKERS; worker++) {
		const struct synthetic_fetches *fetches = &synthetic->fetches[worker];
		if (synthetic_worker_is_gone(synthetic, worker))
			continue;
		struct worker_row *row = sample_set_allocate(out, sizeof *row);
		uint32_t *histogram = sample_set_allocate(out, sizeof fetches->histogram);
		struct record *record = sample_set_add(out, RECORD_WORKER, worker, now_ns);
		bool runs = fetches->count && now_ns < fetches->end_ns && now_ns >= fetches->begin_ns;
		uint64_t done = fetches->count - (fetches->count && now_ns < fetches->end_ns);
		if (!row || !histogram || !record)
			return;
		memcpy(histogram, fetches->histogram, sizeof fetches->histogram);
		double running_s = done < fetches->count ? seconds_between(fetches->begin_ns, fetches->end_ns) : 0;
		if (running_s > 0)
			histogram[histogram_bucket((uint64_t)llround(running_s * 1e9))]--;
		*row = (struct worker_row){
			.pid = synthetic_worker_pid(worker),
			.id = worker,
			.count = SYNTHETIC_WORKERS,
			.start_ns = synthetic->start_ns,
			.fetch_begin_ns = runs ? fetches->begin_ns : 0,
			.fetches = done,
			.items = (double)(done * SYNTHETIC_SAMPLES),
			.total_s = done ? fetches->total_s - running_s : NAN,
			.min_s = done ? fetches->min_s : NAN,
			.max_s = done ? fetches->max_s : NAN,
			.histogram = histogram,
		};
		record->worker = row;
	}
}

/* -- all -- */

static double value_of(const struct synthetic *synthetic, const struct figure *figure, int64_t now_ns)
{
	bool is_counter = metric_table[figure->metric].kind == KIND_COUNTER;
	double per_s = is_counter ? level_of(synthetic, figure->metric, figure->who, figure->per_s) : figure->per_s;
	double value = (is_counter ? figure->base : level_of(synthetic, figure->metric, figure->who, figure->base)) +
		per_s * seconds_between(synthetic->start_ns, now_ns);
	bool has_stepped = synthetic->stepped_ns && now_ns >= synthetic->stepped_ns;
	value += effect_of(synthetic, figure->metric, figure->who, now_ns);
	if (has_stepped && figure->metric == METRIC_SYSTEM_CLOCK_OFFSET)
		value += (synthetic->scenario->clock_s + synthetic->scenario->suspend_s) * 1e9;
	if (has_stepped && figure->metric == METRIC_SYSTEM_SUSPENDED)
		value += synthetic->scenario->suspend_s * 1e9;
	if ((figure->metric == METRIC_SYSTEM_SHM_USED || figure->metric == METRIC_SYSTEM_SHM_OWN) &&
		synthetic->scenario->leaks == METRIC_PROCESS_SHARED)
		value += synthetic_retained_bytes(synthetic);
	return value;
}

double synthetic_grown(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, int64_t now_ns)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		if (figures[i].metric == metric && figures[i].who == who)
			return value_of(synthetic, &figures[i], now_ns) - figures[i].base;
	return NAN;
}

static void emit_figure(
	const struct synthetic *synthetic, const struct figure *figure, int64_t now_ns, struct sample_set *out)
{
	double value = value_of(synthetic, figure, now_ns);
	if (figure->who != OF_ONE_WORKER) {
		sample_set_figure(out, now_ns, figure->metric,
			figure->who == OF_TRAINER    ? SYNTHETIC_PID
				: figure->who == OF_DISK ? THE_DISK
										 : 0,
			value);
		return;
	}
	for (unsigned worker = 0; worker < SYNTHETIC_WORKERS && !synthetic_worker_is_gone(synthetic, worker); worker++)
		sample_set_figure(out, now_ns, figure->metric, synthetic_worker_pid(worker),
			worker == synthetic->slow_worker ? value
											 : value - effect_of(synthetic, figure->metric, figure->who, now_ns));
}

/* The CPUs' remaining time after the other states. */
static double idle_ns(const struct synthetic *synthetic, int64_t now_ns)
{
	double all_ns = CPUS * seconds_between(synthetic->start_ns, now_ns) * 1e9;
	all_ns -= synthetic_grown(synthetic, METRIC_SYSTEM_CPU_BUSY, OF_MACHINE, now_ns) +
		synthetic_grown(synthetic, METRIC_SYSTEM_CPU_IO_WAIT, OF_MACHINE, now_ns);
	return 1e14 + fmax(all_ns, 0);
}

void synthetic_emit_figures(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	static const enum metric limits[] = {
		METRIC_CGROUP_CPU_LIMIT,
		METRIC_CGROUP_MEMORY,
		METRIC_CGROUP_MEMORY_LIMIT,
		METRIC_CGROUP_MEMORY_ANONYMOUS,
		METRIC_CGROUP_MEMORY_FILE,
		METRIC_CGROUP_MEMORY_SHARED,
	};
	if (!synthetic->is_introduced) {
		struct record *disk = sample_set_add(out, RECORD_INSTANCE, 0, now_ns);
		if (disk) {
			disk->instance.metric = METRIC_DISK_READ;
			disk->instance.instance = THE_DISK;
			disk->instance.name = "nvme0n1";
		}
	}
	emit_processes(synthetic, now_ns, out);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		emit_figure(synthetic, &figures[i], now_ns, out);
	sample_set_figure(out, now_ns, METRIC_SYSTEM_CPU_IDLE, 0, idle_ns(synthetic, now_ns));
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		double limit = level_of(synthetic, limits[i], OF_MACHINE, 0);
		if (limit > 0)
			sample_set_figure(out, now_ns, limits[i], 0, limit);
	}
	emit_workers(synthetic, now_ns, out);
	synthetic_emit_gpus(synthetic, now_ns, out);
	synthetic_emit_meters(synthetic, now_ns, out);
	struct record *counter = sample_set_add(out, RECORD_COUNTER, SYNTHETIC_RUN, now_ns);
	if (counter) {
		counter->counter.name = 8;
		counter->counter.total = (double)(synthetic->batch * SYNTHETIC_SAMPLES);
	}
}
