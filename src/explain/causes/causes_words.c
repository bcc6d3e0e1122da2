#include "src/explain/causes/causes_words.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes.h"

/* -- names -- */

const char *cause_kind_name(enum cause_kind kind)
{
#define CAUSE_NAME(id, words) [CAUSE_##id] = words,
	static const char *const names[CAUSE_COUNT] = { CAUSES(CAUSE_NAME) };
#undef CAUSE_NAME
	return names[kind];
}

/* id: for programs; with: the words if claim->who is known (NULL: cause_kind_name()); brief: for a column. */
static const struct {
	const char *id, *with, *brief;
} kinds[CAUSE_COUNT] = {
	[CAUSE_PHASE] = { "phase", NULL, "" },
	[CAUSE_DISK_READ] = { "disk_read", NULL, "disk read" },
	[CAUSE_DISK_WRITE] = { "disk_write", NULL, "disk write" },
	[CAUSE_CPU_WAIT] = { "cpu_wait", NULL, "CPU wait" },
	[CAUSE_PREEMPTED] = { "preempted", NULL, "descheduled" },
	[CAUSE_MORE_WORK] = { "more_work", NULL, "CPU work" },
	[CAUSE_SLEPT] = { "slept", NULL, "blocked" },
	[CAUSE_SWAPPED] = { "swapped", NULL, "swapping" },
	[CAUSE_ALLOCATION] = { "allocation", NULL, "allocation" },
	[CAUSE_WORKER_GONE] = { "worker_gone", "%s died", "worker died" },
	[CAUSE_WORKER_DISK] = { "worker_disk", "%s waits for the disk", "worker disk wait" },
	[CAUSE_WORKER_STOPPED] = { "worker_stopped", "%s is stopped", "worker stopped" },
	[CAUSE_WORKER_SLOW] = { "worker_slow", "slow fetch by %s", "slow fetch" },
	[CAUSE_WORKER_STARVED] = { "worker_starved", NULL, "workers lack CPU" },
	[CAUSE_CHECKPOINT] = { "checkpoint", NULL, "checkpoint" },
	[CAUSE_GC] = { "gc", NULL, "gc" },
	[CAUSE_COMPILER] = { "compiler", "compiler running (%s)", "compiler" },
	[CAUSE_CHILD] = { "child", "child process %s uses the CPU", "child's CPU" },
	[CAUSE_CHILD_AWAITED] = { "child_awaited", "waiting for child process %s", "child" },
	[CAUSE_THROTTLED] = { "throttled", NULL, "CPU quota" },
	[CAUSE_STOPPED] = { "stopped", NULL, "stopped" },
	[CAUSE_SUSPENDED] = { "suspended", NULL, "suspended" },
	[CAUSE_CLOCK] = { "clock", NULL, "clock set" },
	[CAUSE_GPU_HEAT] = { "gpu_heat", "%s", "GPU heat" },
	[CAUSE_GPU_POWER] = { "gpu_power", "%s", "GPU power" },
	[CAUSE_GPU_CLOCK] = { "gpu_clock", "%s", "GPU clock" },
	[CAUSE_GPU_SHARED] = { "gpu_shared", "another program started on the GPU (%s)", "GPU shared" },
	[CAUSE_GPU_WAIT] = { "gpu_wait", NULL, "GPU wait" },
	[CAUSE_GPU_WORK] = { "gpu_work", NULL, "more GPU work" },
	[CAUSE_CPU_HEAT] = { "cpu_heat", "%s", "CPU heat" },
	[CAUSE_RANK] = { "rank", "waited for %s", "slower rank" },
	[CAUSE_BIGGER] = { "bigger", "a larger batch: %s", "larger batch" },
	[CAUSE_LINE] = { "line", NULL, "" },
	[CAUSE_GIL] = { "gil", NULL, "GIL" },
	[CAUSE_UNKNOWN] = { "unknown", NULL, "unknown" },
};

const char *cause_kind_id(enum cause_kind kind) { return kinds[kind].id; }

bool cause_has_figures(const struct cause *cause)
{
	return cause->kind == CAUSE_GPU_HEAT || cause->kind == CAUSE_GPU_POWER || cause->kind == CAUSE_GPU_CLOCK ||
		cause->kind == CAUSE_CPU_HEAT || cause->kind == CAUSE_BIGGER ||
		(cause->kind == CAUSE_PHASE && name_is_sampled(cause->phase));
}

/* "blocked, train.py:81" */
static void brief_line(const struct cause *cause, const char *brief, char out[CAUSE_BRIEF_SIZE])
{
	const char *slash = strrchr(cause->file, '/');
	snprintf(out, CAUSE_BRIEF_SIZE, "%s%s%.40s:%u", brief, *brief ? ", " : "", slash ? slash + 1 : cause->file,
		(unsigned)cause->line);
}

const char *cause_brief(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE])
{
	const char *brief = kinds[cause->kind].brief, *phase = run_name(run, cause->phase);
	bool is_sampled = cause->kind == CAUSE_PHASE && name_is_sampled(cause->phase);
	char waited[sizeof cause->rank + 12];
	snprintf(waited, sizeof waited, "waited for %s", cause->rank);
	brief = cause->rank[0] ? waited : brief;
	if (cause->file)
		brief_line(cause, is_sampled ? phase : brief, out);
	else if (is_sampled)
		snprintf(out, CAUSE_BRIEF_SIZE, "%s", phase);
	else if (cause->kind == CAUSE_UNKNOWN)
		snprintf(out, CAUSE_BRIEF_SIZE, "%s", brief);
	else if (cause->kind == CAUSE_PHASE || strcmp(cause->what, phase) == 0)
		snprintf(out, CAUSE_BRIEF_SIZE, "%.*s", CAUSE_BRIEF_SIZE - 1, cause->what);
	else
		snprintf(out, CAUSE_BRIEF_SIZE, "%.40s: %s", phase, brief);
	return out;
}

bool cause_is_at_same_line(const struct cause *a, const struct cause *b)
{
	return a->line == b->line && (a->file && b->file ? strcmp(a->file, b->file) == 0 : a->file == b->file);
}

/* "`self.batch = a_call_wi…`, train.py:81". NULL: there is no room for the text. */
static const char *shorten_line(const struct cause *cause, size_t cells, char out[CAUSE_BRIEF_SIZE])
{
	enum { MARKS = 5, TEXT_MIN = 12 }; /* MARKS: "`…`, " */
	char where[CAUSE_BRIEF_SIZE], whole[2 * CAUSE_BRIEF_SIZE];
	brief_line(cause, "", where);
	size_t taken = text_cells(where) + MARKS;
	if (cause->kind != CAUSE_LINE || cause->what[0] != '`' || taken + TEXT_MIN > cells)
		return NULL;
	snprintf(
		whole, sizeof whole, "`%.*s…`, %s", (int)text_prefix(cause->what + 1, cells - taken), cause->what + 1, where);
	text_clean(out, CAUSE_BRIEF_SIZE, whole, strlen(whole));
	return out;
}

const char *cause_short(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE])
{
	enum { FITS = 44 }; /* in the line of the message */
	bool is_long = cause->file && text_cells(cause->what) > FITS;
	if (is_long && shorten_line(cause, FITS, out))
		return out;
	return cause_has_figures(cause) || is_long ? cause_brief(run, cause, out) : cause->what;
}

void call_worker(const struct window_event *event, char who[WINDOW_TEXT_SIZE])
{
	if (event->worker != UINT32_MAX)
		snprintf(who, WINDOW_TEXT_SIZE, "worker %u", (unsigned)event->worker);
	else if (event->pid)
		snprintf(who, WINDOW_TEXT_SIZE, "worker process %d", (int)event->pid);
}

/* -- what -- */

/* The child row with more than half of a phase's excess; NULL = none. */
static const struct explain_row *main_part(const struct explanation *out, const struct explain_row *row)
{
	for (const struct explain_row *child = row + 1; child < out->rows + out->row_count && child->depth > row->depth;
		 child++)
		if (child->depth == row->depth + 1 && child->excess_s > row->excess_s / 2)
			return child;
	return NULL;
}

/* "data › decode", "forward, backward"; without the inner span if its name is the cause. */
static void write_path(
	const struct case_file *file, const struct cause_phases *phases, bool is_named, char *path, size_t size)
{
	const struct explain_row *row = phases->rows[0];
	int used = snprintf(path, size, "%s", run_name(file->run, row->name));
	while (phases->count == 1 && !is_named && (row = main_part(file->out, row)) && used > 0 && (size_t)used < size)
		used += snprintf(path + used, size - (size_t)used, " › %s", run_name(file->run, row->name));
	for (size_t i = 1; i < phases->count && used > 0 && (size_t)used < size; i++)
		used += snprintf(path + used, size - (size_t)used, ", %s%s", run_name(file->run, phases->rows[i]->name),
			phases->are_more && i + 1 == phases->count ? " …" : "");
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

/* -- advice -- */

enum { WORKERS_TRIED = 4, WORKERS_MANY = 16 };

static const struct advice {
	enum cause_kind kind;
	enum phase_kind phase;
	const char *text;
} advice_table[] = {
	/* PHASE_OTHER: any phase; specific rows first */
	{ CAUSE_DISK_READ, PHASE_DATA, "data set is not in the page cache: use a faster disk, or cache decoded items" },
	{ CAUSE_DISK_READ, PHASE_OTHER, "first read of a file or of code in this phase: read it before training" },
	{ CAUSE_DISK_WRITE, PHASE_OTHER, "write less often, to a faster disk, or from a separate thread" },
	{ CAUSE_CPU_WAIT, PHASE_OTHER,
		"CPUs are oversubscribed: reduce threads and workers, or give the run its own CPUs (taskset)" },
	{ CAUSE_PREEMPTED, PHASE_OTHER,
		"check other guests of this machine (steal time), and processes with a higher priority" },
	{ CAUSE_MORE_WORK, PHASE_DATA, "profile these samples, and preprocess the expensive part offline" },
	{ CAUSE_MORE_WORK, PHASE_OTHER,
		"compare its input shapes with other batches; add spans inside it to find the slow part" },
	{ CAUSE_SLEPT, PHASE_OTHER, "find where it waits: pmtop stack PID, or gdb -p PID" },
	{ CAUSE_SWAPPED, PHASE_OTHER, "free memory: smaller batch_size, fewer workers, less prefetching (memory view: 4)" },
	{ CAUSE_ALLOCATION, PHASE_FORWARD,
		"compare its input shapes with other batches: more or longer inputs allocate more; else reuse buffers" },
	{ CAUSE_ALLOCATION, PHASE_BACKWARD,
		"compare its input shapes with other batches: more or longer inputs allocate more; else reuse buffers" },
	{ CAUSE_ALLOCATION, PHASE_OTHER, "reuse buffers, or use an allocator that retains memory (jemalloc)" },
	{ CAUSE_WORKER_GONE, PHASE_OTHER,
		"check the run's log and dmesg (out-of-memory killer); a smaller prefetch_factor needs less memory" },
	{ CAUSE_WORKER_DISK, PHASE_OTHER, "data set is not in the page cache: use a faster disk, or cache decoded items" },
	{ CAUSE_WORKER_STOPPED, PHASE_OTHER, "resume it with kill -CONT: SIGSTOP or a debugger stopped it" },
	{ CAUSE_WORKER_SLOW, PHASE_OTHER, "profile the slow samples" },
	{ CAUSE_WORKER_STARVED, PHASE_OTHER, "CPUs are oversubscribed: reduce workers, and threads per worker" },
	{ CAUSE_CHECKPOINT, PHASE_OTHER, "save less often, or copy the state and write it from another thread" },
	{ CAUSE_GC, PHASE_OTHER, "call gc.freeze() after the warm-up, and gc.collect() between epochs" },
	{ CAUSE_COMPILER, PHASE_OTHER,
		"avoid recompilation: pad to few shapes, or torch.compile(dynamic=True); keep the compiler cache" },
	{ CAUSE_CHILD, PHASE_OTHER, "start it before training, or run it on other CPUs (taskset, nice)" },
	{ CAUSE_CHILD_AWAITED, PHASE_OTHER, "start it without waiting for it, or between epochs" },
	{ CAUSE_THROTTLED, PHASE_OTHER, "raise the CPU quota of the cgroup (cpu.max), or reduce threads and workers" },
	{ CAUSE_STOPPED, PHASE_OTHER, "check what stopped it: SIGSTOP, Ctrl-Z or a debugger" },
	{ CAUSE_SUSPENDED, PHASE_OTHER, "keep the machine awake during training: systemd-inhibit" },
	{ CAUSE_CLOCK, PHASE_OTHER, "slew the clock instead of setting it: timers that use wall-clock time were delayed" },
	{ CAUSE_GPU_HEAT, PHASE_OTHER, "check fans, dust and airflow; a lower power limit (nvidia-smi -pl) reduces heat" },
	{ CAUSE_GPU_POWER, PHASE_OTHER,
		"check the power limit (nvidia-smi -q -d POWER) and supply; mixed precision needs less power" },
	{ CAUSE_GPU_CLOCK, PHASE_OTHER, "find the throttle reason: nvidia-smi -q -d PERFORMANCE" },
	{ CAUSE_GPU_SHARED, PHASE_OTHER,
		"identify it in the GPU view (5); give the run its own GPU (CUDA_VISIBLE_DEVICES)" },
	{ CAUSE_GPU_WAIT, PHASE_OTHER,
		"read losses rarely: .item() and print wait for all launched kernels (GPU view: 5)" },
	{ CAUSE_GPU_WORK, PHASE_OTHER, "compare its input shapes with other batches; torch.profiler shows the kernels" },
	{ CAUSE_CPU_HEAT, PHASE_OTHER, "check fans, dust and airflow; fewer threads and workers reduce heat" },
	{ CAUSE_RANK, PHASE_OTHER, "compare the ranks in the overview (1): which is slowest, and in which phase" },
	{ CAUSE_BIGGER, PHASE_OTHER, "group samples of similar size (bucketing), or pad them to one size" },
};

/* Kinds that more workers hide, because workers load in parallel with training. */
static bool helps_with_workers(enum cause_kind kind)
{
	return kind == CAUSE_DISK_READ || kind == CAUSE_MORE_WORK || kind == CAUSE_SLEPT || kind == CAUSE_WORKER_DISK ||
		kind == CAUSE_WORKER_SLOW;
}

/* Forward and backward differ by less than this factor in how much longer than their baselines they took. */
#define ALIKE_FACTOR 2

/* How many times its baseline this phase took; 0: unknown, or not longer. */
static double growth_of(const struct case_file *file, enum phase_kind kind)
{
	const struct explanation *out = file->out;
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].depth == 0 && phase_kind(file->run, out->rows[i].name) == kind)
			return out->rows[i].baseline_s > 0 && out->rows[i].excess_s > out->rows[i].error_s
				? out->rows[i].this_s / out->rows[i].baseline_s
				: 0;
	return 0;
}

/* As with a larger batch or a longer sequence, whose size is unknown. */
static bool have_both_grown(const struct case_file *file, enum phase_kind phase)
{
	double forward = growth_of(file, PHASE_FORWARD), backward = growth_of(file, PHASE_BACKWARD);
	return (phase == PHASE_FORWARD || phase == PHASE_BACKWARD) && forward > 1 && backward > 1 &&
		forward < ALIKE_FACTOR * backward && backward < ALIKE_FACTOR * forward;
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
	if (kind == CAUSE_PHASE && have_both_grown(file, phase))
		snprintf(next, CAUSE_NEXT_SIZE,
			"forward and backward both took longer: compare its batch size and sequence length with others");
	else if (is_about_workers && workers == 0)
		snprintf(
			next, CAUSE_NEXT_SIZE, "num_workers=0 loads in the training process: try num_workers=%d", WORKERS_TRIED);
	else if (is_about_workers && workers < WORKERS_MANY)
		snprintf(next, CAUSE_NEXT_SIZE, "%s; raise num_workers from %ld to %ld", text, workers, workers * 2);
	else
		snprintf(next, CAUSE_NEXT_SIZE, "%s", text);
}

/* "data: 0.310 s above its baseline, 12 of 14 samples" */
static void write_samples(const struct explanation *out, const struct claim *claim, char *whole, size_t size)
{
	size_t used = strlen(whole);
	char text[NUMBER_SIZE];
	if (claim->row->samples > 0)
		snprintf(whole + used, size - used, ": %s above its baseline, %u of %u samples",
			format_seconds(text, claim->seconds), claim->row->samples, out->stack_samples);
}

void cause_say(
	const struct case_file *file, const struct claim *claim, const struct cause_phases *phases, struct cause *cause)
{
	char path[512], words[160], whole[sizeof path + sizeof words];
	bool is_named = claim->kind == CAUSE_GC || claim->kind == CAUSE_CHECKPOINT || claim->kind == CAUSE_COMPILER;
	write_path(file, phases, is_named, path, sizeof path);
	write_words(claim, words, sizeof words);
	bool is_itself = claim->kind == CAUSE_PHASE ||
		(is_named && claim->evidence_count && claim->evidence[0].this_value == claim->row->this_s);
	snprintf(whole, sizeof whole, is_itself ? "%s" : "%s: %s", path, words);
	if (claim->kind == CAUSE_PHASE && name_is_sampled(claim->row->name))
		write_samples(file->out, claim, whole, sizeof whole);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	write_next(file, claim->row, claim->kind, cause->next);
}
