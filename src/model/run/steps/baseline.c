#include "src/model/run/steps/baseline.h"

#include <string.h>

#include "src/model/machine/tree.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

/* A phase present in some of the batches, with a bit mask of their kinds (indexes in the track). */
struct seen_phase {
	uint32_t name, parent, kinds;
	size_t batches;
};

enum { KIND_ANY = UINT32_MAX };

static bool is_finished(const struct batch *batch) { return batch && isfinite(batch->step_s); }

/* Collects the latest completed batches before `end`, newest first: those of the warm-up, or all others. */
static size_t gather(
	const struct track *track, uint64_t end, uint32_t kind, size_t largest, bool warmup, const struct batch **out)
{
	size_t count = 0;
	for (uint64_t ordinal = end < track->end ? end : track->end; ordinal > track->first && count < largest; ordinal--) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (is_finished(batch) && batch->is_warmup == warmup && (kind == KIND_ANY || batch->kind == kind))
			out[count++] = batch;
	}
	return count;
}

static bool is_own(uint32_t name) { return name == NAME_UNATTRIBUTED || name == NAME_BETWEEN; }

static bool is_seen(const struct seen_phase *seen, const struct phase_time *phase)
{
	return seen->name == phase->name && seen->parent == phase->parent;
}

struct seen_phases {
	struct seen_phase list[PHASES_SEEN_MAX];
	size_t count, next; /* next: guess, because batches usually have their phases in the same order */
};

static void see_phase(struct seen_phases *seen, const struct phase_time *phase, uint32_t kind)
{
	size_t at = seen->next < seen->count && is_seen(&seen->list[seen->next], phase) ? seen->next : 0;
	while (at < seen->count && !is_seen(&seen->list[at], phase))
		at++;
	if (at == PHASES_SEEN_MAX)
		return;
	if (at == seen->count)
		seen->list[seen->count++] = (struct seen_phase){ .name = phase->name, .parent = phase->parent };
	seen->list[at].kinds |= kind;
	seen->list[at].batches++;
	seen->next = at + 1;
}

/* Published phases first, in the order of the batches; then unattributed and between. */
static size_t find_phases(
	const struct track *track, const struct batch *const *batches, size_t count, struct seen_phase *out)
{
	struct seen_phases published, own;
	published.count = own.count = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t kind = 1u << track_kind(track, batches[i]->kind);
		published.next = own.next = 0;
		for (unsigned k = 0; k < batches[i]->phase_count; k++)
			see_phase(is_own(batches[i]->phases[k].name) ? &own : &published, &batches[i]->phases[k], kind);
	}
	size_t room = PHASES_SEEN_MAX - published.count, retained = own.count < room ? own.count : room;
	memcpy(out, published.list, published.count * sizeof *out);
	memcpy(out + published.count, own.list, retained * sizeof *out);
	return published.count + retained;
}

/* *at: its index in the previous batch, a guess for this one. */
static const struct phase_time *phase_of(const struct batch *batch, uint32_t name, uint32_t parent, unsigned *at)
{
	for (unsigned i = 0; i < batch->phase_count; i++, ++*at) {
		if (*at >= batch->phase_count)
			*at = 0;
		if (batch->phases[*at].name == name && batch->phases[*at].parent == parent)
			return &batch->phases[*at];
	}
	return NULL;
}

struct phase_medians {
	double seconds, cpu_s, memory_bytes, total_s;
};

/* A batch without the phase counts as 0 in the time if others of its kind have the phase, and is skipped for CPU time
 * and memory. */
static struct phase_medians medians_of_phase(
	const struct track *track, const struct batch *const *batches, size_t count, const struct seen_phase *seen)
{
	double seconds[BASELINE_BATCHES_MAX], cpu_s[BASELINE_BATCHES_MAX], memory_bytes[BASELINE_BATCHES_MAX];
	struct phase_medians out = { .total_s = 0 };
	size_t with_time = 0, with_cpu = 0, with_memory = 0;
	unsigned at = 0;
	for (size_t i = 0; i < count; i++) {
		const struct phase_time *phase = phase_of(batches[i], seen->name, seen->parent, &at);
		if (seen->kinds >> track_kind(track, batches[i]->kind) & 1)
			seconds[with_time++] = phase ? (double)phase->seconds : 0;
		out.total_s += phase ? (double)phase->seconds : 0;
		if (phase && isfinite(phase->cpu_s))
			cpu_s[with_cpu++] = (double)phase->cpu_s;
		if (phase && isfinite(phase->memory_bytes))
			memory_bytes[with_memory++] = (double)phase->memory_bytes;
	}
	out.seconds = median_of(seconds, with_time);
	out.cpu_s = median_of(cpu_s, with_cpu);
	out.memory_bytes = median_of(memory_bytes, with_memory);
	return out;
}

/* Struct evidence is a row of doubles; each gets its own median. */
static void medians_of_evidence(const struct batch *const *batches, size_t count, struct evidence *out, double *values)
{
	static const size_t members[] = {
		offsetof(struct evidence, cpu_s),
		offsetof(struct evidence, run_queue_wait_s),
		offsetof(struct evidence, minor_faults),
		offsetof(struct evidence, major_faults),
		offsetof(struct evidence, voluntary_switches),
		offsetof(struct evidence, involuntary_switches),
		offsetof(struct evidence, blocks_read),
		offsetof(struct evidence, samples),
	};
	for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
		size_t known = 0;
		for (size_t i = 0; i < count; i++) {
			double value = *(const double *)(const void *)((const char *)&batches[i]->evidence + members[m]);
			if (batches[i]->has_evidence && isfinite(value))
				values[known++] = value;
		}
		*(double *)(void *)((char *)out + members[m]) = median_of(values, known);
	}
}

/* Medians of the late figures that this batch has. */
static void medians_of_figures(
	const struct batch *this, const struct batch *const *batches, size_t count, struct baseline *out, double *values)
{
	for (; out->figure_count < this->figure_count; out->figure_count++) {
		uint32_t name = this->figures[out->figure_count].name;
		size_t known = 0;
		for (size_t i = 0; i < count; i++)
			for (unsigned f = 0; f < batches[i]->figure_count; f++)
				if (batches[i]->figures[f].name == name)
					values[known++] = (double)batches[i]->figures[f].value;
		out->figures[out->figure_count].name = name;
		out->figures[out->figure_count].value = (float)median_of(values, known);
	}
}

void track_baseline(const struct track *track, uint64_t ordinal, struct baseline *out)
{
	const struct batch *batches[BASELINE_BATCHES_MAX];
	double values[BASELINE_BATCHES_MAX];
	struct seen_phase seen[PHASES_SEEN_MAX];
	const struct batch *this = track_batch(track, ordinal);
	size_t count = track->priv
		? gather(track, ordinal, this ? this->kind : KIND_ANY, track->priv->flag_window, false, batches)
		: 0;
	*out = (struct baseline){ .batches = count };
	for (size_t i = 0; i < count; i++)
		values[i] = batch_pace_s(batches[i]);
	out->step_s = median_of(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = batches[i]->batch_s;
	out->batch_s = median_of(values, count);
	medians_of_evidence(batches, count, &out->evidence, values);
	if (this)
		medians_of_figures(this, batches, count, out, values);
	size_t found = find_phases(track, batches, count, seen);
	for (size_t i = 0; i < found && out->phase_count < RUN_PHASES_MAX; i++) {
		if (seen[i].batches * 2 < count)
			continue;
		struct phase_medians medians = medians_of_phase(track, batches, count, &seen[i]);
		out->phases[out->phase_count++] = (struct phase_time){ .name = seen[i].name,
			.parent = seen[i].parent,
			.seconds = (float)medians.seconds,
			.cpu_s = (float)medians.cpu_s,
			.memory_bytes = (float)medians.memory_bytes };
	}
}

static void refresh_phases(const struct track *track, size_t last, struct phase_cache *cache)
{
	const struct batch *batches[BASELINE_BATCHES_MAX];
	double steps_s = 0;
	struct seen_phase seen[PHASES_SEEN_MAX];
	struct tree_row rows[PHASES_SEEN_MAX];
	size_t order[PHASES_SEEN_MAX], placed = 0;
	unsigned depth[PHASES_SEEN_MAX];
	size_t largest = last < BASELINE_BATCHES_MAX ? last : BASELINE_BATCHES_MAX;
	size_t count = gather(track, track->end, KIND_ANY, largest, false, batches);
	if (count == 0)
		count = gather(track, track->end, KIND_ANY, largest, true, batches);
	for (size_t i = 0; i < count; i++)
		steps_s += batches[i]->step_s;
	size_t found = find_phases(track, batches, count, seen);
	for (size_t i = 0; i < found; i++)
		rows[i] = (struct tree_row){ .name = seen[i].name, .parent = seen[i].parent };
	tree_order(rows, found, order, depth);
	for (; placed < found; placed++) {
		const struct seen_phase *phase = &seen[order[placed]];
		struct phase_medians medians = medians_of_phase(track, batches, count, phase);
		cache->rows[placed] = (struct phase_row){ .name = phase->name,
			.parent = phase->parent,
			.depth = depth[placed],
			.median_s = medians.seconds,
			.share_ratio = steps_s > 0 ? medians.total_s / steps_s : NAN,
			.cpu_s = medians.cpu_s };
	}
	cache->is_valid = true;
	cache->last = last;
	cache->count = placed;
	cache->batches = count;
}

size_t track_phases(const struct track *track, size_t last, struct phase_row *out, size_t max, size_t *batches_used)
{
	/* Tracks built by tests have no cache. */
	struct phase_cache own = { .is_valid = false }, *cache = track->priv ? &track->priv->phases : &own;
	size_t count = 0;
	if (!cache->is_valid || cache->last != last)
		refresh_phases(track, last, cache);
	for (; count < cache->count && count < max; count++)
		out[count] = cache->rows[count];
	if (batches_used)
		*batches_used = cache->batches;
	return count;
}
