#include "src/trace/analysis/profile_strays.h"

#include "src/trace/store/profile_flops.h"
#include "src/trace/store/profile_table.h"

enum { BINS = 256, EMPTY_BINS_MIN = BINS / 10 * 9, SHARE_MAX = 100, PASSES_MAX = 8 };
#define WINDOW_MIN_NS 600000000000

struct bins {
	const struct profile *profile;
	uint64_t counts[BINS]; /* of beginnings and ends */
	int64_t size_ns;
};

/* What the window spans, and what lies in it. */
struct range {
	int64_t start_ns, end_ns;
};

/* A Python function of PyTorch may have begun long before. */
static bool is_in_window(const struct profile *profile, const struct profile_host *host)
{
	return profile_kind_of(host->name) != PROFILE_PYTHON || !profile->has_categories;
}

static void add_point(struct bins *bins, int64_t at_ns)
{
	int64_t bin = (at_ns - bins->profile->start_ns) / bins->size_ns;
	bins->counts[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
}

static void fill(struct bins *bins)
{
	for (uint32_t t = 0; t < bins->profile->track_count; t++) {
		const struct profile_track *track = &bins->profile->tracks[t];
		for (uint32_t i = 0; i < track->host_count; i++)
			if (is_in_window(bins->profile, &track->hosts[i])) {
				add_point(bins, track->hosts[i].start_ns);
				add_point(bins, profile_host_end(&track->hosts[i]));
			}
		for (uint32_t i = 0; i < track->work_count; i++) {
			add_point(bins, track->works[i].start_ns);
			add_point(bins, profile_work_end(&track->works[i]));
		}
	}
}

/* The range of what is no stray; false: there is none, or too much is beyond the empty part. */
static bool find_range(const struct bins *bins, struct range *range)
{
	int from = 0, to = 0;
	uint64_t before = 0, after = 0;
	for (int i = 0, first = 0; i < BINS; i++) {
		if (bins->counts[i])
			first = i + 1;
		else if (i + 1 - first > to - from)
			from = first, to = i + 1;
	}
	if (to - from < EMPTY_BINS_MIN)
		return false;
	for (int i = 0; i < BINS; i++)
		*(i < from ? &before : &after) += bins->counts[i];
	*range = (struct range){ bins->profile->start_ns, bins->profile->end_ns };
	if (before < after)
		range->start_ns += from * bins->size_ns;
	else
		range->end_ns = range->start_ns + to * bins->size_ns;
	return (before < after ? before : after) <= (before + after) / SHARE_MAX;
}

static bool is_within(const struct range *range, int64_t start_ns, int64_t end_ns)
{
	return start_ns >= range->start_ns && end_ns <= range->end_ns;
}

/* -- what the reader has counted of them -- */

/* Its other figures are known no longer, or found anew. */
static void uncount_work(struct profile *profile, const struct profile_work *work)
{
	uint32_t name = profile_name_of(work->name);
	struct profile_kernel *kernel = NULL;
	struct profile_copy *copy = NULL;
	if (profile_kind_of(work->name) == PROFILE_KERNEL)
		kernel = profile_kernel_of(profile, name);
	else
		copy = profile_copy_of(profile, name);
	if (kernel) {
		kernel->count--;
		kernel->total_ns -= work->duration_ns;
		kernel->occupancy_ns = kernel->occupancy_sum = 0;
		kernel->min_ns = INT64_MAX;
		kernel->max_ns = -1;
	}
	if (copy) {
		copy->count--;
		copy->total_ns -= work->duration_ns;
		copy->bytes = copy->bytes_count = 0;
	}
}

static void find_extremes(struct profile *profile, const struct profile_track *track)
{
	for (uint32_t i = 0; i < track->work_count; i++) {
		const struct profile_work *work = &track->works[i];
		struct profile_kernel *kernel = profile_kind_of(work->name) == PROFILE_KERNEL
			? profile_kernel_of(profile, profile_name_of(work->name))
			: NULL;
		if (!kernel)
			continue;
		kernel->min_ns = work->duration_ns < kernel->min_ns ? work->duration_ns : kernel->min_ns;
		kernel->max_ns = work->duration_ns > kernel->max_ns ? work->duration_ns : kernel->max_ns;
	}
}

static void set_copy_row(struct profile *profile, uint32_t name, uint32_t row)
{
	struct profile_entry *entry = profile_table_at(profile->copy_rows, name);
	if (entry)
		entry->bits = row;
}

static void remove_empty(struct profile *profile)
{
	for (uint32_t i = profile->kernel_count; i-- > 0;)
		if (!profile->kernels[i].count) {
			profile->names.names[profile->kernels[i].name].row = 0;
			profile->kernels[i] = profile->kernels[--profile->kernel_count];
			if (i < profile->kernel_count)
				profile->names.names[profile->kernels[i].name].row = i + 1;
		}
	for (uint32_t i = profile->copy_count; i-- > 0;)
		if (!profile->copies[i].count) {
			set_copy_row(profile, profile->copies[i].name, 0);
			profile->copies[i] = profile->copies[--profile->copy_count];
			if (i < profile->copy_count)
				set_copy_row(profile, profile->copies[i].name, i + 1);
		}
}

/* -- the events -- */

static void drop_from_track(struct profile *profile, struct profile_track *track, const struct range *range)
{
	uint32_t hosts = 0, works = 0;
	for (uint32_t i = 0; i < track->host_count; i++) {
		const struct profile_host *host = &track->hosts[i];
		if (!is_in_window(profile, host) || is_within(range, host->start_ns, profile_host_end(host)))
			track->hosts[hosts++] = *host;
		else
			profile_flops_remove(profile, profile_name_of(host->name), host->shape);
	}
	for (uint32_t i = 0; i < track->work_count; i++) {
		const struct profile_work *work = &track->works[i];
		if (is_within(range, work->start_ns, profile_work_end(work)))
			track->works[works++] = *work;
		else
			uncount_work(profile, work);
	}
	profile->stray_count += track->host_count - hosts + track->work_count - works;
	track->host_count = hosts;
	track->work_count = works;
}

static void widen(struct profile *profile, const struct profile_track *track)
{
	for (uint32_t i = 0; i < track->host_count; i++)
		if (is_in_window(profile, &track->hosts[i]))
			profile_widen(profile, track->hosts[i].start_ns, profile_host_end(&track->hosts[i]));
	for (uint32_t i = 0; i < track->work_count; i++)
		profile_widen(profile, track->works[i].start_ns, profile_work_end(&track->works[i]));
}

static void drop(struct profile *profile, const struct range *range)
{
	profile->start_ns = INT64_MAX;
	profile->end_ns = INT64_MIN;
	for (uint32_t i = 0; i < profile->track_count; i++)
		drop_from_track(profile, &profile->tracks[i], range);
	for (uint32_t i = 0; i < profile->track_count; i++) {
		find_extremes(profile, &profile->tracks[i]);
		widen(profile, &profile->tracks[i]);
	}
	remove_empty(profile);
}

void profile_strays_drop(struct profile *profile)
{
	for (int pass = 0; pass < PASSES_MAX && profile->end_ns - profile->start_ns > WINDOW_MIN_NS; pass++) {
		struct bins bins = { .profile = profile, .size_ns = (profile->end_ns - profile->start_ns) / BINS + 1 };
		struct range range;
		fill(&bins);
		if (!find_range(&bins, &range))
			return;
		drop(profile, &range);
	}
}
