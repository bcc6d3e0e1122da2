#include "src/model/code/code_threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code.h"
#include "src/model/code/code_samples.h"
#include "src/model/model_private.h"

enum { THREAD_NAMES_MAX = 4096, NAME_SIZE = 64, WAITS_RETAINED = 1024, HOLDERS_MAX = 32 };

/* Samples in one of the slots of the last minute. */
struct slot {
	int64_t number;
	struct code_thread_samples samples;
};

struct thread {
	bool is_used;
	struct code_thread known;
	struct slot slots[CODE_SLOTS];
};

/* Consecutive samples that wait for the same thread at the same line. */
struct wait {
	int64_t begin_ns, end_ns;
	uint32_t group, node, count; /* group: index; node: index plus 1 */
	const char *thread;
};

struct code_threads {
	size_t thread_count, name_count, next_wait, wait_count;
	struct thread *threads;
	char *names[THREAD_NAMES_MAX];
	struct wait waits[WAITS_RETAINED];
	double wait_samples[CODE_GROUPS_MAX]; /* all */
};

void model_free_code_threads(struct model *model)
{
	struct code_threads *all = model->priv->code_threads;
	for (size_t i = 0; all && i < all->name_count; i++)
		free(all->names[i]);
	free(all ? all->threads : NULL);
	free(all);
}

/* NULL: out of memory. */
static struct code_threads *all_threads(struct model *model)
{
	if (!model->priv->code_threads)
		model->priv->code_threads = calloc(1, sizeof *model->priv->code_threads);
	struct code_threads *all = model->priv->code_threads;
	if (all && !all->threads)
		all->threads = calloc(CODE_THREADS_MAX, sizeof *all->threads);
	return all && all->threads ? all : NULL;
}

/* -- threads -- */

/* Names are retained, because causes refer to them. NULL: there is none, or there are too many. */
static const char *retain_name(struct code_threads *all, const char *name)
{
	size_t at = 0;
	if (!name || !name[0])
		return NULL;
	while (at < all->name_count && strncmp(all->names[at], name, NAME_SIZE - 1) != 0)
		at++;
	if (at == THREAD_NAMES_MAX)
		return NULL;
	if (at == all->name_count) {
		if (!(all->names[at] = malloc(NAME_SIZE)))
			return NULL;
		put_text(all->names[at], NAME_SIZE, name);
		all->name_count++;
	}
	return all->names[at];
}

static struct code_thread_samples difference(const struct code_thread_samples *a, const struct code_thread_samples *b)
{
	return (struct code_thread_samples){ a->all - b->all, a->busy - b->busy, a->waits - b->waits };
}

static void add(struct code_thread_samples *to, const struct code_thread_samples *samples)
{
	to->all += samples->all;
	to->busy += samples->busy;
	to->waits += samples->waits;
}

static int64_t slot_number(const struct model *model) { return model->now_ns / (CODE_SLOT_S * NS_PER_S); }

static void add_recent(const struct model *model, struct thread *thread, const struct code_thread_samples *now)
{
	struct code_thread_samples new = difference(now, &thread->known.total);
	int64_t number = slot_number(model);
	struct slot *slot = &thread->slots[(uint64_t)number % CODE_SLOTS];
	if (!(new.all > 0 && new.busy >= 0 && new.waits >= 0))
		return;
	if (slot->number != number)
		*slot = (struct slot){ .number = number };
	add(&slot->samples, &new);
}

void model_take_code_thread(struct model *model, const struct record *record, bool is_snapshot)
{
	size_t at = record->code_thread.id - 1u, group = record->code_thread.group - 1u;
	struct code_threads *all = at < CODE_THREADS_MAX && group < CODE_GROUPS_MAX ? all_threads(model) : NULL;
	if (!all || !model->code.groups[group].is_used)
		return;
	struct thread *thread = &all->threads[at];
	double samples = (double)record->code_thread.samples;
	struct code_thread_samples now = { samples, fmin((double)record->code_thread.busy, samples),
		fmin((double)record->code_thread.waits, samples) };
	bool is_same = thread->is_used && thread->known.group == group && thread->known.tid == record->code_thread.tid &&
		now.all >= thread->known.total.all;
	if (!is_same)
		*thread = (struct thread){ .is_used = true };
	if (!is_snapshot)
		add_recent(model, thread, &now);
	size_t node = record->code_thread.node;
	bool has_node = node > 0 && node <= model->code.node_count && model->code.nodes[node - 1].is_used;
	thread->known = (struct code_thread){ .group = (uint32_t)group,
		.tid = record->code_thread.tid,
		.state = (char)record->code_thread.state,
		.name = retain_name(all, record->code_thread.name),
		.node = has_node ? (uint32_t)node : 0,
		.total = now };
	thread->is_used = !record->code_thread.is_gone;
	all->thread_count = at >= all->thread_count ? at + 1 : all->thread_count;
	model->code.version++;
}

static struct code_thread_samples recent_of(const struct model *model, const struct thread *thread)
{
	struct code_thread_samples sum = { 0, 0, 0 };
	int64_t now = slot_number(model);
	for (size_t i = 0; i < CODE_SLOTS; i++)
		if (thread->slots[i].number > now - CODE_SLOTS)
			add(&sum, &thread->slots[i].samples);
	return sum;
}

static double weight(const struct code_thread *thread, bool is_whole)
{
	const struct code_thread_samples *samples = is_whole ? &thread->total : &thread->recent;
	return samples->all > 0 ? (samples->busy + 0.5 * samples->waits) / samples->all : -1;
}

size_t code_threads_of(const struct model *model, size_t group, bool is_whole, struct code_thread *out, size_t max)
{
	const struct code_threads *all = model->priv->code_threads;
	size_t count = 0;
	for (size_t i = 0; all && i < all->thread_count; i++) {
		struct code_thread thread = all->threads[i].known;
		if (!all->threads[i].is_used || thread.group != group)
			continue;
		thread.recent = recent_of(model, &all->threads[i]);
		size_t at = count;
		while (at > 0 && weight(&thread, is_whole) > weight(&out[at - 1], is_whole))
			at--;
		if (at == max)
			continue;
		count += count < max;
		memmove(&out[at + 1], &out[at], (count - 1 - at) * sizeof *out);
		out[at] = thread;
	}
	return count;
}

/* -- the GIL -- */

void model_take_code_gil_waits(struct model *model, const struct record *record)
{
	size_t group = record->code_gil_waits.group - 1u, thread = record->code_gil_waits.thread - 1u,
		   node = record->code_gil_waits.node;
	int64_t begin_ns = bounded_time(record->code_gil_waits.begin_ns), end_ns = bounded_time(record->time_ns);
	struct code_threads *all = group < CODE_GROUPS_MAX && begin_ns <= end_ns ? all_threads(model) : NULL;
	if (!all || !model->code.groups[group].is_used || record->code_gil_waits.count == 0)
		return;
	bool is_known =
			 thread < CODE_THREADS_MAX && all->threads[thread].is_used && all->threads[thread].known.group == group,
		 has_node = node > 0 && node <= model->code.node_count && model->code.nodes[node - 1].is_used;
	all->waits[all->next_wait] = (struct wait){ .begin_ns = begin_ns,
		.end_ns = end_ns,
		.group = (uint32_t)group,
		.node = has_node ? (uint32_t)node : 0,
		.count = record->code_gil_waits.count,
		.thread = is_known ? all->threads[thread].known.name : NULL };
	all->next_wait = (all->next_wait + 1) % WAITS_RETAINED;
	all->wait_count += all->wait_count < WAITS_RETAINED;
	all->wait_samples[group] += record->code_gil_waits.count;
}

/* A thread at a line that held the GIL. */
struct holder {
	const char *thread;
	uint32_t node;
	unsigned count;
};

static void count_holder(struct holder *holders, size_t *count, const struct wait *wait, unsigned samples)
{
	size_t at = 0;
	while (at < *count && (holders[at].thread != wait->thread || holders[at].node != wait->node))
		at++;
	if (at == HOLDERS_MAX)
		return;
	if (at == *count)
		holders[(*count)++] = (struct holder){ .thread = wait->thread, .node = wait->node };
	holders[at].count += samples;
}

static unsigned count_of_thread(const struct holder *holders, size_t count, const char *thread)
{
	unsigned sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += holders[i].thread == thread ? holders[i].count : 0;
	return sum;
}

/* The thread that held it most, and of its known lines the one with the most samples. */
static void name_holder(const struct code *code, const struct holder *holders, size_t count, struct sampled_gil *out)
{
	const struct holder *most = NULL;
	unsigned max = 0;
	for (size_t i = 0; i < count; i++) {
		unsigned sum = count_of_thread(holders, count, holders[i].thread);
		out->thread = sum > max ? holders[i].thread : out->thread;
		max = sum > max ? sum : max;
	}
	for (size_t i = 0; i < count; i++)
		if (holders[i].thread == out->thread && holders[i].node && (!most || holders[i].count > most->count))
			most = &holders[i];
	if (!most)
		return;
	const struct code_node *node = &code->nodes[most->node - 1];
	out->file = code->codes[node->code].file;
	out->text = node->text;
	out->line = node->line;
}

void model_sampled_gil(
	const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, unsigned samples, struct sampled_gil *out)
{
	const struct code_threads *all = model->priv->code_threads;
	int group = code_group_of(&model->code, pid);
	struct holder holders[HOLDERS_MAX];
	size_t count = 0;
	*out = (struct sampled_gil){ .samples = samples };
	for (size_t i = 0; all && group >= 0 && i < all->wait_count; i++) {
		const struct wait *wait = &all->waits[i];
		unsigned within = (int)wait->group == group
			? code_samples_within(wait->begin_ns, wait->end_ns, wait->count, from_ns, to_ns)
			: 0;
		out->count += within;
		if (within > 0)
			count_holder(holders, &count, wait, within);
	}
	double whole = group >= 0 ? model_code_samples_counted(model, (size_t)group) : 0;
	out->expected = all && whole > 0 ? samples * all->wait_samples[group] / whole : 0;
	name_holder(&model->code, holders, count, out);
}
