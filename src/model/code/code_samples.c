#include "src/model/code/code_samples.h"

#include <math.h>
#include <stdlib.h>

#include "src/model/code/code_threads.h"
#include "src/model/model_private.h"
#include "src/model/run/run.h"

enum { SAMPLES_RETAINED = 4096, LINES_IN_WINDOW = 64, PATH_MAX_LINES = 64, BASELINE_SAMPLES_MIN = 100 };
enum { STACKS_IN_WINDOW = 32, WORKING_SAMPLES_MIN = 3, REPEATING_SAMPLES_MIN = 20, REPEATING_STACKS_MAX = 8 };
static const double working_ratio = 0.8;
/* A called line's excess that counts as that of its caller. */
#define NEARLY_RATIO 0.8
/* The weight of a process's first sample, and the limit of all: pauses do not count. */
#define WEIGHT_FIRST_S 0.1
#define WEIGHT_MAX_S 0.5

/* Consecutive samples with the same innermost node. */
struct entry {
	int64_t begin_ns, end_ns;
	double weight_s;      /* of each sample: the time until the next one */
	uint32_t node, count; /* node: index */
};

struct code_samples {
	size_t next, count;
	/* of a group: its last entry (last_ns: its end; 0 = none yet), and the expected time until the next one; its newest
	 * sample (node: index plus 1; 0 = none), and how many there were */
	struct {
		int64_t last_ns;
		size_t last;
		double behind_s;
		uint32_t node;
		int64_t time_ns;
		double counted;
	} groups[CODE_GROUPS_MAX];
	struct entry entries[SAMPLES_RETAINED];
};

void model_free_code_samples(struct model *model) { free(model->priv->code_samples); }

static double within_limit(double gap_s, size_t count) { return fmin(gap_s, WEIGHT_MAX_S * (double)count); }

/* A sample stands for the time until the next one: that is what the rate at its moment determines. So a rate that rises
 * or falls with what the program does, as while a pass is awaited, favours nothing. How far off the next sample is is
 * not known yet: as the one before was. */
static void weigh(struct code_samples *samples, uint32_t group, size_t at)
{
	struct entry *entry = &samples->entries[at], *before = &samples->entries[samples->groups[group].last];
	int64_t last_ns = samples->groups[group].last_ns;
	bool has_before = last_ns != 0 && last_ns <= entry->begin_ns;
	double gap_s = has_before ? within_limit((double)(entry->begin_ns - last_ns) * 1e-9, 1) : WEIGHT_FIRST_S,
		   inside_s = within_limit((double)(entry->end_ns - entry->begin_ns) * 1e-9, entry->count - 1u),
		   behind_s = entry->count > 1 ? inside_s / (entry->count - 1u) : gap_s;
	if (has_before && before != entry && before->end_ns == last_ns)
		before->weight_s += (gap_s - samples->groups[group].behind_s) / before->count;
	entry->weight_s = (inside_s + behind_s) / entry->count;
	samples->groups[group].last_ns = entry->end_ns;
	samples->groups[group].last = at;
	samples->groups[group].behind_s = behind_s;
}

void model_take_code_samples(struct model *model, const struct record *record)
{
	struct code_samples **samples = &model->priv->code_samples;
	size_t node = record->code_samples.node - 1u;
	int64_t begin_ns = bounded_time(record->code_samples.begin_ns), end_ns = bounded_time(record->time_ns);
	if (node >= model->code.node_count || !model->code.nodes[node].is_used || begin_ns > end_ns ||
		record->code_samples.count == 0)
		return;
	if (!*samples && !(*samples = calloc(1, sizeof **samples)))
		return;
	(*samples)->entries[(*samples)->next] =
		(struct entry){ begin_ns, end_ns, 0, (uint32_t)node, record->code_samples.count };
	weigh(*samples, model->code.nodes[node].group, (*samples)->next);
	(*samples)->next = ((*samples)->next + 1) % SAMPLES_RETAINED;
	(*samples)->count += (*samples)->count < SAMPLES_RETAINED;
	size_t group = model->code.nodes[node].group;
	(*samples)->groups[group].counted += record->code_samples.count;
	if (end_ns >= (*samples)->groups[group].time_ns) {
		(*samples)->groups[group].node = (uint32_t)node + 1;
		(*samples)->groups[group].time_ns = end_ns;
	}
}

double model_code_samples_counted(const struct model *model, size_t group)
{
	return model->priv->code_samples ? model->priv->code_samples->groups[group].counted : 0;
}

/* The innermost line of the user's own code from there on; NULL = there is none. */
static const struct code_node *own_node(const struct code *code, const struct code_node *node)
{
	while (!code->codes[node->code].is_own && node->parent)
		node = &code->nodes[node->parent - 1];
	return code->codes[node->code].is_own ? node : NULL;
}

/* The stack of the only other thread that is in the user's own code; NULL = there is none, or several are. */
static const struct code_node *other_stack(const struct model *model, size_t group)
{
	enum { BUSIEST = 64 };
	struct code_thread threads[BUSIEST];
	const struct code_node *found = NULL;
	size_t count = code_threads_of(model, group, true, threads, BUSIEST);
	for (size_t i = 0; i < count; i++) {
		const struct code_node *node = threads[i].node ? &model->code.nodes[threads[i].node - 1] : NULL;
		if (!node || !own_node(&model->code, node))
			continue;
		if (found)
			return NULL;
		found = node;
	}
	return found;
}

bool code_newest_line(const struct model *model, int32_t pid, struct newest_line *out)
{
	const struct code *code = &model->code;
	const struct code_samples *samples = model->priv->code_samples;
	int group = code_group_of(code, pid);
	if (group < 0 || !samples || !samples->groups[group].node)
		return false;
	const struct code_node *stack = &code->nodes[samples->groups[group].node - 1], *own = own_node(code, stack);
	if (!own && (own = other_stack(model, (size_t)group))) {
		stack = own;
		own = own_node(code, stack);
	}
	const struct code_node *node = own ? own : stack;
	*out = (struct newest_line){ .file = code->codes[node->code].file,
		.text = node->text,
		.function = code->codes[node->code].function,
		.line = node->line,
		.communication = code_communication(code, stack),
		.phase = stack->phase,
		.is_own_wait = code_is_own_wait(code, stack),
		.time_ns = samples->groups[group].time_ns };
	return true;
}

unsigned code_samples_within(int64_t begin_ns, int64_t end_ns, unsigned count, int64_t from_ns, int64_t to_ns)
{
	if (begin_ns >= from_ns && end_ns < to_ns)
		return count;
	if (end_ns < from_ns || begin_ns >= to_ns || count < 2 || end_ns == begin_ns)
		return 0;
	double spacing_ns = (double)(end_ns - begin_ns) / (count - 1),
		   first = ceil(fmax(0, (double)(from_ns - begin_ns)) / spacing_ns),
		   end = fmin(count, ceil((double)(to_ns - begin_ns) / spacing_ns));
	return end > first ? (unsigned)(end - first) : 0;
}

/* How many of an entry's samples are in the window, if they are evenly spaced: none is in two adjacent windows. */
static unsigned samples_within(const struct entry *entry, int64_t from_ns, int64_t to_ns)
{
	return code_samples_within(entry->begin_ns, entry->end_ns, entry->count, from_ns, to_ns);
}

/* The i-th oldest. */
static const struct entry *entry_at(const struct code_samples *samples, size_t i)
{
	return &samples->entries[(samples->next + SAMPLES_RETAINED - samples->count + i) % SAMPLES_RETAINED];
}

/* The first entry that ends at this time or later: entries are in order. */
static size_t first_at(const struct code_samples *samples, int64_t from_ns)
{
	size_t low = 0, high = samples->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (entry_at(samples, middle)->end_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t model_samples_since(const struct model *model)
{
	const struct code_samples *samples = model->priv->code_samples;
	return samples && samples->count > 0 ? entry_at(samples, 0)->begin_ns : INT64_MAX;
}

void model_sum_phases(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, struct phase_sums *sums)
{
	const struct code *code = &model->code;
	const struct code_samples *samples = model->priv->code_samples;
	int group = code_group_of(code, pid);
	for (size_t i = samples ? first_at(samples, from_ns) : 0; samples && group >= 0 && i < samples->count; i++) {
		const struct entry *entry = entry_at(samples, i);
		if (entry->begin_ns >= to_ns)
			break;
		unsigned count = samples_within(entry, from_ns, to_ns);
		enum code_phase phase = code->nodes[entry->node].phase;
		if ((int)code->nodes[entry->node].group != group || count == 0)
			continue;
		sums->samples += count;
		sums->counts[phase] += count;
		sums->own_waits += code_is_own_wait(code, &code->nodes[entry->node]) ? count : 0;
		sums->weight_s += count * entry->weight_s;
		sums->weight_s2 += count * entry->weight_s * entry->weight_s;
		sums->phase_s[phase] += count * entry->weight_s;
	}
}

/* The stacks of the main thread of a process in a window. */
struct stacks {
	size_t count;
	unsigned samples, most;
	int64_t newest_ns;  /* when the last one that had not been there before came */
	bool is_other_only; /* no library whose phase is known */
	struct {
		uint32_t node;
		unsigned count;
	} rows[STACKS_IN_WINDOW];
};

static void add_stack(struct stacks *stacks, const struct code *code, const struct entry *entry, unsigned count)
{
	size_t at = 0;
	while (at < stacks->count && stacks->rows[at].node != entry->node)
		at++;
	stacks->is_other_only &= code->nodes[entry->node].phase == CODE_PHASE_OTHER;
	if (at == STACKS_IN_WINDOW)
		return;
	if (at == stacks->count) {
		stacks->rows[stacks->count++].node = entry->node;
		stacks->newest_ns = entry->begin_ns;
	}
	stacks->samples += count;
	stacks->rows[at].count += count;
	stacks->most = stacks->rows[at].count > stacks->most ? stacks->rows[at].count : stacks->most;
}

static void find_stacks(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, struct stacks *stacks)
{
	const struct code *code = &model->code;
	const struct code_samples *samples = model->priv->code_samples;
	int group = code_group_of(code, pid);
	*stacks = (struct stacks){ .is_other_only = true };
	for (size_t i = samples ? first_at(samples, from_ns) : 0; samples && group >= 0 && i < samples->count; i++) {
		const struct entry *entry = entry_at(samples, i);
		if (entry->begin_ns >= to_ns)
			break;
		unsigned count = (int)code->nodes[entry->node].group == group ? samples_within(entry, from_ns, to_ns) : 0;
		if (count > 0)
			add_stack(stacks, code, entry, count);
	}
}

bool model_is_working(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns)
{
	struct stacks stacks;
	find_stacks(model, pid, from_ns, to_ns, &stacks);
	return stacks.samples >= WORKING_SAMPLES_MIN && stacks.most <= working_ratio * stacks.samples;
}

size_t model_repeated_stacks(const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns)
{
	struct stacks stacks;
	find_stacks(model, pid, from_ns, to_ns, &stacks);
	bool is_repeating = stacks.is_other_only && stacks.samples >= REPEATING_SAMPLES_MIN &&
		stacks.count <= REPEATING_STACKS_MAX && stacks.newest_ns < from_ns + (to_ns - from_ns) / 2;
	return is_repeating ? stacks.count : 0;
}

/* Of the lines in a window: how many samples had them on the stack. */
struct counted {
	uint32_t row;
	unsigned count;
	double expected;
	double baseline_s; /* weight of its samples outside flagged steps */
};

struct counting {
	const struct code *code;
	size_t line_count;
	struct counted lines[LINES_IN_WINDOW];
	unsigned baseline_samples; /* outside flagged steps */
	double baseline_s;
};

/* count 0: outside flagged steps, where only lines of the window matter. */
static void count_line(struct counting *counting, uint32_t row, unsigned count, double baseline_s)
{
	size_t at = 0;
	while (at < counting->line_count && counting->lines[at].row != row)
		at++;
	if (at == LINES_IN_WINDOW || (at == counting->line_count && count == 0))
		return;
	if (at == counting->line_count)
		counting->lines[counting->line_count++] = (struct counted){ .row = row };
	counting->lines[at].count += count;
	counting->lines[at].baseline_s += baseline_s;
}

/* Each line once, also in recursions. */
static void count_path(struct counting *counting, uint32_t node, unsigned count, double baseline_s)
{
	const struct code_node *nodes = counting->code->nodes;
	uint32_t rows[PATH_MAX_LINES];
	size_t row_count = 0;
	for (uint32_t at = node + 1; at != 0 && row_count < PATH_MAX_LINES; at = nodes[at - 1].parent) {
		uint32_t row = nodes[at - 1].line_row;
		size_t i = 0;
		while (i < row_count && rows[i] != row)
			i++;
		if (row == 0 || i < row_count)
			continue;
		rows[row_count++] = row;
		count_line(counting, row, count, baseline_s);
	}
}

/* Flagged steps are in order, and so are samples. */
static void count_baseline(struct counting *counting, const struct code_samples *samples, const struct run *run,
	int group, int64_t from_ns, int64_t to_ns)
{
	size_t flagged = 0;
	for (size_t i = 0; i < samples->count; i++) {
		const struct entry *entry = entry_at(samples, i);
		while (flagged < run->flagged_count && run->flagged[flagged].batch.end_ns < entry->begin_ns)
			flagged++;
		bool is_flagged = flagged < run->flagged_count && run->flagged[flagged].batch.begin_ns <= entry->end_ns,
			 is_here = entry->begin_ns < to_ns && entry->end_ns >= from_ns;
		if (is_flagged || is_here || (int)counting->code->nodes[entry->node].group != group)
			continue;
		counting->baseline_samples += entry->count;
		counting->baseline_s += entry->count * entry->weight_s;
		count_path(counting, entry->node, 0, entry->count * entry->weight_s);
	}
}

/* By its share in steps that are not flagged; while few of them are sampled, in all samples so far. */
static double expected_of(const struct counting *counting, const struct counted *counted, unsigned samples)
{
	const struct code_line *line = &counting->code->lines[counted->row - 1];
	double seen_s = counting->code->groups[line->group].seen.total_s;
	if (counting->baseline_samples >= BASELINE_SAMPLES_MIN && counting->baseline_s > 0)
		return samples * counted->baseline_s / counting->baseline_s;
	return seen_s > 0 ? samples * line->all.total_s / seen_s : 0;
}

/* The line with the largest excess. A line that it calls is shown instead if that has nearly the same. */
static const struct counted *choose_line(struct counting *counting, unsigned samples)
{
	const struct counted *chosen = NULL;
	double max = 0;
	for (size_t i = 0; i < counting->line_count; i++) {
		struct counted *counted = &counting->lines[i];
		counted->expected = expected_of(counting, counted, samples);
		max = fmax(max, counted->count - counted->expected);
	}
	for (size_t i = 0; i < counting->line_count; i++) {
		const struct counted *counted = &counting->lines[i];
		const struct code_line *lines = counting->code->lines;
		if (lines[counted->row - 1].line > 0 && max > 0 && counted->count - counted->expected >= NEARLY_RATIO * max &&
			(!chosen || lines[counted->row - 1].all.total_s < lines[chosen->row - 1].all.total_s))
			chosen = counted;
	}
	return chosen;
}

void model_sampled_line(
	const struct model *model, const struct run *run, int64_t from_ns, int64_t to_ns, struct sampled_line *out)
{
	const struct code *code = &model->code;
	const struct code_samples *samples = model->priv->code_samples;
	int group = code_group_of(code, run->pid);
	struct counting counting = { .code = code };
	*out = (struct sampled_line){ .is_sampled = group >= 0 && samples };
	for (size_t i = out->is_sampled ? first_at(samples, from_ns) : 0; out->is_sampled && i < samples->count; i++) {
		const struct entry *entry = entry_at(samples, i);
		if (entry->begin_ns >= to_ns)
			break;
		unsigned count = (int)code->nodes[entry->node].group == group ? samples_within(entry, from_ns, to_ns) : 0;
		out->samples += count;
		if (count > 0)
			count_path(&counting, entry->node, count, 0);
	}
	if (out->samples > 0)
		count_baseline(&counting, samples, run, group, from_ns, to_ns);
	const struct counted *chosen = choose_line(&counting, out->samples);
	if (!chosen)
		return;
	const struct code_line *line = &code->lines[chosen->row - 1];
	out->file = code->codes[line->code].file;
	out->text = line->text;
	out->line = line->line;
	out->phase = line->phase;
	out->count = chosen->count;
	out->expected = chosen->expected;
}
