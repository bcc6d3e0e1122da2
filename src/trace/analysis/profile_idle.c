#include "src/trace/analysis/profile_idle.h"

#include <stdlib.h>

#include "src/trace/store/profile_kinds.h"
#include "src/trace/analysis/profile_waits.h"

const char *const profile_idle_names[IDLE_KIND_COUNT] = { "host", "data", "copies", "sync", "communication" };
const char *const profile_idle_words[IDLE_KIND_COUNT] = { "waiting for the CPU", "data", "copies", "sync",
	"communication" };

/* Before every event, and far enough from INT64_MIN to subtract. */
#define NEVER_NS (INT64_MIN / 4)

struct stretch {
	int64_t start_ns, end_ns;
	uint32_t before, after;
};

/* The streams of one GPU, merged by time: a heap of tracks, by the start of their next event. */
struct merge {
	const struct profile_track **heap;
	uint32_t *next; /* beside heap */
	uint32_t count;
	struct stretch *gaps;
	uint32_t gap_count, gap_capacity;
};

static int64_t head(const struct merge *merge, uint32_t i) { return merge->heap[i]->works[merge->next[i]].start_ns; }

static void exchange(struct merge *merge, uint32_t a, uint32_t b)
{
	const struct profile_track *track = merge->heap[a];
	uint32_t next = merge->next[a];
	merge->heap[a] = merge->heap[b];
	merge->next[a] = merge->next[b];
	merge->heap[b] = track;
	merge->next[b] = next;
}

static void sink(struct merge *merge, uint32_t i)
{
	for (;;) {
		uint32_t least = i;
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < merge->count; child++)
			if (head(merge, child) < head(merge, least))
				least = child;
		if (least == i)
			return;
		exchange(merge, i, least);
		i = least;
	}
}

static const struct profile_work *take(struct merge *merge)
{
	if (!merge->count)
		return NULL;
	const struct profile_work *work = &merge->heap[0]->works[merge->next[0]++];
	if (merge->next[0] == merge->heap[0]->work_count)
		exchange(merge, 0, --merge->count);
	sink(merge, 0);
	return work;
}

/* -- one GPU -- */

struct unions {
	int64_t busy_end, compute_end, copy_end, communication_end;
};

/* Adds what [start, end) adds to a union that ends at *until; returns the length of its overlap with `other`. */
static int64_t extend(int64_t *until, int64_t *length, const struct profile_work *work, int64_t other)
{
	int64_t from = work->start_ns > *until ? work->start_ns : *until, to = profile_work_end(work);
	/* A kernel of 0 µs, by a clock of whole microseconds, ends a gap too. */
	if (to < from)
		return 0;
	*length += to - from;
	*until = to;
	int64_t common = (to < other ? to : other) - from;
	return common > 0 ? common : 0;
}

static void add_work(
	struct profile *profile, struct profile_gpu *gpu, struct unions *unions, const struct profile_work *work)
{
	enum profile_kind kind = profile_kind_of(work->name);
	if (kind == PROFILE_KERNEL) {
		gpu->kernel_count++;
		gpu->kernel_ns += work->duration_ns;
	}
	if (kind != PROFILE_KERNEL)
		extend(&unions->copy_end, &gpu->copy_ns, work, NEVER_NS);
	else if (profile_name_traits(&profile->names, profile_name_of(work->name)) & TRAIT_COMMUNICATION)
		gpu->overlap_ns += extend(&unions->communication_end, &gpu->communication_ns, work, unions->compute_end);
	else
		gpu->overlap_ns += extend(&unions->compute_end, &gpu->compute_ns, work, unions->communication_end);
}

static void add_gap(
	struct profile *profile, struct merge *merge, int64_t from, int64_t to, uint32_t before, uint32_t after)
{
	if (to > from && profile_grow(profile, &merge->gaps, &merge->gap_capacity, merge->gap_count, sizeof *merge->gaps))
		merge->gaps[merge->gap_count++] = (struct stretch){ from, to, before, after };
}

static void sweep(struct profile *profile, struct profile_gpu *gpu, struct merge *merge)
{
	uint32_t before = 0;
	const struct profile_work *work;
	int64_t first_ns = merge->count ? head(merge, 0) : profile->end_ns;
	/* By a clock of its own, what lies before the first kernel and behind the last is unknown. */
	int64_t start_ns = profile->has_skewed_clock ? first_ns : profile->start_ns;
	struct unions unions = { start_ns, NEVER_NS, NEVER_NS, NEVER_NS };
	while ((work = take(merge))) {
		if (work->start_ns > unions.busy_end)
			add_gap(profile, merge, unions.busy_end, work->start_ns, before, profile_name_of(work->name));
		if (profile_work_end(work) >= unions.busy_end)
			before = profile_name_of(work->name);
		profile_curve_add(profile, gpu->busy_curve_ns,
			work->start_ns > unions.busy_end ? work->start_ns : unions.busy_end, profile_work_end(work));
		extend(&unions.busy_end, &gpu->busy_ns, work, NEVER_NS);
		add_work(profile, gpu, &unions, work);
	}
	int64_t end_ns = profile->has_skewed_clock ? unions.busy_end : profile->end_ns;
	add_gap(profile, merge, unions.busy_end, end_ns, before, 0);
	gpu->window_ns = end_ns - start_ns;
	gpu->kernel_window_ns = unions.busy_end - first_ns;
	gpu->idle_ns = gpu->window_ns - gpu->busy_ns;
}

/* Of PyTorch, two processes have two GPUs, though each calls its own 0. Those of TensorFlow are parts of one GPU. */
static bool is_of_gpu(const struct profile *profile, const struct profile_track *track, const struct profile_gpu *gpu)
{
	const struct profile_track *first = &profile->tracks[gpu->track];
	return track->work_count && track->device == gpu->index &&
		(!profile->is_torch || (track->pid == first->pid && track->pid_name == first->pid_name));
}

static bool collect(const struct profile *profile, const struct profile_gpu *gpu, struct merge *merge)
{
	merge->heap = malloc((profile->track_count + 1) * sizeof *merge->heap);
	merge->next = calloc(profile->track_count + 1, sizeof *merge->next);
	if (!merge->heap || !merge->next)
		return false;
	for (uint32_t i = 0; i < profile->track_count; i++)
		if (is_of_gpu(profile, &profile->tracks[i], gpu))
			merge->heap[merge->count++] = &profile->tracks[i];
	for (uint32_t i = merge->count / 2; i-- > 0;)
		sink(merge, i);
	return true;
}

/* -- gaps -- */

static void split_gaps(struct profile_gpu *gpu, const struct merge *merge, const struct profile_waits *waits,
	const struct profile_waits *uploads)
{
	uint32_t at = 0, upload = 0;
	for (uint32_t i = 0; i < merge->gap_count; i++) {
		const struct stretch *gap = &merge->gaps[i];
		int64_t split[IDLE_KIND_COUNT];
		at = profile_waits_split(waits, at, gap->start_ns, gap->end_ns, split);
		for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
			gpu->idle_split_ns[kind] += split[kind];
		bool is_stall = gap->end_ns - gap->start_ns >= PROFILE_STALL_NS;
		*(is_stall ? &gpu->stall_ns : &gpu->launch_ns) += split[IDLE_HOST];
		gpu->stall_count += is_stall && split[IDLE_HOST] >= PROFILE_STALL_NS;
		upload = profile_waits_split(uploads, upload, gap->start_ns, gap->end_ns, split);
		gpu->pageable_ns += split[IDLE_COPIES];
	}
}

static void keep_longest(struct profile_idle *idle, uint32_t gpu, const struct stretch *gap)
{
	uint32_t at = idle->gap_count;
	while (at && idle->gaps[at - 1].end_ns - idle->gaps[at - 1].start_ns < gap->end_ns - gap->start_ns)
		at--;
	if (at == PROFILE_GAPS_MAX)
		return;
	idle->gap_count += idle->gap_count < PROFILE_GAPS_MAX;
	memmove(&idle->gaps[at + 1], &idle->gaps[at], (idle->gap_count - at - 1) * sizeof *idle->gaps);
	idle->gaps[at] = (struct profile_gap){ gap->start_ns, gap->end_ns, gpu, IDLE_HOST, 0, 0, gap->before, gap->after };
}

static int64_t overlap(const struct profile_host *host, const struct profile_gap *gap)
{
	int64_t from = host->start_ns > gap->start_ns ? host->start_ns : gap->start_ns, end = profile_host_end(host);
	return (end < gap->end_ns ? end : gap->end_ns) - from;
}

/* The event of the track that covers most of the gap without being much longer: from the innermost in its middle
 * outwards until half of the gap is covered. */
static uint32_t main_host(const struct profile_track *track, const struct profile_gap *gap)
{
	uint32_t at = profile_host_at(track, gap->start_ns + (gap->end_ns - gap->start_ns) / 2, false);
	while (at != PROFILE_NONE && overlap(&track->hosts[at], gap) < (gap->end_ns - gap->start_ns) / 2)
		at = track->hosts[at].parent;
	return at;
}

static void explain_gap(
	struct profile *profile, const struct profile_waits *waits, struct profile_gap *gap, bool has_runtime)
{
	int64_t split[IDLE_KIND_COUNT], shortest = INT64_MAX;
	profile_waits_split(waits, 0, gap->start_ns, gap->end_ns, split);
	for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
		if (split[kind] > split[gap->kind])
			gap->kind = (enum profile_idle_kind)kind;
	for (uint32_t i = 0; i < profile->track_count; i++) {
		const struct profile_track *track = &profile->tracks[i];
		uint32_t host = track->has_runtime || !has_runtime ? main_host(track, gap) : PROFILE_NONE;
		if (host == PROFILE_NONE || track->hosts[host].duration_ns >= shortest)
			continue;
		shortest = track->hosts[host].duration_ns;
		gap->host = profile_name_of(track->hosts[host].name);
		gap->line = profile_host_line(
			profile, track, profile_host_at(track, gap->start_ns + (gap->end_ns - gap->start_ns) / 2, true));
	}
}

/* -- steps -- */

static bool add_step(
	struct profile *profile, struct profile_idle *idle, int64_t number, int64_t start_ns, int64_t end_ns)
{
	if (!profile_grow(profile, &idle->steps, &idle->step_capacity, idle->step_count, sizeof *idle->steps))
		return false;
	idle->steps[idle->step_count++] = (struct profile_step){ number, start_ns, end_ns - start_ns, -1, { 0 } };
	return true;
}

static int by_start(const void *a, const void *b)
{
	int64_t x = ((const struct profile_step *)a)->start_ns, y = ((const struct profile_step *)b)->start_ns;
	return (x > y) - (x < y);
}

/* Annotations of a prefix as steps, or from the start of each to that of the next of its track. */
static void find_steps(struct profile *profile, struct profile_idle *idle, const char *prefix, bool is_from_next)
{
	for (uint32_t t = 0; t < profile->track_count; t++) {
		const struct profile_track *track = &profile->tracks[t];
		const struct profile_host *last = NULL;
		int64_t number = 0;
		for (uint32_t i = 0; i < track->host_count; i++) {
			const struct profile_host *host = &track->hosts[i];
			if (profile_kind_of(host->name) > PROFILE_ANNOTATION ||
				!profile_names_begin(&profile->names, profile_name_of(host->name), prefix))
				continue;
			struct profile_slice name = profile_names_text(&profile->names, profile_name_of(host->name)),
								 digits = { name.text + strlen(prefix), name.length - strlen(prefix) };
			if (!is_from_next && token_whole(digits, &number))
				add_step(profile, idle, number, host->start_ns, profile_host_end(host));
			else if (is_from_next && last)
				add_step(profile, idle, ++number, last->start_ns, host->start_ns);
			last = host;
		}
	}
}

/* What a gap takes of a step. `at`: as in profile_waits_split(); `waits`: NULL = no host events. */
static uint32_t add_idle(
	struct profile_step *step, const struct stretch *gap, const struct profile_waits *waits, uint32_t at)
{
	int64_t step_end_ns = step->start_ns + step->duration_ns, split[IDLE_KIND_COUNT];
	int64_t from = gap->start_ns > step->start_ns ? gap->start_ns : step->start_ns,
			to = gap->end_ns < step_end_ns ? gap->end_ns : step_end_ns;
	step->busy_ns -= to - from;
	if (!waits)
		return at;
	at = profile_waits_split(waits, at, from, to, split);
	for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
		step->idle_split_ns[kind] += split[kind];
	return at;
}

/* Of all GPUs the sum. Steps are sorted by their start, but may overlap: each begins with the gap and the wait at its
 * start. */
static void time_steps(struct profile_idle *idle, const struct merge *merge, const struct profile_waits *waits)
{
	uint32_t first = 0;
	for (uint32_t i = 0, wait = 0; i < idle->step_count; i++) {
		struct profile_step *step = &idle->steps[i];
		step->busy_ns = (step->busy_ns < 0 ? 0 : step->busy_ns) + step->duration_ns;
		while (first < merge->gap_count && merge->gaps[first].end_ns <= step->start_ns)
			first++;
		uint32_t at = wait;
		for (uint32_t k = first; k < merge->gap_count && merge->gaps[k].start_ns < step->start_ns + step->duration_ns;
			 k++) {
			at = add_idle(step, &merge->gaps[k], waits, at);
			wait = k == first ? at : wait;
		}
	}
}

static void all_steps(struct profile *profile, struct profile_idle *idle)
{
	find_steps(profile, idle, "ProfilerStep#", false);
	bool has_names = idle->step_count > 0;
	for (uint32_t i = 0; i < profile->step_count && !has_names; i++)
		add_step(profile, idle, profile->steps[i].number, profile->steps[i].start_ns,
			profile->steps[i].start_ns + profile->steps[i].duration_ns);
	if (!idle->step_count) {
		find_steps(profile, idle, "Optimizer.step#", true);
		idle->steps_are_inferred = idle->step_count > 0;
	}
	if (idle->step_count)
		qsort(idle->steps, idle->step_count, sizeof *idle->steps, by_start);
}

/* -- all -- */

static struct profile_gpu *gpu_of(const struct profile *profile, struct profile_idle *idle, uint32_t track)
{
	struct profile_gpu gpu = { .index = profile->tracks[track].device, .track = track };
	for (uint32_t i = 0; i < idle->gpu_count; i++) {
		if (is_of_gpu(profile, &profile->tracks[track], &idle->gpus[i]))
			return &idle->gpus[i];
		if (idle->gpus[i].index == gpu.index)
			gpu.is_twin = idle->gpus[i].is_twin = true;
	}
	if (idle->gpu_count == PROFILE_GPUS_MAX)
		return NULL;
	idle->gpus[idle->gpu_count] = gpu;
	return &idle->gpus[idle->gpu_count++];
}

static int by_index(const void *a, const void *b)
{
	const struct profile_gpu *x = a, *y = b;
	return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
								: (x->track > y->track) - (x->track < y->track);
}

#define MEANS(X) \
	X(window_ns) \
	X(busy_ns) \
	X(idle_ns) \
	X(kernel_window_ns) \
	X(pageable_ns) \
	X(launch_ns) \
	X(stall_ns) \
	X(compute_ns) \
	X(copy_ns) \
	X(communication_ns) \
	X(overlap_ns)

static void find_mean(struct profile_idle *idle)
{
	struct profile_gpu *mean = &idle->mean;
	int64_t count = idle->gpu_count;
	if (count > 1)
		*mean = (struct profile_gpu){ .index = PROFILE_GPU_MEAN, .has_split = idle->gpus[0].has_split };
	else
		*mean = idle->gpus[0];
	for (uint32_t i = 0; i < idle->gpu_count && count > 1; i++) {
		const struct profile_gpu *gpu = &idle->gpus[i];
#define ADD(field) mean->field += gpu->field / count;
		MEANS(ADD)
#undef ADD
		for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
			mean->idle_split_ns[kind] += gpu->idle_split_ns[kind] / count;
		for (int k = 0; k < PROFILE_CURVE_SIZE; k++)
			mean->busy_curve_ns[k] += gpu->busy_curve_ns[k] / count;
		mean->streams += gpu->streams;
		mean->kernel_count += gpu->kernel_count;
		mean->kernel_ns += gpu->kernel_ns;
		mean->stall_count += gpu->stall_count;
	}
	for (uint32_t i = 0; i < idle->step_count && count > 1; i++) {
		idle->steps[i].busy_ns /= idle->steps[i].busy_ns < 0 ? 1 : count;
		for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
			idle->steps[i].idle_split_ns[kind] /= count;
	}
}

static bool find_gpu(struct profile *profile, const struct profile_waits *waits, const struct profile_waits *uploads,
	struct profile_idle *idle, uint32_t index)
{
	struct profile_gpu *gpu = &idle->gpus[index];
	struct merge merge = { 0 };
	bool is_good = collect(profile, gpu, &merge);
	if (is_good) {
		sweep(profile, gpu, &merge);
		if (gpu->has_split)
			split_gaps(gpu, &merge, waits, uploads);
		idle->gaps_found += merge.gap_count;
		for (uint32_t i = 0; i < merge.gap_count; i++)
			keep_longest(idle, index, &merge.gaps[i]);
		if (!profile->has_skewed_clock)
			time_steps(idle, &merge, gpu->has_split ? waits : NULL);
	}
	free(merge.heap);
	free(merge.next);
	free(merge.gaps);
	return is_good;
}

bool profile_idle_find(struct profile *profile, struct profile_waits *waits, struct profile_idle *idle)
{
	struct profile_waits uploads = { 0 };
	bool has_host = false, has_runtime = false,
		 is_good = profile_waits_flatten(profile, waits) && profile_waits_of_uploads(profile, waits, &uploads);
	for (uint32_t i = 0; i < profile->track_count; i++) {
		const struct profile_track *track = &profile->tracks[i];
		struct profile_gpu *gpu = track->work_count ? gpu_of(profile, idle, i) : NULL;
		has_host |= track->host_count > 0;
		has_runtime |= track->has_runtime;
		if (gpu)
			gpu->streams++;
		else
			idle->streams_left_out += track->work_count > 0;
	}
	bool has_cause = has_host && !profile->has_skewed_clock;
	if (idle->gpu_count)
		qsort(idle->gpus, idle->gpu_count, sizeof *idle->gpus, by_index);
	all_steps(profile, idle);
	for (uint32_t i = 0; i < idle->gpu_count && is_good; i++) {
		idle->gpus[i].has_split = has_cause;
		is_good = find_gpu(profile, waits, &uploads, idle, i);
	}
	find_mean(idle);
	free(uploads.rows);
	for (uint32_t i = 0; i < idle->gap_count && has_cause; i++)
		explain_gap(profile, waits, &idle->gaps[i], has_runtime);
	return is_good;
}

void profile_idle_release(struct profile_idle *idle)
{
	free(idle->steps);
	*idle = (struct profile_idle){ 0 };
}
