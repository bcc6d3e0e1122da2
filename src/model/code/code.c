#include "src/model/code/code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_data.h"
#include "src/model/code/code_phases.h"
#include "src/model/model_private.h"

enum { NONE = 0, LINES_MAX = CODE_NODES_MAX, US_PER_S = 1000000 };

/* Time of a node or group in each slot of the last minute, in µs. */
struct slots {
	uint32_t us[CODE_SLOTS];
	uint64_t sum_us;
};

struct node_past {
	uint64_t emitted_ns;
	struct slots recent;
	uint32_t function_row;
	bool begins_line, begins_function; /* no ancestor is of the same line, or function */
};

struct group_past {
	uint64_t emitted_ns;
	uint64_t emitted_samples;
	struct slots recent;
	uint32_t samples[CODE_SLOTS];
};

struct code_past {
	int64_t slot; /* number of the current slot */
	bool has_new;
	size_t node_room, code_room, line_room, function_room;
	struct node_past *nodes;
	struct group_past groups[CODE_GROUPS_MAX];
};

void model_init_code(struct model *model) { model->priv->code = calloc(1, sizeof *model->priv->code); }

void model_free_code(struct model *model)
{
	struct code *code = &model->code;
	for (size_t i = 0; i < code->node_count; i++)
		free((char *)(uintptr_t)code->nodes[i].text);
	for (size_t i = 0; i < code->code_count; i++) {
		free(code->codes[i].function);
		free(code->codes[i].file);
	}
	free(code->nodes);
	free(code->codes);
	free(code->lines);
	free(code->functions);
	free(model->priv->code ? model->priv->code->nodes : NULL);
	free(model->priv->code);
}

/* -- records -- */

/* Makes room for `count` elements; new ones are zeroed. */
static bool grow(void **list, size_t *room, size_t count, size_t each)
{
	size_t more = *room ? *room : 64;
	while (more < count)
		more *= 2;
	if (more == *room)
		return true;
	char *longer = realloc(*list, more * each);
	if (!longer)
		return false;
	memset(longer + *room * each, 0, (more - *room) * each);
	*list = longer;
	*room = more;
	return true;
}

static void add_recent(struct slots *slots, const struct code_past *past, uint64_t ns)
{
	uint32_t *now_us = &slots->us[past->slot % CODE_SLOTS];
	uint64_t us = ns / 1000, max = (uint64_t)CODE_RECENT_S * US_PER_S - *now_us;
	us = us < max ? us : max;
	*now_us += (uint32_t)us;
	slots->sum_us += us;
}

/* Clears the slots that are reused: they are a minute old. */
static void advance_slots(struct model *model)
{
	struct code_past *past = model->priv->code;
	int64_t slot = model->now_ns / (CODE_SLOT_S * NS_PER_S);
	if (slot <= past->slot)
		return;
	for (int64_t left = slot - past->slot < CODE_SLOTS ? slot - past->slot : CODE_SLOTS; left > 0; left--) {
		size_t at = (size_t)((slot - left + 1) % CODE_SLOTS);
		for (size_t i = 0; i < model->code.node_count; i++) {
			struct slots *recent = &past->nodes[i].recent;
			recent->sum_us -= recent->us[at];
			recent->us[at] = 0;
		}
		for (size_t i = 0; i < model->code.group_count; i++) {
			past->groups[i].recent.sum_us -= past->groups[i].recent.us[at];
			past->groups[i].recent.us[at] = 0;
			past->groups[i].samples[at] = 0;
		}
	}
	past->slot = slot;
	past->has_new = true;
}

void model_take_code_group(struct model *model, const struct record *record, bool is_snapshot)
{
	struct code *code = &model->code;
	struct code_past *past = model->priv->code;
	size_t at = record->code_group.id - 1u;
	if (!past || at >= CODE_GROUPS_MAX)
		return;
	advance_slots(model);
	struct code_group *group = &code->groups[at];
	struct group_past *before = &past->groups[at];
	group->is_used = true;
	group->pid = record->code_group.pid;
	group->is_workers = record->code_group.is_workers;
	put_text(group->python, sizeof group->python, record->code_group.python);
	group->hz = record->code_group.hz;
	if (!is_snapshot && record->code_group.total_ns > before->emitted_ns)
		add_recent(&before->recent, past, record->code_group.total_ns - before->emitted_ns);
	if (!is_snapshot && record->code_group.samples > before->emitted_samples)
		before->samples[past->slot % CODE_SLOTS] += (uint32_t)(record->code_group.samples - before->emitted_samples);
	before->emitted_ns = record->code_group.total_ns;
	before->emitted_samples = group->samples = record->code_group.samples;
	group->partial = record->code_group.partial;
	code->group_count = at >= code->group_count ? at + 1 : code->group_count;
	code->seen_ns = bounded_time(record->time_ns);
	past->has_new = true;
}

void model_take_code(struct model *model, const struct record *record)
{
	struct code *code = &model->code;
	struct code_past *past = model->priv->code;
	size_t at = record->code.id - 1u;
	if (!past || at >= CODE_CODES_MAX || (at < code->code_count && code->codes[at].function))
		return;
	char *function = copy_text(record->code.function, NAME_LENGTH_MAX), *file = copy_text(record->code.file, 1023);
	if (!function || !file || !grow((void **)&code->codes, &past->code_room, at + 1, sizeof *code->codes)) {
		free(function);
		free(file);
		return;
	}
	size_t same = 0;
	while (same < code->code_count && (!code->codes[same].file || strcmp(code->codes[same].file, file) != 0))
		same++;
	code->codes[at] = (struct code_name){ function, file, record->code.is_own,
		same < code->code_count ? code->codes[same].file_of : (uint32_t)at };
	code->code_count = at >= code->code_count ? at + 1 : code->code_count;
}

/* -- a new node -- */

/* If one phase is called from another, the one with the higher rank is shown, or the outer one if equal. An optimizer
 * may call the whole step as its closure (Lightning), an imported module may run the training, and what calls a
 * compiled step may also run it uncompiled (Keras). */
static unsigned rank_of(enum code_phase phase)
{
	switch (phase) {
	case CODE_PHASE_OTHER: return 0;
	case CODE_PHASE_COMPUTE: return 1;
	case CODE_PHASE_IMPORT:
	case CODE_PHASE_OPTIMIZER: return 2;
	case CODE_PHASE_COMMUNICATION:
	case CODE_PHASE_COMPILE:
	case CODE_PHASE_IDLE: return 4;
	default: return 3;
	}
}

/* Lightning's training_step, a forward, does all the work if the program optimizes by hand; a model may take gradients
 * of its own outputs. */
static bool is_shown_within(enum code_phase inner, enum code_phase outer)
{
	return rank_of(inner) > rank_of(outer) ||
		(outer == CODE_PHASE_FORWARD && (inner == CODE_PHASE_BACKWARD || inner == CODE_PHASE_OPTIMIZER));
}

static uint32_t row_of_line(struct code *code, struct code_past *past, const struct code_node *node)
{
	for (size_t i = 0; i < code->line_count; i++)
		if (code->lines[i].group == node->group &&
			code_is_in_line(code, node, code->lines[i].code, code->lines[i].line))
			return (uint32_t)i + 1;
	if (code->line_count == LINES_MAX ||
		!grow((void **)&code->lines, &past->line_room, code->line_count + 1, sizeof *code->lines))
		return NONE;
	code->lines[code->line_count] =
		(struct code_line){ .group = node->group, .code = node->code, .line = node->line, .text = node->text };
	return (uint32_t)++code->line_count;
}

static uint32_t row_of_function(struct code *code, struct code_past *past, const struct code_node *node)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (code->functions[i].group == node->group && code->functions[i].code == node->code)
			return (uint32_t)i + 1;
	if (!grow((void **)&code->functions, &past->function_room, code->function_count + 1, sizeof *code->functions))
		return NONE;
	code->functions[code->function_count] = (struct code_function){ .group = node->group, .code = node->code };
	return (uint32_t)++code->function_count;
}

static bool has_same_above(const struct code *code, const struct code_node *node, bool same_line)
{
	for (uint32_t at = node->parent; at != NONE; at = code->nodes[at - 1].parent) {
		const struct code_node *above = &code->nodes[at - 1];
		if (same_line ? code_is_in_line(code, above, node->code, node->line) : above->code == node->code)
			return true;
	}
	return false;
}

static void link_node(struct code *code, struct code_past *past, size_t at)
{
	struct code_node *node = &code->nodes[at];
	struct node_past *before = &past->nodes[at];
	const struct code_name *name = &code->codes[node->code];
	const char *caller = NULL;
	uint32_t *first = NULL;
	if (node->parent != NONE) {
		struct code_node *parent = &code->nodes[node->parent - 1];
		caller = code->codes[parent->code].file;
		node->phase = parent->is_before_forward ? CODE_PHASE_OTHER : parent->phase;
		node->line_row = parent->line_row;
		first = &parent->child;
	}
	enum code_phase phase = code_phase_of(name->function, name->is_own ? CODE_OWN_FILES : name->file, caller);
	if (phase == CODE_PHASE_FORWARD && node->is_no_grad)
		phase = CODE_PHASE_INFERENCE;
	if (is_shown_within(phase, node->phase))
		node->phase = phase;
	if (first) {
		node->sibling = *first;
		*first = (uint32_t)at + 1;
	}
	before->begins_line = name->is_own && !has_same_above(code, node, true);
	before->begins_function = !has_same_above(code, node, false);
	if (name->is_own)
		node->line_row = row_of_line(code, past, node);
	before->function_row = row_of_function(code, past, node);
	code->groups[node->group].has_own |= name->is_own;
}

void model_take_code_node(struct model *model, const struct record *record)
{
	struct code *code = &model->code;
	struct code_past *past = model->priv->code;
	size_t at = record->code_node.id - 1u, parent = record->code_node.parent, name = record->code_node.code - 1u,
		   group = record->code_node.group - 1u;
	if (!past || at >= CODE_NODES_MAX || (at < code->node_count && code->nodes[at].is_used) ||
		group >= CODE_GROUPS_MAX || !code->groups[group].is_used)
		return;
	if (name >= code->code_count || !code->codes[name].function || parent > at ||
		(parent != NONE && (parent > code->node_count || !code->nodes[parent - 1].is_used)))
		return;
	size_t room = past->node_room;
	if (!grow((void **)&past->nodes, &room, at + 1, sizeof *past->nodes) ||
		!grow((void **)&code->nodes, &past->node_room, at + 1, sizeof *code->nodes))
		return;
	if (at >= code->node_count)
		code->node_count = at + 1;
	code->nodes[at] = (struct code_node){ .is_used = true,
		.group = (uint32_t)group,
		.code = (uint32_t)name,
		.line = record->code_node.line,
		.parent = (uint32_t)parent,
		.is_no_grad = record->code_node.is_no_grad,
		.text = record->code_node.text ? copy_text(record->code_node.text, NAME_LENGTH_MAX) : NULL };
	link_node(code, past, at);
	past->has_new = true;
}

void model_take_code_time(struct model *model, const struct record *record, bool is_snapshot)
{
	struct code *code = &model->code;
	struct code_past *past = model->priv->code;
	size_t at = record->code_time.id - 1u;
	if (!past || at >= code->node_count || !code->nodes[at].is_used ||
		record->code_time.total_ns <= past->nodes[at].emitted_ns)
		return;
	advance_slots(model);
	if (!is_snapshot)
		add_recent(&past->nodes[at].recent, past, record->code_time.total_ns - past->nodes[at].emitted_ns);
	past->nodes[at].emitted_ns = record->code_time.total_ns;
	past->has_new = true;
}

/* -- after a set -- */

static void add(struct code_time *to, const struct code_time *time)
{
	to->total_s += time->total_s;
	to->recent_s += time->recent_s;
}

static struct code_time time_of(uint64_t emitted_ns, const struct slots *recent)
{
	return (struct code_time){ .total_s = (double)emitted_ns * 1e-9, .recent_s = (double)recent->sum_us * 1e-6 };
}

static void sum_groups(struct code *code, const struct code_past *past)
{
	for (size_t i = 0; i < code->group_count; i++) {
		struct code_group *group = &code->groups[i];
		group->time = time_of(past->groups[i].emitted_ns, &past->groups[i].recent);
		group->seen = (struct code_time){ 0, 0 };
		group->recent_samples = 0;
		for (size_t k = 0; k < CODE_SLOTS; k++)
			group->recent_samples += past->groups[i].samples[k];
		memset(group->phases, 0, sizeof group->phases);
	}
}

/* A parent precedes its children, so from the end backwards all children are added before their parent. */
static void sum_nodes(struct code *code, const struct code_past *past)
{
	for (size_t i = 0; i < code->node_count; i++)
		code->nodes[i].all = code->nodes[i].self = time_of(past->nodes[i].emitted_ns, &past->nodes[i].recent);
	for (size_t i = code->node_count; i > 0; i--)
		if (code->nodes[i - 1].parent != NONE)
			add(&code->nodes[code->nodes[i - 1].parent - 1].all, &code->nodes[i - 1].all);
}

static void sum_rows(struct code *code, const struct code_past *past)
{
	for (size_t i = 0; i < code->line_count; i++) {
		code->lines[i].self = code->lines[i].all = (struct code_time){ 0, 0 };
		memset(code->lines[i].phase_s, 0, sizeof code->lines[i].phase_s);
	}
	for (size_t i = 0; i < code->function_count; i++)
		code->functions[i].self = code->functions[i].all = (struct code_time){ 0, 0 };
	for (size_t i = 0; i < code->node_count; i++) {
		const struct code_node *node = &code->nodes[i];
		const struct node_past *before = &past->nodes[i];
		if (!node->is_used)
			continue;
		add(&code->groups[node->group].seen, &node->self);
		add(&code->groups[node->group].phases[node->phase], &node->self);
		if (node->line_row != NONE) {
			struct code_line *line = &code->lines[node->line_row - 1];
			add(&line->self, &node->self);
			line->phase_s[node->phase] += node->self.total_s;
			if (before->begins_line)
				add(&line->all, &node->all);
		}
		if (before->function_row != NONE) {
			add(&code->functions[before->function_row - 1].self, &node->self);
			if (before->begins_function)
				add(&code->functions[before->function_row - 1].all, &node->all);
		}
	}
	for (size_t i = 0; i < code->line_count; i++) {
		struct code_line *line = &code->lines[i];
		for (size_t phase = 0; phase < CODE_PHASE_COUNT; phase++)
			if (line->phase_s[phase] > line->phase_s[line->phase])
				line->phase = (enum code_phase)phase;
	}
}

void model_refresh_code(struct model *model)
{
	struct code_past *past = model->priv->code;
	if (!past || model->code.group_count == 0)
		return;
	advance_slots(model);
	if (!past->has_new)
		return;
	past->has_new = false;
	model->code.version++;
	model_find_data(model);
	sum_groups(&model->code, past);
	sum_nodes(&model->code, past);
	sum_rows(&model->code, past);
}

/* -- queries -- */

int code_group_of(const struct code *code, int32_t pid)
{
	for (size_t i = 0; i < code->group_count; i++)
		if (code->groups[i].is_used && code->groups[i].pid == pid && !code->groups[i].is_workers)
			return (int)i;
	return -1;
}

bool code_is_own_wait(const struct code *code, const struct code_node *node)
{
	return node->phase != CODE_PHASE_COMMUNICATION && code->codes[node->code].is_own && node->text &&
		strstr(node->text, ".wait(");
}

const char *code_communication(const struct code *code, const struct code_node *node)
{
	const char *function = NULL;
	for (const struct code_node *at = node; at->phase == CODE_PHASE_COMMUNICATION; at = &code->nodes[at->parent - 1]) {
		if (!code->codes[at->code].is_own)
			function = code->codes[at->code].function;
		if (!at->parent)
			break;
	}
	return function;
}

int code_main_group(const struct model *model)
{
	const struct code *code = &model->code;
	int max = code_group_of(code, model->target_pid);
	for (size_t i = 0; max < 0 && i < code->group_count; i++)
		if (code->groups[i].is_used && !code->groups[i].is_workers &&
			(max < 0 || code->groups[i].samples > code->groups[max].samples))
			max = (int)i;
	return max;
}

bool code_is_in_line(const struct code *code, const struct code_node *node, uint32_t function, uint32_t line)
{
	return node->line == line &&
		(node->code == function || (line && code->codes[node->code].file_of == code->codes[function].file_of));
}

double code_error_ratio(double share_ratio, double samples)
{
	return samples > 0 && share_ratio >= 0 && share_ratio <= 1 ? sqrt(share_ratio * (1 - share_ratio) / samples)
															   : (double)NAN;
}

static bool comes_before(const struct code_line *a, const struct code_line *b)
{
	return a->self.total_s != b->self.total_s ? a->self.total_s > b->self.total_s : a->all.total_s > b->all.total_s;
}

size_t code_top_lines(const struct code *code, size_t group, const struct code_line **out, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < code->line_count; i++) {
		const struct code_line *line = &code->lines[i];
		size_t at = count;
		if (line->group != group || line->all.total_s <= 0)
			continue;
		while (at > 0 && comes_before(line, out[at - 1]))
			at--;
		if (at == max)
			continue;
		count += count < max;
		memmove(&out[at + 1], &out[at], (count - 1 - at) * sizeof *out);
		out[at] = line;
	}
	return count;
}

size_t code_top_functions(const struct code *code, size_t group, const struct code_function **out, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < code->function_count; i++) {
		const struct code_function *function = &code->functions[i];
		size_t at = count;
		if (function->group != group || function->self.total_s <= 0)
			continue;
		while (at > 0 && function->self.total_s > out[at - 1]->self.total_s)
			at--;
		if (at == max)
			continue;
		count += count < max;
		memmove(&out[at + 1], &out[at], (count - 1 - at) * sizeof *out);
		out[at] = function;
	}
	return count;
}
