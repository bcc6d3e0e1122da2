/* What each pool was spent on. Within a pool, certain observations claim before likely ones. */
#include "src/explain/causes/causes_claims.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_gpu.h"
#include "src/explain/causes/causes_rank.h"
#include "src/explain/causes/causes_seen.h"
#include "src/model/run/figures/phases.h"

#define BYTES_PER_BLOCK 512

/* Upper bounds for reading: the latency of one read and the bandwidth of a slow disk. */
#define READ_MAX_S 0.03
#define READ_MIN_BYTES_PER_S 10e6
#define BLOCKS_PER_READ_MIN 8
/* The readings that enclose a window are at most this much further apart than the window is long. */
#define READINGS_APART_S 1
#define WRITTEN_MIN_BYTES 65536
/* CPU time of file I/O: finding pages and copying, per byte; going to sleep and waking up, per read. */
#define COPY_S_PER_BYTE 0.7e-9
#define READ_CPU_S 20e-6
/* One minor fault (find, clear and map a page): 0.5 µs on bare metal, 4 µs measured in a virtual machine. */
#define FAULT_S 4e-6
#define GROWTH_S_PER_BYTE 1e-9
/* Faults count only above this multiple of the baseline. */
#define FAULTS_RATIO 2
/* A child that used at least this share of the run-queue wait is named as its cause. */
#define NAMING_RATIO 0.25
#define THROTTLED_RATIO 0.5
/* Steps seldom grow by more than this times the growth of the samples. */
#define BIGGER_TOLERANCE 1.25
#define FORCED_MIN 5

void claim_evidence(struct claim *claim, const char *key, double this_value, double baseline_value)
{
	if (isnan(this_value) || claim->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	claim->evidence[claim->evidence_count].key = key;
	claim->evidence[claim->evidence_count].this_value = this_value;
	claim->evidence[claim->evidence_count++].baseline_value = baseline_value;
}

static void rest_on(
	const struct case_file *file, const struct pool *pool, struct claim *claim, const char *key, size_t offset)
{
	const struct evidence *this = account_evidence(file, pool->row);
	if (this)
		claim_evidence(claim, key, *(const double *)(const void *)((const char *)this + offset),
			*(const double *)(const void *)((const char *)&file->baseline->evidence + offset));
}
#define REST_ON(claim, figure) rest_on(file, pool, claim, #figure, offsetof(struct evidence, figure))

static double excess_of(const struct case_file *file, const struct pool *pool, size_t offset)
{
	struct claim figure = { .seconds = 0 };
	rest_on(file, pool, &figure, "", offset);
	double excess =
		figure.evidence_count ? excess_over(figure.evidence[0].this_value, figure.evidence[0].baseline_value) : NAN;
	return isnan(excess) ? 0 : excess;
}
#define EXCESS_OF(figure) excess_of(file, pool, offsetof(struct evidence, figure))

static void claim_simply(
	struct case_file *file, struct pool *pool, double *from_s, enum cause_kind kind, const char *key, double seconds)
{
	struct claim claim = { .kind = kind, .seconds = pool_take(from_s, seconds) };
	claim_evidence(&claim, key, seconds, NAN);
	causes_add(file, pool->row, &claim);
}

/* -- spans whose names are a cause -- */

static const struct {
	const char *word;
	enum cause_kind kind;
} span_words[] = {
	{ "gc", CAUSE_GC },
	{ "garbage", CAUSE_GC },
	{ "checkpoint", CAUSE_CHECKPOINT },
	{ "checkpointing", CAUSE_CHECKPOINT },
	{ "ckpt", CAUSE_CHECKPOINT },
	{ "save", CAUSE_CHECKPOINT },
	{ "saving", CAUSE_CHECKPOINT },
	{ "snapshot", CAUSE_CHECKPOINT },
	{ "compile", CAUSE_COMPILER },
	{ "compiling", CAUSE_COMPILER },
	{ "compilation", CAUSE_COMPILER },
	{ "jit", CAUSE_COMPILER },
};

static enum cause_kind kind_of_span(const char *name)
{
	for (const char *word = name; *word;) {
		size_t length = 0;
		while (isalnum((unsigned char)word[length]))
			length++;
		for (size_t i = 0; i < sizeof span_words / sizeof *span_words; i++)
			if (strlen(span_words[i].word) == length && strncasecmp(span_words[i].word, word, length) == 0)
				return span_words[i].kind;
		word += length ? length : 1;
	}
	return CAUSE_PHASE;
}

/* The name of a span that every batch has does not explain why it took longer in this one. */
static bool is_rare(const struct explain_row *row)
{
	return isnan(row->baseline_s) || row->baseline_s < row->this_s / 4;
}

void claim_by_name(struct case_file *file, struct pool *pool)
{
	const struct explain_row *end = file->out->rows + file->out->row_count;
	for (const struct explain_row *row = pool->row; row < end && (row == pool->row || row->depth > pool->row->depth);) {
		const struct explain_row *next = row + 1;
		enum cause_kind kind =
			row->excess_s > 0 && is_rare(row) ? kind_of_span(run_name(file->run, row->name)) : CAUSE_PHASE;
		if (kind != CAUSE_PHASE) {
			struct claim claim = { .kind = kind, .seconds = pool_take(&pool->left_s, row->excess_s) };
			file->named_s[account_is_behind(file, pool->row)] += claim.seconds;
			claim_evidence(&claim, "span_s", row->this_s, row->baseline_s);
			causes_add(file, pool->row, &claim);
			while (next < end && next->depth > row->depth)
				next++;
		}
		row = next;
	}
}

/* -- a larger batch -- */

/* At most what the additional samples cost the whole step, in proportion to the phase's excess. The thread may have
 * worked on them itself, or waited for a device. */
void claim_bigger(struct case_file *file, struct pool *pool)
{
	double ratio = file->out->samples / file->out->baseline_samples;
	if (!file->out->is_bigger || !(pool->row->baseline_s > 0))
		return;
	double max_s = file->baseline->step_s * (ratio - 1) * BIGGER_TOLERANCE * pool->row->excess_s / file->whole_s,
		   taken_s = pool_take(&pool->cpu_s, max_s);
	taken_s += pool_take(&pool->away_s, max_s - taken_s);
	taken_s += pool_take(&pool->left_s, max_s - taken_s);
	struct claim claim = { .kind = CAUSE_BIGGER, .seconds = taken_s };
	snprintf(
		claim.who, sizeof claim.who, "%.0f samples, usually %.0f", file->out->samples, file->out->baseline_samples);
	claim_evidence(&claim, "samples", file->out->samples, file->out->baseline_samples);
	REST_ON(&claim, cpu_s);
	causes_add(file, pool->row, &claim);
}

/* -- away: blocked or asleep -- */

static void claim_reading(struct case_file *file, struct pool *pool)
{
	double blocks = EXCESS_OF(blocks_read), bytes = blocks * BYTES_PER_BLOCK,
		   reads = fmin(EXCESS_OF(voluntary_switches), blocks / BLOCKS_PER_READ_MIN);
	if (!(blocks > 0))
		return;
	bool is_swap = seen_about(file, METRIC_SYSTEM_SWAP_IN) >= bytes / 2 && EXCESS_OF(major_faults) > 0;
	struct claim claim = { .kind = is_swap ? CAUSE_SWAPPED : CAUSE_DISK_READ,
		.seconds = pool_take(&pool->away_s, fmax(reads * READ_MAX_S, bytes / READ_MIN_BYTES_PER_S)) +
			pool_take_cpu(pool, reads * READ_CPU_S + bytes * COPY_S_PER_BYTE) };
	if (is_swap)
		REST_ON(&claim, major_faults);
	REST_ON(&claim, blocks_read);
	REST_ON(&claim, voluntary_switches);
	if (!is_swap)
		REST_ON(&claim, major_faults);
	causes_add(file, pool->row, &claim);
}

/* The process wrote far more than its baseline between the readings that enclose the batch: more than lines of a
 * log. */
static bool may_have_waited_for_writes(const struct case_file *file)
{
	const struct window_figure *figure =
		file->batch_window ? batch_window_find(file->batch_window, METRIC_PROCESS_WRITTEN, file->run->pid) : NULL;
	double baseline = figure && !isnan(figure->baseline)
		? figure->baseline * (1 + READINGS_APART_S / file->batch_window->seconds)
		: 0;
	return figure && figure->max > 2 * baseline + WRITTEN_MIN_BYTES;
}

/* Disk wait that is not reading is writing. If the samplers saw no disk wait, the bytes written give the time. */
static void claim_writing(struct case_file *file, struct pool *pool)
{
	int32_t pid = file->run->pid;
	double written = seen_excess(file, METRIC_PROCESS_WRITTEN, pid),
		   on_disk_s = fmin(seen_seconds(file, WINDOW_TARGET_ON_DISK), pool->away_s);
	const struct window_figure *figure =
		file->batch_window ? batch_window_find(file->batch_window, METRIC_PROCESS_WRITTEN, pid) : NULL;
	bool can_have_written = figure && figure->max > (isnan(figure->baseline) ? 0 : figure->baseline);
	double blocked_s = can_have_written ? fmax(on_disk_s, fmin(written / READ_MIN_BYTES_PER_S, pool->away_s)) : 0;
	if (blocked_s <= 0)
		return;
	struct claim claim = { .kind = CAUSE_DISK_WRITE,
		.seconds = pool_take(&pool->away_s, blocked_s) + pool_take_cpu(pool, written * COPY_S_PER_BYTE) };
	claim_evidence(&claim, "written_bytes", figure->min, figure->baseline);
	claim_evidence(&claim, "on_disk_s", on_disk_s > 0 ? on_disk_s : NAN, NAN);
	causes_add(file, pool->row, &claim);
}

static bool has_checkpoint(const struct case_file *file)
{
	for (size_t i = 0; i < file->out->row_count; i++) {
		const struct explain_row *row = &file->out->rows[i];
		if (row->excess_s > 0 && is_rare(row) && kind_of_span(run_name(file->run, row->name)) == CAUSE_CHECKPOINT)
			return true;
	}
	return false;
}

/* A step that saved a checkpoint claims its remaining wait for it too: the span of saving ends before the disk has all
 * data (fsync). claim_writing() finds nothing if the batch was too short to contain a reading. */
static void claim_checkpoint(struct case_file *file, struct pool *pool)
{
	struct claim claim = { .kind = CAUSE_CHECKPOINT };
	if (!has_checkpoint(file) || !may_have_waited_for_writes(file))
		return;
	const struct window_figure *figure = batch_window_find(file->batch_window, METRIC_PROCESS_WRITTEN, file->run->pid);
	claim.seconds = pool_take(&pool->away_s, INFINITY);
	/* Until the next batch has ended, no record divides the time after this batch into CPU and waiting. */
	if (account_is_behind(file, pool->row))
		claim.seconds += pool_take(&pool->left_s, INFINITY);
	claim_evidence(&claim, "written_bytes", figure->max, figure->baseline);
	causes_add(file, pool->row, &claim);
}

static void claim_forced(struct case_file *file, struct pool *pool)
{
	double forced = EXCESS_OF(involuntary_switches);
	struct claim claim = { .kind = CAUSE_PREEMPTED };
	if (pool->is_queue_known || forced < FORCED_MIN || forced < EXCESS_OF(voluntary_switches))
		return;
	claim.seconds = pool_take(&pool->away_s, INFINITY);
	REST_ON(&claim, involuntary_switches);
	REST_ON(&claim, voluntary_switches);
	causes_add(file, pool->row, &claim);
}

/* The rest of the time away was spent blocked, if all other reasons are excluded. It is not claimed for a thread that
 * waits for workers, if the run-queue wait is unknown, or if the thread may have waited for the disk (seen in state D,
 * or much was written: fsync). */
static void claim_sleep(struct case_file *file, struct pool *pool)
{
	struct claim claim = { .kind = CAUSE_SLEPT };
	if (!pool->is_queue_known || causes_has_workers(file, pool->row) || seen_seconds(file, WINDOW_TARGET_ON_DISK) > 0 ||
		may_have_waited_for_writes(file))
		return;
	claim.seconds = pool_take(&pool->away_s, pool->away_s - pool->unsure_s);
	claim_evidence(&claim, "asleep_s", claim.seconds, NAN);
	REST_ON(&claim, cpu_s);
	REST_ON(&claim, run_queue_wait_s);
	REST_ON(&claim, blocks_read);
	causes_add(file, pool->row, &claim);
}

void claim_away(struct case_file *file, struct pool *pool)
{
	struct child child = find_child(file);
	claim_simply(file, pool, &pool->away_s, CAUSE_SUSPENDED, "suspended_s", seen_seconds(file, WINDOW_SUSPENDED));
	claim_simply(file, pool, &pool->away_s, CAUSE_STOPPED, "stopped_s", seen_seconds(file, WINDOW_TARGET_STOPPED));
	claim_simply(file, pool, &pool->away_s, CAUSE_THROTTLED, "throttled_s",
		seen_excess(file, METRIC_CGROUP_THROTTLED, 0) * S_PER_NS);
	claim_reading(file, pool);
	claim_writing(file, pool);
	claim_simply(file, pool, &pool->away_s, CAUSE_PREEMPTED, "stolen_s",
		seen_excess(file, METRIC_SYSTEM_CPU_STOLEN, 0) * S_PER_NS);
	if (child.event && child.is_compiler)
		claim_child(file, pool, &pool->away_s, &child, CAUSE_COMPILER, child.came ? INFINITY : child.alive_s);
	else if (child.event && child.came && child.went)
		claim_child(file, pool, &pool->away_s, &child, CAUSE_CHILD_AWAITED, INFINITY);
	claim_gpu(file, pool);
	claim_rank(file, pool);
	claim_checkpoint(file, pool);
	claim_simply(file, pool, &pool->away_s, CAUSE_CLOCK, "clock_step_s", seen_seconds(file, WINDOW_CLOCK_STEPPED));
	claim_forced(file, pool);
	claim_sleep(file, pool);
}

/* -- in a run queue: the wait is known; name what kept the thread off the CPU -- */

void claim_queue(struct case_file *file, struct pool *pool)
{
	struct child child = find_child(file);
	double throttled_s = seen_about(file, METRIC_CGROUP_THROTTLED) * S_PER_NS;
	const struct window_figure *figure =
		throttled_s > 0 ? batch_window_find(file->batch_window, METRIC_CGROUP_THROTTLED, 0) : NULL;
	struct claim throttled = { .kind = CAUSE_THROTTLED }, waited = { .kind = CAUSE_CPU_WAIT };
	if (figure && throttled_s >= THROTTLED_RATIO * EXCESS_OF(run_queue_wait_s)) {
		throttled.seconds = pool_take(&pool->queue_s, INFINITY);
		claim_evidence(&throttled, "throttled_s", figure->min * S_PER_NS, figure->baseline * S_PER_NS);
		REST_ON(&throttled, run_queue_wait_s);
		causes_add(file, pool->row, &throttled);
	}
	if (child.event && (child.is_compiler || child.cpu_s >= NAMING_RATIO * pool->queue_s))
		claim_child(file, pool, &pool->queue_s, &child, child.is_compiler ? CAUSE_COMPILER : CAUSE_CHILD,
			child.is_compiler ? child.alive_s : child.cpu_s);
	waited.seconds = pool_take(&pool->queue_s, INFINITY);
	REST_ON(&waited, run_queue_wait_s);
	REST_ON(&waited, involuntary_switches);
	causes_add(file, pool->row, &waited);
}

/* -- on the CPU -- */

static double growth_of(const struct case_file *file, const struct explain_row *row)
{
	const struct phase_time *phase = phase_find(file->batch->phases, file->batch->phase_count, row->name, row->parent);
	return phase ? (double)phase->memory_bytes : NAN;
}

/* Counts only faults beyond those that the additional CPU time explains at the baseline's rate. */
static void claim_allocation(struct case_file *file, struct pool *pool)
{
	const struct evidence *this = account_evidence(file, pool->row), *baseline = &file->baseline->evidence;
	double growth = growth_of(file, pool->row), faults = 0;
	if (this && this->minor_faults > FAULTS_RATIO * baseline->minor_faults) {
		double work_ratio = baseline->cpu_s > 0 && this->cpu_s > baseline->cpu_s ? this->cpu_s / baseline->cpu_s : 1;
		faults = excess_over(this->minor_faults, baseline->minor_faults * work_ratio);
	}
	struct claim claim = { .kind = CAUSE_ALLOCATION,
		.seconds = pool_take_cpu(pool, fmax(isnan(faults) ? 0 : faults * FAULT_S, growth * GROWTH_S_PER_BYTE)) };
	REST_ON(&claim, minor_faults);
	claim_evidence(&claim, "memory_bytes", growth, NAN);
	REST_ON(&claim, cpu_s);
	causes_add(file, pool->row, &claim);
}

void claim_cpu(struct case_file *file, struct pool *pool)
{
	claim_cpu_heat(file, pool);
	claim_allocation(file, pool);
	struct claim claim = { .kind = CAUSE_MORE_WORK, .seconds = pool_take(&pool->cpu_s, INFINITY) };
	REST_ON(&claim, cpu_s);
	causes_add(file, pool->row, &claim);
}
