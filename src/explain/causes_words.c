#include "src/explain/causes.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

/* -- names -- */

const char *cause_kind_name(enum cause_kind kind)
{
#define CAUSE_NAME(id, words) [CAUSE_##id] = words,
	static const char *const names[CAUSE_COUNT] = { CAUSES(CAUSE_NAME) };
#undef CAUSE_NAME
	return names[kind];
}

/* With the one who does it, and in few words; `with` NULL: its name follows in brackets. */
static const struct {
	const char *id, *with, *brief;
} kinds[CAUSE_COUNT] = {
	[CAUSE_PHASE] = { "phase", NULL, "" },
	[CAUSE_DISK_READ] = { "disk_read", NULL, "reads disk" },
	[CAUSE_DISK_WRITE] = { "disk_write", NULL, "writes disk" },
	[CAUSE_CPU_WAIT] = { "cpu_wait", NULL, "CPU wait" },
	[CAUSE_PREEMPTED] = { "preempted", NULL, "descheduled" },
	[CAUSE_MORE_WORK] = { "more_work", NULL, "CPU work" },
	[CAUSE_SLEPT] = { "slept", NULL, "waiting" },
	[CAUSE_SWAPPED] = { "swapped", NULL, "swapping" },
	[CAUSE_ALLOCATION] = { "allocation", NULL, "allocation" },
	[CAUSE_WORKER_GONE] = { "worker_gone", "%s is gone", "worker gone" },
	[CAUSE_WORKER_DISK] = { "worker_disk", "%s waits for the disk", "worker on disk" },
	[CAUSE_WORKER_STOPPED] = { "worker_stopped", "%s is stopped", "worker stopped" },
	[CAUSE_WORKER_SLOW] = { "worker_slow", "%s's fetch took long", "slow fetch" },
	[CAUSE_WORKER_STARVED] = { "worker_starved", NULL, "workers starve" },
	[CAUSE_CHECKPOINT] = { "checkpoint", NULL, "checkpoint" },
	[CAUSE_GC] = { "gc", NULL, "gc" },
	[CAUSE_COMPILER] = { "compiler", "a compiler runs (%s)", "compiler" },
	[CAUSE_CHILD] = { "child", "%s, of this run, takes the CPU", "child's CPU" },
	[CAUSE_CHILD_AWAITED] = { "child_awaited", "waiting for %s, which it started", "child" },
	[CAUSE_THROTTLED] = { "throttled", NULL, "CPU quota" },
	[CAUSE_STOPPED] = { "stopped", NULL, "stopped" },
	[CAUSE_SUSPENDED] = { "suspended", NULL, "suspended" },
	[CAUSE_CLOCK] = { "clock", NULL, "clock set" },
	[CAUSE_GPU_HEAT] = { "gpu_heat", "%s", "GPU heat" },
	[CAUSE_GPU_POWER] = { "gpu_power", "%s", "GPU power" },
	[CAUSE_GPU_CLOCK] = { "gpu_clock", "%s", "GPU clock" },
	[CAUSE_GPU_SHARED] = { "gpu_shared", "another program came on the GPU (%s)", "GPU shared" },
	[CAUSE_GPU_WAIT] = { "gpu_wait", NULL, "waits for GPU" },
	[CAUSE_GPU_WORK] = { "gpu_work", NULL, "GPU works longer" },
	[CAUSE_CPU_HEAT] = { "cpu_heat", "%s", "CPU heat" },
	[CAUSE_RANK] = { "rank", NULL, "slower rank" },
	[CAUSE_BIGGER] = { "bigger", NULL, "bigger batch" },
	[CAUSE_UNKNOWN] = { "unknown", NULL, "unknown" },
};

const char *cause_kind_id(enum cause_kind kind) { return kinds[kind].id; }

bool cause_is_about_clock(enum cause_kind kind)
{
	return kind == CAUSE_GPU_HEAT || kind == CAUSE_GPU_POWER || kind == CAUSE_GPU_CLOCK || kind == CAUSE_CPU_HEAT;
}

const char *cause_brief(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE])
{
	const char *brief = kinds[cause->kind].brief, *phase = run_name(run, cause->phase);
	if (cause->kind == CAUSE_PHASE || cause->kind == CAUSE_UNKNOWN || strcmp(cause->what, phase) == 0)
		snprintf(out, CAUSE_BRIEF_SIZE, "%s", cause->what);
	else
		snprintf(out, CAUSE_BRIEF_SIZE, "%.40s: %s", phase, brief);
	return out;
}

void call_worker(const struct window_event *event, char who[WINDOW_TEXT_SIZE])
{
	if (event->worker != UINT32_MAX)
		snprintf(who, WINDOW_TEXT_SIZE, "worker %u", (unsigned)event->worker);
	else if (event->pid)
		snprintf(who, WINDOW_TEXT_SIZE, "worker process %d", (int)event->pid);
}

/* -- what -- */

/* Where the larger part of a phase's excess lies below it; NULL: in no one place. */
static const struct explain_row *main_part(const struct explanation *out, const struct explain_row *row)
{
	for (const struct explain_row *child = row + 1; child < out->rows + out->row_count && child->depth > row->depth;
		 child++)
		if (child->depth == row->depth + 1 && child->excess_s > row->excess_s / 2)
			return child;
	return NULL;
}

/* "data › decode", "forward, backward". Where the span's name is the cause, it is left out. */
static void write_path(
	const struct case_file *file, const struct places *places, bool is_named, char *path, size_t size)
{
	const struct explain_row *row = places->rows[0];
	int used = snprintf(path, size, "%s", run_name(file->run, row->name));
	while (places->count == 1 && !is_named && (row = main_part(file->out, row)) && used > 0 && (size_t)used < size)
		used += snprintf(path + used, size - (size_t)used, " › %s", run_name(file->run, row->name));
	for (size_t i = 1; i < places->count && used > 0 && (size_t)used < size; i++)
		used += snprintf(path + used, size - (size_t)used, ", %s%s", run_name(file->run, places->rows[i]->name),
			places->are_more && i + 1 == places->count ? " …" : "");
}

static void write_words(const struct claim *claim, char *words, size_t size)
{
	const char *with = kinds[claim->kind].with;
	int cut = (int)(strstr(with ? with : "", "%s") ? strstr(with, "%s") - with : 0);
	if (with && claim->who[0])
		snprintf(words, size, "%.*s%s%s", cut, with, claim->who, with + cut + 2);
	else
		snprintf(words, size, "%s", cause_kind_name(claim->kind));
}

/* -- what to try -- */

enum { WORKERS_TRIED = 4, WORKERS_MANY = 16 };

static const struct advice {
	enum cause_kind kind;
	enum phase_kind phase;
	const char *text;
} advice_table[] = {
	/* PHASE_OTHER: any; special ones first */
	{ CAUSE_DISK_READ, PHASE_DATA, "the data set is not in the page cache. Try a faster disk, caching decoded items" },
	{ CAUSE_DISK_READ, PHASE_OTHER,
		"something is read here for the first time (a file, code): read it before training" },
	{ CAUSE_DISK_WRITE, PHASE_OTHER, "write less often, on a faster disk, or from a thread of its own" },
	{ CAUSE_CPU_WAIT, PHASE_OTHER,
		"more runs than there are CPUs: fewer threads and workers, or CPUs of its own (taskset)" },
	{ CAUSE_PREEMPTED, PHASE_OTHER,
		"the CPU was taken away: by other guests of this machine, or by what has a higher priority" },
	{ CAUSE_MORE_WORK, PHASE_DATA, "see what these samples cost to prepare; prepare the expensive part beforehand" },
	{ CAUSE_MORE_WORK, PHASE_OTHER,
		"compare its input with that of others (shapes, lengths); spans inside it show which part" },
	{ CAUSE_SLEPT, PHASE_OTHER,
		"it waited for a lock, the network, a device or a timer: see where with pmtop stack PID, or gdb" },
	{ CAUSE_SWAPPED, PHASE_OTHER,
		"memory is short: a smaller batch, fewer workers, less prefetching; 4 shows what uses it" },
	{ CAUSE_ALLOCATION, PHASE_OTHER,
		"memory comes anew from the kernel: reuse buffers, or an allocator that keeps it (jemalloc)" },
	{ CAUSE_WORKER_GONE, PHASE_OTHER,
		"see the run's log and dmesg: the kernel kills for memory; a smaller prefetch_factor needs less" },
	{ CAUSE_WORKER_DISK, PHASE_OTHER,
		"the data set is not in the page cache. Try a faster disk, caching decoded items" },
	{ CAUSE_WORKER_STOPPED, PHASE_OTHER, "someone stopped it (SIGSTOP, a debugger): kill -CONT lets it go on" },
	{ CAUSE_WORKER_SLOW, PHASE_OTHER, "see what those samples cost to load" },
	{ CAUSE_WORKER_STARVED, PHASE_OTHER, "more runs than there are CPUs: fewer workers, one thread in each" },
	{ CAUSE_CHECKPOINT, PHASE_OTHER, "save less often, or copy the state and write it from another thread" },
	{ CAUSE_GC, PHASE_OTHER,
		"gc.freeze() after the warm-up, and gc.collect() between the epochs, keep it out of the steps" },
	{ CAUSE_COMPILER, PHASE_OTHER,
		"new shapes are compiled anew: pad to a few, or mark them dynamic; keep the compiler's cache" },
	{ CAUSE_CHILD, PHASE_OTHER, "start it before training, or give it other CPUs (taskset, nice)" },
	{ CAUSE_CHILD_AWAITED, PHASE_OTHER, "start it without waiting for it, or between the epochs" },
	{ CAUSE_THROTTLED, PHASE_OTHER, "raise the CPU quota of its cgroup (cpu.max), or run fewer threads and workers" },
	{ CAUSE_STOPPED, PHASE_OTHER, "someone stopped it (SIGSTOP, Ctrl-Z, a debugger)" },
	{ CAUSE_SUSPENDED, PHASE_OTHER, "keep the machine awake while it trains (systemd-inhibit)" },
	{ CAUSE_CLOCK, PHASE_OTHER, "what waits by the wall clock was held up: let the clock be slewed, not set" },
	{ CAUSE_GPU_HEAT, PHASE_OTHER,
		"see its fans, dust and the air about it; a lower power limit (nvidia-smi -pl) keeps it cooler" },
	{ CAUSE_GPU_POWER, PHASE_OTHER,
		"see its power limit (nvidia-smi -q -d POWER), its supply, and what shares it; mixed precision needs less" },
	{ CAUSE_GPU_CLOCK, PHASE_OTHER, "see what holds it: nvidia-smi -q -d PERFORMANCE" },
	{ CAUSE_GPU_SHARED, PHASE_OTHER, "see who it is in 5, and give the run a GPU of its own (CUDA_VISIBLE_DEVICES)" },
	{ CAUSE_GPU_WAIT, PHASE_OTHER,
		"all that was launched has to be done first: read losses seldom (.item(), print), and see 5 for what the GPU "
		"did" },
	{ CAUSE_GPU_WORK, PHASE_OTHER,
		"compare its input with that of others (shapes, lengths); torch.profiler shows the kernels" },
	{ CAUSE_CPU_HEAT, PHASE_OTHER,
		"see fans, dust and the air about the machine; fewer threads and workers heat it less" },
	{ CAUSE_RANK, PHASE_OTHER, "see the ranks beside each other in 1: which is the slowest, and in which phase" },
	{ CAUSE_BIGGER, PHASE_OTHER, "put samples of like size together (bucketing), or pad to one size" },
};

/* Kinds for which more workers are a way out, for they do it beside the training. */
static bool helps_with_workers(enum cause_kind kind)
{
	return kind == CAUSE_DISK_READ || kind == CAUSE_MORE_WORK || kind == CAUSE_SLEPT || kind == CAUSE_WORKER_DISK ||
		kind == CAUSE_WORKER_SLOW;
}

static void write_next(
	const struct case_file *file, const struct explain_row *row, enum cause_kind kind, char next[CAUSE_NEXT_SIZE])
{
	enum phase_kind phase = phase_kind(file->run, row->name);
	const char *text = "";
	long workers;
	for (size_t i = sizeof advice_table / sizeof *advice_table; i-- > 0;)
		if (advice_table[i].kind == kind && (advice_table[i].phase == phase || advice_table[i].phase == PHASE_OTHER))
			text = advice_table[i].text;
	bool is_about_workers =
		phase == PHASE_DATA && helps_with_workers(kind) && loader_count(file->run, "num_workers", &workers);
	if (is_about_workers && workers == 0)
		snprintf(
			next, CAUSE_NEXT_SIZE, "num_workers is 0: try %d; loading then runs beside the training", WORKERS_TRIED);
	else if (is_about_workers && workers < WORKERS_MANY)
		snprintf(next, CAUSE_NEXT_SIZE, "%s; num_workers is %ld: try %ld", text, workers, workers * 2);
	else
		snprintf(next, CAUSE_NEXT_SIZE, "%s", text);
}

void cause_say(
	const struct case_file *file, const struct claim *claim, const struct places *places, struct cause *cause)
{
	char path[512], words[160], whole[sizeof path + sizeof words];
	bool is_named = claim->kind == CAUSE_GC || claim->kind == CAUSE_CHECKPOINT || claim->kind == CAUSE_COMPILER;
	write_path(file, places, is_named, path, sizeof path);
	write_words(claim, words, sizeof words);
	bool is_itself = claim->kind == CAUSE_PHASE ||
		(is_named && claim->evidence_count && claim->evidence[0].this_value == claim->row->this_s);
	snprintf(whole, sizeof whole, is_itself ? "%s" : "%s: %s", path, words);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	write_next(file, claim->row, claim->kind, cause->next);
}
