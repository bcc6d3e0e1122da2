#include "src/model/memory/memory_parts.h"

#include <stdio.h>
#include <string.h>

#include "src/model/machine/processes.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers_shown.h"

#define POINTS_FIRST_NS NS_PER_S
#define POINTS_MAX_NS (32 * NS_PER_S)
/* If one worker has more than this share of its group's growth, the growth is attributed to this worker. */
#define ALONE_RATIO 0.6
/* Readings of the same memory may differ so much, because they are not taken at the same time. */
#define ALIKE_RATIO 0.15
#define EIGHTH 8
#define NOTICEABLE_RATIO 0.005
#define NOTICEABLE_MIN_BYTES 4e6
/* Memory grows with batches if its distance from a line over batches is at most BATCHES_OFF of the growth per batch, or
 * not larger than the distance from a line over time. */
#define BATCHES_OFF 0.5
#define CLOSER_RATIO 1.05

/* -- parts of the tree's memory -- */

/* A zombie still has its last figures, but no memory. */
static bool has_memory(const struct process *process)
{
	double state = process->now[METRIC_PROCESS_STATE];
	return !process->is_gone && state != 'Z' && state != 'X' && !isnan(process->now[METRIC_PROCESS_RESIDENT]);
}

static double add_known(double sum, double bytes) { return isnan(bytes) ? sum : isnan(sum) ? bytes : sum + bytes; }

static double positive(double bytes) { return bytes > 0 ? bytes : 0; }

/* Anonymous memory including swap; the resident set if the kernel does not report RssAnon. Children are read less
 * often: NAN until then. */
static double anonymous_of(const struct process *process, bool has_kinds)
{
	double swap = process->now[METRIC_PROCESS_SWAP];
	return has_kinds ? process->now[METRIC_PROCESS_ANONYMOUS] + (isnan(swap) ? 0 : swap)
					 : process->now[METRIC_PROCESS_RESIDENT];
}

static double system_figure(const struct model *model, enum metric metric, enum metric whole)
{
	const double *now = model->system.now;
	return now[whole] > 0 ? now[metric] : NAN;
}

static void take_group(const struct model *model, double swap_bytes, struct memory_sample *out)
{
	const double *now = model->system.now;
	if (!(now[METRIC_CGROUP_MEMORY] > 0))
		return;
	out->part[PART_GROUP_SHARED] = now[METRIC_CGROUP_MEMORY_SHARED];
	if (!model->system.owns_cgroup)
		return;
	out->part[PART_GROUP_ANONYMOUS] = now[METRIC_CGROUP_MEMORY_ANONYMOUS] + positive(swap_bytes);
	out->part[PART_GROUP_FILE] = now[METRIC_CGROUP_MEMORY_FILE] - now[METRIC_CGROUP_MEMORY_SHARED];
}

static bool has_kinds(const struct model *model)
{
	const struct process *target = model_target(model);
	return target && !isnan(target->now[METRIC_PROCESS_ANONYMOUS]);
}

void memory_take_parts(struct model *model, struct memory_sample *out)
{
	struct memory *memory = &model->memory;
	double *part = out->part, swap_bytes = NAN;
	bool is_emitted = has_kinds(model);
	out->time_ns = model->now_ns;
	out->batches = model->run_count ? (double)run_main(&model->runs[0])->count : NAN;
	for (size_t i = 0; i < PART_COUNT; i++)
		part[i] = NAN;
	memory->tree_rss_bytes = memory->tree_anonymous_bytes = NAN;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		struct process_growth *growth = &model->priv->pasts[i].growth;
		if (!has_memory(process))
			continue;
		double anonymous = anonymous_of(process, is_emitted);
		if (!growth->has_born && !isnan(anonymous)) {
			growth->has_born = true;
			growth->born_bytes = process->is_target ? 0 : anonymous;
		}
		memory->tree_rss_bytes = add_known(memory->tree_rss_bytes, process->now[METRIC_PROCESS_RESIDENT]);
		memory->tree_anonymous_bytes = add_known(memory->tree_anonymous_bytes, is_emitted ? anonymous : NAN);
		swap_bytes = add_known(swap_bytes, process->now[METRIC_PROCESS_SWAP]);
		part[PART_ANONYMOUS] = add_known(part[PART_ANONYMOUS], anonymous - growth->born_bytes);
		part[PART_SHARED_SUM] = add_known(part[PART_SHARED_SUM], process->now[METRIC_PROCESS_SHARED]);
		part[PART_SHARED] = fmax(part[PART_SHARED], process->now[METRIC_PROCESS_SHARED]);
		part[PART_FILE] = fmax(part[PART_FILE], process->now[METRIC_PROCESS_FILE]);
	}
	memory->tree_file_bytes = part[PART_FILE];
	memory->tree_shared_bytes = part[PART_SHARED];
	double used = system_figure(model, METRIC_SYSTEM_SHM_USED, METRIC_SYSTEM_SHM),
		   own = model->system.now[METRIC_SYSTEM_SHM_OWN];
	part[PART_SHM] = isnan(own) ? used : own;
	part[PART_SHM_OTHERS] = used - own;
	take_group(model, swap_bytes, out);
}

double memory_retained(const struct memory_sample *sample, struct memory_basis basis)
{
	double shared = sample->part[basis.shared];
	return sample->part[basis.anonymous] + (isnan(shared) ? 0 : shared);
}

double memory_cached(const struct memory_sample *sample, struct memory_basis basis) { return sample->part[basis.file]; }

/* -- choice of the parts to judge -- */

static double mean_of(const struct memory_sample *samples, size_t count, enum memory_part part)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += samples[i].part[part];
	return sum / (double)count;
}

double memory_part_growth(const struct memory_trend *trend, size_t from, enum memory_part part)
{
	size_t count = trend->count > from ? trend->count - from : 0, few = count / EIGHTH ? count / EIGHTH : 1;
	if (count < 2)
		return NAN;
	return mean_of(&trend->samples[trend->count - few], few, part) - mean_of(&trend->samples[from], few, part);
}

static bool is_known_throughout(const struct memory_trend *trend, size_t from, enum memory_part part)
{
	for (size_t i = from; i < trend->count; i++)
		if (isnan(trend->samples[i].part[part]))
			return false;
	return !isnan(trend->now.part[part]) && !isnan(trend->base.part[part]);
}

double memory_noticeable(const struct memory *memory)
{
	return fmax(NOTICEABLE_RATIO * memory->tree_rss_bytes, NOTICEABLE_MIN_BYTES);
}

/* Least squares: the standard deviation of the part from a line over batches, or over time; *slope is the line's. */
static double distance_from_line(
	const struct memory_trend *trend, size_t from, enum memory_part part, bool over_batches, double *slope)
{
	const struct memory_sample *first = &trend->samples[from];
	double n = (double)(trend->count - from), x_sum = 0, y_sum = 0, xx = 0, xy = 0, yy = 0;
	for (size_t i = from; i < trend->count; i++) {
		const struct memory_sample *sample = &trend->samples[i];
		double x = over_batches ? sample->batches - first->batches : seconds_between(first->time_ns, sample->time_ns),
			   y = sample->part[part] - first->part[part];
		x_sum += x;
		y_sum += y;
		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	double x_spread = xx - x_sum * x_sum / n, common = xy - x_sum * y_sum / n, y_spread = yy - y_sum * y_sum / n;
	*slope = common / x_spread;
	return sqrt(positive(y_spread - common * *slope) / n);
}

/* For memory that no process of the run has mapped: it is attributed to the run if it grows with the run's batches. */
static bool grows_with_batches(const struct memory_trend *trend, size_t from, enum memory_part part)
{
	double a_batch, a_second;
	double off_batches = distance_from_line(trend, from, part, true, &a_batch),
		   off_time = distance_from_line(trend, from, part, false, &a_second);
	return a_batch > 0 && (off_batches <= BATCHES_OFF * a_batch || off_batches <= CLOSER_RATIO * off_time);
}

/* Processes may share all of their shared memory or nothing: if the growth of /dev/shm is the run's, it is between the
 * largest growth of a process and the sum over processes. More belongs to other programs, unless the files are known to
 * be the run's. The cgroup's figure excludes processes outside of it. */
static enum memory_part choose_shared(const struct memory_trend *trend, size_t from, double noticeable_bytes)
{
	double largest = memory_part_growth(trend, from, PART_SHARED),
		   sum = memory_part_growth(trend, from, PART_SHARED_SUM);
	double held = memory_part_growth(trend, from, PART_SHM);
	bool is_known = is_known_throughout(trend, from, PART_SHM),
		 is_own = is_known_throughout(trend, from, PART_SHM_OTHERS);
	if (is_own && held > noticeable_bytes && !(held < largest * (1 - ALIKE_RATIO)))
		return PART_SHM;
	if (is_known && !is_own && largest > 0 && held >= largest * (1 - ALIKE_RATIO) && held <= sum * (1 + ALIKE_RATIO))
		return PART_SHM;
	double grown = memory_part_growth(trend, from, PART_GROUP_SHARED);
	if (is_known_throughout(trend, from, PART_GROUP_SHARED) && grown > noticeable_bytes &&
		!(largest > ALIKE_RATIO * grown) && grows_with_batches(trend, from, PART_GROUP_SHARED))
		return PART_GROUP_SHARED;
	return PART_SHARED;
}

void memory_choose_basis(struct model *model, size_t from)
{
	struct memory_trend *trend = &model->priv->trend;
	bool is_group =
		is_known_throughout(trend, from, PART_GROUP_ANONYMOUS) && is_known_throughout(trend, from, PART_GROUP_SHARED);
	double largest = memory_part_growth(trend, from, PART_SHARED), grown;
	trend->basis.anonymous = is_group ? PART_GROUP_ANONYMOUS : PART_ANONYMOUS;
	trend->basis.shared = is_group ? PART_GROUP_SHARED : choose_shared(trend, from, memory_noticeable(&model->memory));
	trend->basis.file = is_group ? PART_GROUP_FILE : PART_FILE;
	grown = memory_part_growth(trend, from, trend->basis.shared);
	model->memory.is_unmapped = trend->basis.shared != PART_SHARED && !(largest > ALIKE_RATIO * grown);
}

/* -- attribution of growth -- */

static void note_point(struct process_growth *growth, int64_t now_ns, double bytes)
{
	if (growth->count && now_ns < growth->points[growth->count - 1].time_ns + growth->interval_ns)
		return;
	if (growth->count == 0)
		growth->interval_ns = POINTS_FIRST_NS;
	if (growth->count == GROWTH_POINTS_MAX) {
		bool is_finest = growth->interval_ns >= POINTS_MAX_NS;
		unsigned retained = 0;
		for (unsigned i = is_finest ? 1 : 0; i < growth->count; i += is_finest ? 1 : 2)
			growth->points[retained++] = growth->points[i];
		growth->count = retained;
		growth->interval_ns *= is_finest ? 1 : 2;
	}
	growth->points[growth->count].time_ns = now_ns;
	growth->points[growth->count++].bytes = bytes;
}

void memory_note_processes(struct model *model)
{
	bool is_emitted = has_kinds(model);
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		double anonymous = anonymous_of(process, is_emitted);
		if (has_memory(process) && !isnan(anonymous))
			note_point(&model->priv->pasts[i].growth, model->now_ns, anonymous);
	}
}

static double process_growth_since(const struct process_growth *growth, int64_t since_ns, double now_bytes)
{
	unsigned at = 0;
	while (at < growth->count && growth->points[at].time_ns < since_ns)
		at++;
	if (at == growth->count)
		return NAN;
	double then = growth->points[at].bytes;
	if (at > 0) {
		double before = growth->points[at - 1].bytes,
			   between_s = seconds_between(growth->points[at - 1].time_ns, growth->points[at].time_ns);
		then = before + (then - before) * seconds_between(growth->points[at - 1].time_ns, since_ns) / between_s;
	}
	return now_bytes - then;
}

static bool is_worker(const struct model *model, const struct process *process)
{
	size_t count;
	const struct worker_shown *workers = model_workers(model, -1, &count);
	for (size_t i = 0; i < count; i++)
		if (workers[i].process == process)
			return true;
	return false;
}

static void name_grower(
	const struct model *model, const struct process *process, bool is_of_worker_group, struct memory *memory)
{
	const struct run *run = NULL;
	for (unsigned i = 0; i < model->run_count && !run; i++)
		if (model->runs[i].pid == process->pid)
			run = &model->runs[i];
	bool is_rank = run && model->run_count > 1 && run->rank[0];
	memory->grower_is_main = !is_rank && (run || process->is_target);
	if (is_rank)
		snprintf(memory->grower, sizeof memory->grower, "rank %s", run->rank);
	else if (memory->grower_is_main)
		snprintf(memory->grower, sizeof memory->grower, "main process");
	else if (is_of_worker_group)
		snprintf(memory->grower, sizeof memory->grower, "worker %d", (int)process->pid);
	else
		snprintf(memory->grower, sizeof memory->grower, "%.30s %d", process->command, (int)process->pid);
}

/* Growth by candidate. */
struct growers {
	double all, best, worker_group, worker_group_best;
	unsigned worker_group_count; /* workers that grew */
	struct memory *memory;
};

static bool take_grower(struct growers *growers, double bytes, enum memory_kind kind)
{
	if (!(bytes > 0))
		return false;
	growers->all += bytes;
	if (bytes <= growers->best)
		return false;
	growers->best = bytes;
	growers->memory->grower_kind = kind;
	growers->memory->grower_pid = 0;
	growers->memory->grower_is_main = false;
	return true;
}

static void forget_grower(struct memory *memory)
{
	memory->grower[0] = '\0';
	memory->grower_kind = MEMORY_KIND_NONE;
	memory->grower_pid = 0;
	memory->grower_is_main = false;
	memory->grower_share_ratio = NAN;
}

static void take_processes(struct model *model, int64_t since_ns, struct growers *growers)
{
	struct memory *memory = &model->memory;
	bool is_emitted = has_kinds(model);
	for (size_t i = 0; i < model->process_count; i++) {
		struct process *process = &model->processes[i];
		double bytes = has_memory(process)
			? process_growth_since(&model->priv->pasts[i].growth, since_ns, anonymous_of(process, is_emitted))
			: NAN;
		process->grown_bytes = bytes;
		if (!(bytes > 0))
			continue;
		bool is_of_worker_group = !process->is_target && is_worker(model, process);
		growers->worker_group += is_of_worker_group ? bytes : 0;
		growers->worker_group_best =
			is_of_worker_group ? fmax(growers->worker_group_best, bytes) : growers->worker_group_best;
		growers->worker_group_count += is_of_worker_group;
		if (!take_grower(growers, bytes, MEMORY_KIND_ANONYMOUS))
			continue;
		memory->grower_pid = process->pid;
		name_grower(model, process, is_of_worker_group, memory);
	}
	if (growers->worker_group_count < 2 || growers->worker_group < growers->best ||
		growers->worker_group_best > ALONE_RATIO * growers->worker_group)
		return;
	growers->best = growers->worker_group;
	memory->grower_pid = 0;
	memory->grower_is_main = false;
	snprintf(memory->grower, sizeof memory->grower, "%u workers", growers->worker_group_count);
}

static void take_kinds(const struct model *model, size_t from, double noticeable_bytes, struct growers *growers)
{
	const struct memory_trend *trend = &model->priv->trend;
	struct memory *memory = growers->memory;
	double shared = memory_part_growth(trend, from, trend->basis.shared),
		   file = memory_part_growth(trend, from, trend->basis.file);
	double in_shm = memory_part_growth(trend, from, PART_SHM), of_processes = growers->all;
	bool is_group = trend->basis.anonymous == PART_GROUP_ANONYMOUS;
	if (take_grower(growers, shared, MEMORY_KIND_SHARED))
		snprintf(memory->grower, sizeof memory->grower, "%s", in_shm >= shared / 2 ? "/dev/shm" : "shared memory");
	if (file > noticeable_bytes && take_grower(growers, file, MEMORY_KIND_FILE))
		snprintf(memory->grower, sizeof memory->grower, "%s", is_group ? "page cache" : "mapped files");
	/* When a child writes to a page shared with its parent, the cgroup is charged for a copy. The processes' own
	 * figures do not change: both counted the page before. */
	double copied = is_group ? memory_part_growth(trend, from, PART_GROUP_ANONYMOUS) - of_processes : NAN;
	if (copied > noticeable_bytes && take_grower(growers, copied, MEMORY_KIND_ANONYMOUS))
		snprintf(memory->grower, sizeof memory->grower, "copies on write");
}

void memory_attribute(struct model *model, size_t from, double noticeable_bytes)
{
	const struct memory_trend *trend = &model->priv->trend;
	struct memory *memory = &model->memory;
	struct growers growers = { .memory = memory };
	forget_grower(memory);
	if (from >= trend->count)
		return;
	take_processes(model, trend->samples[from].time_ns, &growers);
	take_kinds(model, from, noticeable_bytes, &growers);
	if (growers.all < noticeable_bytes / 2) {
		forget_grower(memory);
		return;
	}
	memory->grower_share_ratio = growers.best / growers.all;
	if (!has_kinds(model) && memory->grower_pid)
		memory->grower_kind = MEMORY_KIND_NONE;
}
