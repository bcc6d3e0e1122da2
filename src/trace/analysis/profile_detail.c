#include "src/trace/analysis/profile_detail.h"

#include "src/trace/analysis/profile_device.h"
#include "src/trace/analysis/profile_waits.h"
#include "src/trace/store/profile_kinds.h"

/* Whether an event has a row of its own among operators, annotations and modules: not a call of the driver, not a plain
 * Python function. */
static bool has_row(struct profile *profile, const struct profile_host *host)
{
	enum profile_kind kind = profile_kind_of(host->name);
	uint32_t name = profile_name_of(host->name);
	if (host->name & PROFILE_MERGED || profile_name_traits(&profile->names, name) & TRAIT_HIDDEN)
		return false;
	return kind <= PROFILE_ANNOTATION || (kind == PROFILE_PYTHON && profile_host_is_module(profile, name));
}

/* The nearest event around it that has a row, or NULL. */
static const struct profile_host *around(
	struct profile *profile, const struct profile_track *track, const struct profile_host *host)
{
	while (host->parent != PROFILE_NONE) {
		host = &track->hosts[host->parent];
		if (has_row(profile, host))
			return host;
	}
	return NULL;
}

static uint32_t row_of(struct profile *profile, const struct profile_host *host)
{
	return host ? profile_host_row_name(profile, host->name) : 0;
}

static uint32_t line_of(
	const struct profile *profile, const struct profile_track *track, const struct profile_host *host)
{
	return profile_host_line(profile, track, (uint32_t)(host - track->hosts));
}

/* -- an operator -- */

struct op_search {
	struct profile *profile;
	uint32_t name;
	struct profile_op_detail *out;
};

static void add_time(struct op_search *search, const struct profile_track *track, const struct profile_host *host,
	uint64_t count, int64_t host_ns, int64_t gpu_ns)
{
	struct profile *profile = search->profile;
	struct profile_op_detail *out = search->out;
	profile_shares_add(profile, &out->callers, row_of(profile, around(profile, track, host)), count, host_ns, gpu_ns);
	profile_shares_add(profile, &out->shapes, host->shape, count, host_ns, gpu_ns);
	profile_shares_add(profile, &out->lines, line_of(profile, track, host), count, host_ns, gpu_ns);
}

/* Whether the time of calls within calls of the same name counts once. */
static bool is_once(const struct profile *profile, const struct profile_host *host)
{
	return !profile_host_is_as_key_averages(profile, host);
}

/* Whether it is such a call within a call. */
static bool is_recursive(struct op_search *search, const struct profile_track *track, const struct profile_host *host)
{
	const struct profile_host *at = is_once(search->profile, host) ? around(search->profile, track, host) : NULL;
	while (at && row_of(search->profile, at) != search->name)
		at = around(search->profile, track, at);
	return at;
}

static void add_host(struct op_search *search, const struct profile_track *track, const struct profile_host *host)
{
	struct profile *profile = search->profile;
	bool is_call = profile_kind_of(host->name) == PROFILE_RUNTIME;
	if (!is_call && !has_row(profile, host))
		return;
	uint32_t name = row_of(profile, host);
	if (name == search->name) {
		add_time(search, track, host, 1, is_recursive(search, track, host) ? 0 : host->duration_ns, 0);
		profile_spread_add(&search->out->durations, host->duration_ns);
	}
	if (row_of(profile, around(profile, track, host)) == search->name)
		profile_shares_add(profile, &search->out->parts, name, 1,
			is_once(profile, host) && name == search->name ? 0 : host->duration_ns, 0);
}

/* Work counts in every operator around it, as in the totals of the table. */
static void add_launch(const struct profile_launch *launch, void *context)
{
	struct op_search *search = context;
	const struct profile_host *host = launch->op;
	uint32_t part = 0;
	bool is_found = false;
	/* What JAX says of a kernel comes before the host's event that launches it, as in the table. */
	if (launch->work->op)
		host = NULL, is_found = launch->work->op == search->name;
	if (host && !has_row(search->profile, host))
		host = around(search->profile, launch->op_track, host);
	for (; host; host = around(search->profile, launch->op_track, host)) {
		uint32_t name = row_of(search->profile, host);
		if (name == search->name && !(is_found && is_once(search->profile, host))) {
			is_found = true;
			add_time(search, launch->op_track, host, 0, 0, launch->work->duration_ns);
			if (part)
				profile_shares_add(search->profile, &search->out->parts, part, 0, 0, launch->work->duration_ns);
		}
		part = name;
	}
	if (is_found)
		profile_shares_add(search->profile, &search->out->kernels, launch->work->name, 1, 0, launch->work->duration_ns);
}

bool profile_detail_op(struct profile *profile, uint32_t name, struct profile_op_detail *out)
{
	struct op_search search = { profile, name, out };
	*out = (struct profile_op_detail){ 0 };
	for (uint32_t t = 0; t < profile->track_count; t++)
		for (uint32_t i = 0; i < profile->tracks[t].host_count; i++)
			add_host(&search, &profile->tracks[t], &profile->tracks[t].hosts[i]);
	bool is_good = profile_device_each(profile, add_launch, &search);
	profile_shares_sort(&out->callers);
	profile_shares_sort(&out->parts);
	profile_shares_sort(&out->shapes);
	profile_shares_sort(&out->lines);
	profile_shares_sort(&out->kernels);
	profile_spread_settle(&out->durations);
	return is_good && !profile->no_memory;
}

void profile_detail_op_release(struct profile_op_detail *detail)
{
	profile_shares_release(&detail->callers);
	profile_shares_release(&detail->parts);
	profile_shares_release(&detail->shapes);
	profile_shares_release(&detail->lines);
	profile_shares_release(&detail->kernels);
	profile_spread_release(&detail->durations);
}

/* -- a kernel -- */

struct work_search {
	struct profile *profile;
	uint32_t name;
	struct profile_work_detail *out;
};

static void add_work(const struct profile_launch *launch, void *context)
{
	struct work_search *search = context;
	const struct profile_work *work = launch->work;
	const struct profile_host *op = launch->op;
	if (profile_name_of(work->name) != profile_name_of(search->name))
		return;
	profile_spread_add(&search->out->durations, work->duration_ns);
	if (launch->has_delay && launch->delay_ns >= 0 && !search->profile->has_skewed_clock)
		profile_spread_add(&search->out->delays, launch->delay_ns);
	profile_shares_add(search->profile, &search->out->lines, op ? line_of(search->profile, launch->op_track, op) : 0, 1,
		0, work->duration_ns);
	if (op && !has_row(search->profile, op))
		op = around(search->profile, launch->op_track, op);
	profile_shares_add(
		search->profile, &search->out->ops, work->op ? work->op : row_of(search->profile, op), 1, 0, work->duration_ns);
}

bool profile_detail_work(struct profile *profile, uint32_t name, struct profile_work_detail *out)
{
	struct work_search search = { profile, name, out };
	*out = (struct profile_work_detail){ 0 };
	bool is_good = profile_device_each(profile, add_work, &search);
	profile_shares_sort(&out->ops);
	profile_shares_sort(&out->lines);
	profile_spread_settle(&out->durations);
	profile_spread_settle(&out->delays);
	return is_good && !profile->no_memory;
}

void profile_detail_work_release(struct profile_work_detail *detail)
{
	profile_shares_release(&detail->ops);
	profile_shares_release(&detail->lines);
	profile_spread_release(&detail->durations);
	profile_spread_release(&detail->delays);
}

/* -- a gap -- */

static int64_t within(const struct profile_host *host, const struct profile_gap *gap)
{
	int64_t from = host->start_ns > gap->start_ns ? host->start_ns : gap->start_ns, end = profile_host_end(host);
	int64_t length = (end < gap->end_ns ? end : gap->end_ns) - from;
	return length > 0 ? length : 0;
}

/* An event's time counts for it, and no longer for the one around it. */
static void add_inside(struct profile *profile, struct profile_gap_thread *thread, const struct profile_gap *gap)
{
	const struct profile_track *track = thread->track;
	for (uint32_t i = 0; i < track->host_count && track->hosts[i].start_ns < gap->end_ns; i++) {
		const struct profile_host *host = &track->hosts[i];
		int64_t ns = within(host, gap);
		if (!ns)
			continue;
		profile_shares_add(profile, &thread->inside, host->name & ~PROFILE_MERGED, 1, ns, 0);
		if (host->parent == PROFILE_NONE)
			thread->covered_ns += ns;
		else
			profile_shares_add(profile, &thread->inside, track->hosts[host->parent].name & ~PROFILE_MERGED, 0, -ns, 0);
	}
	profile_shares_sort(&thread->inside);
}

bool profile_detail_gap(struct profile *profile, const struct profile_waits *waits, const struct profile_gap *gap,
	struct profile_gap_detail *out)
{
	bool has_runtime = false;
	*out = (struct profile_gap_detail){ 0 };
	profile_waits_split(waits, 0, gap->start_ns, gap->end_ns, out->split_ns);
	for (uint32_t i = 0; i < profile->track_count; i++)
		has_runtime |= profile->tracks[i].has_runtime;
	for (uint32_t i = 0; i < profile->track_count && out->thread_count < PROFILE_GAP_THREADS_MAX; i++) {
		const struct profile_track *track = &profile->tracks[i];
		if (!track->host_count || (has_runtime && !track->has_runtime))
			continue;
		out->threads[out->thread_count].track = track;
		add_inside(profile, &out->threads[out->thread_count++], gap);
	}
	return !profile->no_memory;
}

void profile_detail_gap_release(struct profile_gap_detail *detail)
{
	for (unsigned i = 0; i < detail->thread_count; i++)
		profile_shares_release(&detail->threads[i].inside);
}
