#include "src/trace/analysis/profile_device.h"

#include <stdlib.h>

#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"

/* Host events by their link: pages of consecutive links, as links come in clusters; a table if they are too scattered
 * for that. Values: index over all tracks + 1; 0 = none. */
enum { LINKS_A_PAGE = 64 };
struct links {
	uint32_t first, last;
	uint32_t *pages; /* by (link − first) / LINKS_A_PAGE: number of the page; 0 = none; NULL: the table is used */
	uint32_t *values;
	uint32_t page_count, page_capacity;
	struct profile_table *table;
};

/* By how much kernels begin after their launch. */
struct delays {
	uint64_t count, early_count; /* early: before it, by more than the error of converted clocks */
	int64_t shortest_ns;
};

enum { CLOCK_ERROR_NS = 50000, EARLY_SHARE_MAX = 10, LATE_COUNT_MIN = 10 };
#define LATE_NS 10000000000 /* no queue of launches lasts so long */

/* Work in sequence that one event launches. */
struct own {
	const struct profile_track *track;
	const struct profile_host *host; /* NULL: none */
	int64_t ns;
	uint64_t count;
};

struct join {
	struct profile *profile;
	struct profile_ops *ops;
	struct own own;
	uint64_t batch_count; /* so far */
	struct delays delays;
	struct profile_table *launchers; /* (kernel row, name of operator) → time */
};

static bool is_linked(const struct profile_host *host, bool is_call)
{
	enum profile_kind kind = profile_kind_of(host->name);
	return host->link && (is_call ? kind == PROFILE_RUNTIME : kind == PROFILE_OP || kind == PROFILE_ANNOTATION);
}

static uint64_t measure(const struct profile *profile, bool is_call, struct links *links)
{
	uint64_t total = 0;
	links->first = UINT32_MAX;
	for (uint32_t t = 0; t < profile->track_count; t++)
		for (uint32_t i = 0; i < profile->tracks[t].host_count; i++) {
			const struct profile_host *host = &profile->tracks[t].hosts[i];
			if (!is_linked(host, is_call))
				continue;
			links->first = host->link < links->first ? host->link : links->first;
			links->last = host->link > links->last ? host->link : links->last;
			total++;
		}
	return total;
}

static bool set_link(struct profile *profile, struct links *links, uint32_t link, uint32_t value)
{
	if (!links->pages) {
		struct profile_entry *entry = profile_table_at(links->table, link);
		if (entry)
			entry->bits = value;
		return entry != NULL;
	}
	uint32_t offset = link - links->first, *page = &links->pages[offset / LINKS_A_PAGE];
	if (!*page) {
		if (!profile_grow(profile, &links->values, &links->page_capacity, links->page_count,
				LINKS_A_PAGE * sizeof *links->values))
			return false;
		memset(links->values + (size_t)links->page_count * LINKS_A_PAGE, 0, LINKS_A_PAGE * sizeof *links->values);
		*page = ++links->page_count;
	}
	links->values[(size_t)(*page - 1) * LINKS_A_PAGE + offset % LINKS_A_PAGE] = value;
	return true;
}

static bool link_all(struct profile *profile, bool is_call, struct links *links)
{
	uint64_t total = measure(profile, is_call, links), range = total ? (uint64_t)links->last - links->first + 1 : 1;
	if (range / LINKS_A_PAGE <= total + LINKS_A_PAGE)
		links->pages = calloc(range / LINKS_A_PAGE + 1, sizeof *links->pages);
	else
		links->table = profile_table_new();
	if (!links->pages && !links->table)
		return false;
	for (uint32_t t = 0; t < profile->track_count; t++)
		for (uint32_t i = 0; i < profile->tracks[t].host_count; i++)
			if (is_linked(&profile->tracks[t].hosts[i], is_call) &&
				!set_link(profile, links, profile->tracks[t].hosts[i].link, profile->tracks[t].host_base + i + 1))
				return false;
	return true;
}

static uint64_t get_link(const struct links *links, uint32_t link)
{
	if (!links->pages) {
		const struct profile_entry *entry = profile_table_find(links->table, link);
		return entry ? entry->bits : 0;
	}
	uint32_t offset = link - links->first, page = 0;
	if (link >= links->first && link <= links->last)
		page = links->pages[offset / LINKS_A_PAGE];
	return page ? links->values[(size_t)(page - 1) * LINKS_A_PAGE + offset % LINKS_A_PAGE] : 0;
}

static void release(struct links *links)
{
	free(links->pages);
	free(links->values);
	profile_table_free(links->table);
}

/* The track of an index over all tracks. */
static const struct profile_track *track_at(const struct profile *profile, uint32_t index)
{
	uint32_t low = 0, high = profile->track_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (profile->tracks[middle].host_base <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return &profile->tracks[low - 1];
}

static bool is_graph(struct profile *profile, const struct profile_host *call)
{
	return profile_name_traits(&profile->names, profile_name_of(call->name)) & TRAIT_GRAPH;
}

static const struct profile_host *find(
	const struct profile *profile, const struct links *links, uint32_t link, const struct profile_track **track)
{
	uint64_t found = link ? get_link(links, link) : 0;
	if (!found)
		return NULL;
	*track = track_at(profile, (uint32_t)found - 1);
	return &(*track)->hosts[found - 1 - (*track)->host_base];
}

/* When the first work of each graph starts, by correlation. NULL: no memory. */
static struct profile_table *find_graphs(struct profile *profile, const struct links *calls)
{
	struct profile_table *starts = profile_table_new();
	for (uint32_t t = 0; t < profile->track_count && starts && profile->has_graphs; t++)
		for (uint32_t i = 0; i < profile->tracks[t].work_count; i++) {
			const struct profile_work *work = &profile->tracks[t].works[i];
			const struct profile_track *track;
			const struct profile_host *call = find(profile, calls, work->correlation, &track);
			if (!call || !is_graph(profile, call))
				continue;
			struct profile_entry *entry = profile_table_at(starts, work->correlation);
			if (entry && (!entry->count++ || work->start_ns < entry->whole))
				entry->whole = work->start_ns;
		}
	return starts;
}

static void find_delay(struct profile *profile, const struct profile_table *graphs, struct profile_launch *launch)
{
	if (!launch->call)
		return;
	launch->is_of_graph = profile->has_graphs && is_graph(profile, launch->call);
	launch->delay_ns = launch->work->start_ns - launch->call->start_ns;
	const struct profile_entry *first =
		launch->is_of_graph ? profile_table_find(graphs, launch->work->correlation) : NULL;
	launch->has_delay = !first || first->whole == launch->work->start_ns;
}

/* Joins the work to the operator around its launch. Older releases write the correlation as the External id of the
 * work, which may be that of another operator. */
static void find_op_around(const struct profile_track *track, struct profile_launch *launch)
{
	uint32_t parent = launch->call->parent;
	while (launch->op && parent != PROFILE_NONE && profile_kind_of(track->hosts[parent].name) == PROFILE_PYTHON)
		parent = track->hosts[parent].parent;
	if (parent == PROFILE_NONE)
		return;
	launch->op_track = track;
	launch->op = &track->hosts[parent];
}

bool profile_device_each(
	struct profile *profile, void (*take)(const struct profile_launch *launch, void *context), void *context)
{
	struct links ops_by_id = { 0 }, calls_by_correlation = { 0 };
	bool is_good = link_all(profile, false, &ops_by_id) && link_all(profile, true, &calls_by_correlation);
	struct profile_table *graphs = is_good ? find_graphs(profile, &calls_by_correlation) : NULL;
	is_good = graphs;
	for (uint32_t t = 0; t < profile->track_count && is_good; t++)
		for (uint32_t i = 0; i < profile->tracks[t].work_count; i++) {
			const struct profile_work *work = &profile->tracks[t].works[i];
			const struct profile_track *call_track = NULL;
			struct profile_launch launch = { .track = &profile->tracks[t], .work = work };
			launch.call = find(profile, &calls_by_correlation, work->correlation, &call_track);
			launch.op = find(profile, &ops_by_id, work->external_id, &launch.op_track);
			if (launch.call && (!launch.op || work->external_id == work->correlation))
				find_op_around(call_track, &launch);
			find_delay(profile, graphs, &launch);
			take(&launch, context);
		}
	profile_table_free(graphs);
	release(&ops_by_id);
	release(&calls_by_correlation);
	return is_good;
}

/* -- the rows of operators and kernels -- */

/* Whether the batch is counted in the row already: the function calls itself. */
static bool is_again(const struct join *join, const struct profile_op *row, const struct profile_host *host)
{
	return row->counted == join->batch_count && !profile_host_is_as_key_averages(join->profile, host);
}

static void add_to_rows(struct join *join, const struct own *own)
{
	const struct profile_host *host = own->host;
	bool is_self = true;
	for (;; host = &own->track->hosts[host->parent]) {
		if (!(host->name & PROFILE_MERGED)) {
			struct profile_op *row = profile_host_row(join->profile, join->ops, own->track, host);
			if (row) {
				row->gpu_total_ns += is_again(join, row, host) ? 0 : own->ns;
				row->counted = join->batch_count;
				row->gpu_self_ns += is_self ? own->ns : 0;
				row->kernel_count += is_self ? own->count : 0;
			}
			is_self = false;
		}
		if (host->parent == PROFILE_NONE)
			return;
	}
}

/* Ends the batch of work that one event launches. */
static void end_batch(struct join *join)
{
	if (!join->own.host)
		return;
	join->batch_count++;
	add_to_rows(join, &join->own);
	join->own = (struct own){ 0 };
}

static void add_to_batch(struct join *join, const struct profile_launch *launch)
{
	if (join->own.host != launch->op)
		end_batch(join);
	join->own.track = launch->op_track;
	join->own.host = launch->op;
	join->own.ns += launch->work->duration_ns;
	join->own.count++;
}

static void note_launcher(struct join *join, struct profile_kernel *kernel, uint32_t op, int64_t ns)
{
	uint64_t key = (uint64_t)(kernel - join->profile->kernels) << 32 | op;
	struct profile_entry *entry = profile_table_at(join->launchers, key);
	if (!entry)
		return;
	entry->whole += ns;
	if (!kernel->op || entry->whole > kernel->op_ns) {
		kernel->op = op;
		kernel->op_ns = entry->whole;
	}
}

/* A row of its own for the operation of JAX that a kernel computes; the host does not say when it runs. */
static void add_operation(struct join *join, const struct profile_work *work)
{
	const struct profile_host operation = { .name = work->op, .parent = PROFILE_NONE };
	struct profile_op *row = profile_host_row(join->profile, join->ops, NULL, &operation);
	if (!row)
		return;
	row->count += !row->has_host;
	row->gpu_total_ns += work->duration_ns;
	row->gpu_self_ns += work->duration_ns;
	row->kernel_count++;
}

static void note_delay(struct delays *delays, int64_t delay_ns)
{
	delays->count++;
	delays->early_count += delay_ns < -CLOCK_ERROR_NS;
	delays->shortest_ns = delay_ns < delays->shortest_ns ? delay_ns : delays->shortest_ns;
}

static bool is_skewed(const struct delays *delays)
{
	return delays->early_count > delays->count / EARLY_SHARE_MAX ||
		(delays->count >= LATE_COUNT_MIN && delays->shortest_ns > LATE_NS);
}

/* Launch delays are known no longer. */
static void forget_delays(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->kernel_count; i++)
		profile->kernels[i].delay_count = 0;
}

static void join_work(const struct profile_launch *launch, void *context)
{
	struct join *join = context;
	const struct profile_work *work = launch->work;
	struct profile_kernel *kernel = profile_kind_of(work->name) == PROFILE_KERNEL
		? profile_kernel_of(join->profile, profile_name_of(work->name))
		: NULL;
	if (kernel && launch->has_delay)
		note_delay(&join->delays, launch->delay_ns);
	if (kernel && launch->has_delay && launch->delay_ns >= 0) {
		kernel->delay_ns += launch->delay_ns;
		kernel->delay_count++;
	}
	join->profile->graph_kernel_count += kernel && launch->is_of_graph;
	if (work->op) {
		add_operation(join, work);
		if (kernel)
			note_launcher(join, kernel, work->op, work->duration_ns);
	} else if (launch->op) {
		add_to_batch(join, launch);
		if (kernel)
			note_launcher(join, kernel, profile_name_of(launch->op->name), work->duration_ns);
	}
}

bool profile_device_join(struct profile *profile, struct profile_ops *ops)
{
	struct join join = {
		.profile = profile, .ops = ops, .launchers = profile_table_new(), .delays = { .shortest_ns = INT64_MAX }
	};
	profile->graph_kernel_count = 0;
	bool is_good = join.launchers && profile_device_each(profile, join_work, &join);
	end_batch(&join);
	profile->has_skewed_clock = is_skewed(&join.delays);
	if (profile->has_skewed_clock)
		forget_delays(profile);
	profile_table_free(join.launchers);
	return is_good;
}
