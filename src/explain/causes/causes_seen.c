/* What the samplers saw of other processes while a slow batch ran: DataLoader workers, and children of the run. */
#include "src/explain/causes/causes_seen.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_claims.h"
#include "src/explain/causes/causes_words.h"

/* A fetch is slow above this multiple of the worker's median. */
#define FETCH_SLOW 1.5
/* A sampled state explains the whole wait if the samplers saw at least this share of it: readings may be far apart. */
#define SEEN_RATIO 0.25

/* -- what the samplers saw -- */

double seen_excess(const struct case_file *file, enum metric metric, int32_t instance)
{
	const struct window_figure *figure = file->batch_window && file->batch_window->readings
		? batch_window_find(file->batch_window, metric, instance)
		: NULL;
	double excess = figure ? figure->min - (isnan(figure->baseline) ? 0 : figure->baseline) : 0;
	return excess > 0 && isfinite(excess) ? excess : 0;
}

double seen_about(const struct case_file *file, enum metric metric)
{
	const struct window_figure *figure = file->batch_window ? batch_window_find(file->batch_window, metric, 0) : NULL;
	double max = figure && isfinite(figure->max) ? figure->max : 0;
	return figure
		? fmax(max, fmax(isnan(figure->min) ? 0 : figure->min, isnan(figure->baseline) ? 0 : figure->baseline))
		: 0;
}

const struct window_event *seen_event(const struct case_file *file, enum window_event_kind kind, int32_t pid)
{
	const struct window_event *found = NULL;
	for (size_t i = 0; file->batch_window && i < file->batch_window->event_count; i++) {
		const struct window_event *event = &file->batch_window->events[i];
		if (event->kind == kind && (!pid || event->pid == pid) && (!found || !(event->value <= found->value)))
			found = event;
	}
	return found;
}

double seen_seconds(const struct case_file *file, enum window_event_kind kind)
{
	const struct window_event *event =
		file->batch_window && file->batch_window->readings ? seen_event(file, kind, 0) : NULL;
	return event && isfinite(event->value) ? fabs(event->value) : 0;
}

/* -- DataLoader workers: what training waits for in its data phase -- */

/* The excess of a slow fetch over the worker's median. */
static double fetch_excess(const struct window_event *fetch)
{
	return fetch && fetch->value > FETCH_SLOW * fetch->baseline ? excess_over(fetch->value, fetch->baseline) : 0;
}

/* The fetch with the largest excess, over all workers. */
static const struct window_event *slowest_fetch(const struct case_file *file)
{
	const struct window_event *found = NULL;
	for (size_t i = 0; i < file->batch_window->event_count; i++)
		if (file->batch_window->events[i].kind == WINDOW_WORKER_FETCHED &&
			fetch_excess(&file->batch_window->events[i]) > fetch_excess(found))
			found = &file->batch_window->events[i];
	return found;
}

/* A worker that is stopped or waits for the disk, which samplers see only at their readings. If they saw it for at
 * least SEEN_RATIO of the worker's slow fetch (or of the wait), it explains all of that; otherwise only the time seen.
 */
static void claim_worker_state(
	struct case_file *file, struct pool *pool, enum window_event_kind seen, enum cause_kind kind, const char *key)
{
	const struct window_event *event = file->batch_window->readings ? seen_event(file, seen, 0) : NULL;
	if (!event || !(event->value > 0))
		return;
	const struct window_event *fetch = seen_event(file, WINDOW_WORKER_FETCHED, event->pid);
	double whole_s = fetch_excess(fetch) > 0 ? fetch_excess(fetch) : pool->left_s;
	struct claim claim = { .kind = kind,
		.seconds = pool_take(
			&pool->left_s, event->value >= SEEN_RATIO * whole_s ? fmax(event->value, whole_s) : event->value) };
	call_worker(event, claim.who);
	claim_evidence(&claim, key, event->value, event->baseline);
	if (fetch)
		claim_evidence(&claim, "fetch_s", fetch->value, fetch->baseline);
	causes_add(file, pool->row, &claim);
}

static void claim_starved(struct case_file *file, struct pool *pool)
{
	double longest_ns = 0, baseline_ns = NAN, seen_ns = 0;
	for (size_t i = 0; i < file->batch_window->event_count; i++) {
		const struct window_event *event = &file->batch_window->events[i];
		double over_ns =
			event->kind == WINDOW_WORKER_FETCHED ? seen_excess(file, METRIC_PROCESS_RUN_QUEUE_WAIT, event->pid) : 0;
		const struct window_figure *figure = over_ns > longest_ns
			? batch_window_find(file->batch_window, METRIC_PROCESS_RUN_QUEUE_WAIT, event->pid)
			: NULL;
		if (!figure)
			continue;
		longest_ns = over_ns;
		seen_ns = figure->min;
		baseline_ns = figure->baseline;
	}
	struct claim claim = { .kind = CAUSE_WORKER_STARVED, .seconds = pool_take(&pool->left_s, longest_ns * S_PER_NS) };
	claim_evidence(&claim, "worker_run_queue_wait_s", seen_ns * S_PER_NS, baseline_ns * S_PER_NS);
	causes_add(file, pool->row, &claim);
}

static void claim_slow_fetch(struct case_file *file, struct pool *pool)
{
	const struct window_event *fetch = slowest_fetch(file);
	if (!fetch)
		return;
	struct claim claim = { .kind = CAUSE_WORKER_SLOW, .seconds = pool_take(&pool->left_s, fetch_excess(fetch)) };
	call_worker(fetch, claim.who);
	claim_evidence(&claim, "fetch_s", fetch->value, fetch->baseline);
	causes_add(file, pool->row, &claim);
}

static void claim_gone(struct case_file *file, struct pool *pool)
{
	const struct window_event *event = seen_event(file, WINDOW_WORKER_WENT, 0);
	if (!event)
		return;
	struct claim claim = { .kind = CAUSE_WORKER_GONE, .seconds = pool_take(&pool->left_s, INFINITY) };
	call_worker(event, claim.who);
	claim_evidence(&claim, "worker_pid", event->pid, NAN);
	causes_add(file, pool->row, &claim);
}

void claim_workers(struct case_file *file, struct pool *pool)
{
	if (!file->batch_window || !causes_has_workers(file, pool->row))
		return;
	claim_worker_state(file, pool, WINDOW_WORKER_STOPPED, CAUSE_WORKER_STOPPED, "worker_stopped_s");
	claim_worker_state(file, pool, WINDOW_WORKER_ON_DISK, CAUSE_WORKER_DISK, "worker_on_disk_s");
	claim_starved(file, pool);
	claim_slow_fetch(file, pool);
	claim_gone(file, pool);
}

/* -- children of the run -- */

static const char *const compilers[] = {
	"cc",
	"cc1",
	"cc1plus",
	"gcc",
	"g++",
	"c++",
	"clang",
	"clang++",
	"nvcc",
	"ptxas",
	"cicc",
	"fatbinary",
	"cudafe++",
	"nvlink",
	"hipcc",
	"ld",
	"ld.lld",
	"ld.gold",
	"lld",
	"collect2",
	"as",
	"ninja",
	"rustc",
	"icpx",
};
static const char *const compiling_words[] = { "inductor", "compile_worker", "triton", "torch/_inductor" };

/* "/usr/bin/x86_64-linux-gnu-gcc-12 -c …", "cc1plus", "python -m torch._inductor.compile_worker". */
static bool is_compiler(const char *command)
{
	char name[WINDOW_TEXT_SIZE];
	size_t length = strcspn(command, " ");
	for (size_t i = 0; i < sizeof compiling_words / sizeof *compiling_words; i++)
		if (strstr(command, compiling_words[i]))
			return true;
	const char *begin = command + length;
	while (begin > command && begin[-1] != '/')
		begin--;
	snprintf(name, sizeof name, "%.*s", (int)(command + length - begin), begin);
	for (char *dash = strrchr(name, '-'); dash && isdigit((unsigned char)dash[1]); dash = strrchr(name, '-'))
		*dash = '\0';
	const char *plain = strstr(name, "-linux-") ? strrchr(name, '-') + 1 : name;
	for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++)
		if (strcmp(plain, compilers[i]) == 0)
			return true;
	return false;
}

/* The child's lifetime inside the window. */
static double alive_s(const struct case_file *file, const struct window_event *event)
{
	const struct window_event *went = seen_event(file, WINDOW_CHILD_WENT, event->pid);
	int64_t from_ns = event->kind == WINDOW_CHILD_CAME && event->time_ns > file->batch_window->from_ns
		? event->time_ns
		: file->batch_window->from_ns;
	int64_t to_ns = went && went->time_ns < file->batch_window->to_ns ? went->time_ns : file->batch_window->to_ns;
	return to_ns > from_ns ? (double)(to_ns - from_ns) * S_PER_NS : 0;
}

/* The most relevant child: compilers first, then the longest lifetime. */
struct child find_child(const struct case_file *file)
{
	struct child best = { .event = NULL };
	for (size_t i = 0; file->batch_window && file->batch_window->readings && i < file->batch_window->event_count; i++) {
		const struct window_event *event = &file->batch_window->events[i];
		if (event->kind != WINDOW_CHILD_CAME && event->kind != WINDOW_CHILD_RAN)
			continue;
		const struct window_event *ran =
			event->kind == WINDOW_CHILD_RAN ? event : seen_event(file, WINDOW_CHILD_RAN, event->pid);
		struct child child = { .event = event,
			.is_compiler = is_compiler(event->text),
			.came = event->kind == WINDOW_CHILD_CAME && event->time_ns <= file->batch_window->to_ns,
			.went = seen_event(file, WINDOW_CHILD_WENT, event->pid),
			.alive_s = alive_s(file, event),
			.cpu_s = ran ? excess_over(ran->value, isnan(ran->baseline) ? 0 : ran->baseline) : 0 };
		child.cpu_s = isnan(child.cpu_s) ? 0 : child.cpu_s;
		if (!best.event || child.is_compiler > best.is_compiler ||
			(child.is_compiler == best.is_compiler && child.alive_s > best.alive_s))
			best = child;
	}
	return best;
}

void claim_child(struct case_file *file, struct pool *pool, double *from_s, const struct child *child,
	enum cause_kind kind, double max_s)
{
	struct claim claim = { .kind = kind, .seconds = pool_take(from_s, max_s) };
	snprintf(claim.who, sizeof claim.who, "%.*s", (int)strcspn(child->event->text, " "), child->event->text);
	claim_evidence(&claim, "child_s", child->alive_s, NAN);
	if (child->cpu_s > 0)
		claim_evidence(&claim, "child_cpu_s", child->cpu_s, NAN);
	causes_add(file, pool->row, &claim);
}
