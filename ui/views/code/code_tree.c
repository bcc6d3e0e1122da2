/* The calls of a line as a tree of functions; and all functions by self time. */
#include "ui/views/code/code_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/code/code_lines.h"
#include "ui/views/code/code_parts.h"
#include "ui/widgets/parts.h"

/* Calls below this share of the line's time are omitted. */
#define SHARE_MIN 0.01

enum { SET_MAX = 512, DEPTH_MAX = 40, CALLS_MAX = 64, FUNCTIONS_SHOWN_MAX = 256 };

/* -- the tree -- */

/* Nodes of one function at the same position in the tree. */
struct set {
	size_t count;
	uint16_t nodes[SET_MAX];
};

struct call {
	uint32_t code;
	double seconds, self_s;
};

struct tree {
	const struct code_sampled *sample;
	double whole_s; /* of the line */
	struct canvas *canvas;
	struct rect rect;
	int row;
};
/* torch's wrapper between a module and its forward: hidden. */
static bool is_wrapper(const struct code_name *name)
{
	return text_ends_with(name->function, "_call_impl") && text_ends_with(name->file, "/torch/nn/modules/module.py");
}

/* The calls of a node; wrappers are replaced by their own calls. */
static void add_children(const struct code_sampled *sample, uint32_t node, struct set *out, int depth)
{
	const struct code *code = sample->code;
	for (uint32_t at = code->nodes[node].child; at != 0; at = code->nodes[at - 1].sibling)
		if (is_wrapper(&code->codes[code->nodes[at - 1].code]) && depth < DEPTH_MAX)
			add_children(sample, at - 1, out, depth + 1);
		else if (out->count < SET_MAX && code_seconds(sample, &code->nodes[at - 1].all) > 0)
			out->nodes[out->count++] = (uint16_t)(at - 1);
}

static size_t group_calls(const struct code_sampled *sample, const struct set *children, struct call calls[CALLS_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < children->count; i++) {
		const struct code_node *node = &sample->code->nodes[children->nodes[i]];
		size_t at = 0;

		while (at < count && calls[at].code != node->code)
			at++;
		if (at == CALLS_MAX)
			continue;
		if (at == count)
			calls[count++] = (struct call){ .code = node->code };
		calls[at].seconds += code_seconds(sample, &node->all);
		calls[at].self_s += code_seconds(sample, &node->self);
	}
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at > 0 && calls[at].seconds > calls[at - 1].seconds; at--) {
			struct call other = calls[at];

			calls[at] = calls[at - 1];
			calls[at - 1] = other;
		}
	return count;
}

static void draw_call(struct tree *tree, const struct call *call, int depth)
{
	const struct code_name *name = &tree->sample->code->codes[call->code];
	struct rect row = rect_row(tree->rect, tree->row++);
	double share = tree->sample->seconds > 0 ? call->seconds / tree->sample->seconds : NAN;
	char text[400], location[300];
	int used = 6, indent = 2 * (depth < 16 ? depth : 16), width = row.width - used - indent;
	canvas_text_right(tree->canvas, row.x, row.y, 5, ROLE_STRONG, format_percent(text, share));
	if (width < 8)
		return;
	used += indent +
		canvas_text(tree->canvas, row.x + used + indent, row.y, width, name->is_own ? ROLE_ACCENT : ROLE_NORMAL,
			name->function);
	code_location(name, 0, location, sizeof location);
	if (used + 2 + (int)text_cells(location) <= row.width)
		canvas_text(tree->canvas, row.x + used + 2, row.y, row.width - used - 2, ROLE_DIM, location);
}

static void draw_calls(struct tree *tree, const struct set *from, int depth)
{
	struct call calls[CALLS_MAX];
	struct set children = { .count = 0 };
	for (size_t i = 0; i < from->count; i++)
		add_children(tree->sample, from->nodes[i], &children, 0);
	size_t count = group_calls(tree->sample, &children, calls);

	for (size_t i = 0; i < count && tree->row < tree->rect.height && calls[i].seconds >= SHARE_MIN * tree->whole_s;
		 i++) {
		struct set next = { .count = 0 };

		draw_call(tree, &calls[i], depth);
		for (size_t k = 0; k < children.count; k++)
			if (tree->sample->code->nodes[children.nodes[k]].code == calls[i].code)
				next.nodes[next.count++] = children.nodes[k];
		if (depth < DEPTH_MAX)
			draw_calls(tree, &next, depth + 1);
	}
}

/* The outermost occurrences of the line: recursive ones lie below them. */
static void find_line(const struct code_sampled *sample, const struct code_line *line, struct set *out)
{
	const struct code *code = sample->code;
	out->count = 0;
	for (size_t i = 0; i < code->node_count && out->count < SET_MAX && i < UINT16_MAX; i++) {
		const struct code_node *node = &code->nodes[i];
		bool is_again = false;

		if (!node->is_used || node->group != line->group || !code_is_in_line(code, node, line->code, line->line))
			continue;
		for (uint32_t at = node->parent; at != 0 && !is_again; at = code->nodes[at - 1].parent)
			is_again = code_is_in_line(code, &code->nodes[at - 1], line->code, line->line);
		if (!is_again)
			out->nodes[out->count++] = (uint16_t)i;
	}
}

void code_tree_panel(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect rect)
{
	struct line right;
	struct set from;
	char title[320], location[300], text[NUMBER_SIZE];
	if (!line)
		return;
	line_start(&right, " · ");
	line_add(&right, 1, ROLE_NORMAL, "in %.120s", sample->code->codes[line->code].function);
	snprintf(title, sizeof title, "What %s calls",
		code_location(&sample->code->codes[line->code], line->line, location, sizeof location));
	struct tree tree = { .sample = sample,
		.whole_s = code_seconds(sample, &line->all),
		.canvas = canvas,
		.rect = parts_panel(canvas, rect, title, &right, ROLE_TITLE) };

	find_line(sample, line, &from);
	draw_calls(&tree, &from, 0);
	if (tree.row == 0 && tree.rect.height > 0)
		canvas_printf(canvas, tree.rect.x, tree.rect.y, tree.rect.width, ROLE_DIM,
			"no Python calls: %s go to the line itself or to C code",
			format_percent(text, code_share(sample, &line->all)));
}

/* Drops leading folders of a path that is too long. */
static const char *fit_path(const char *path, int width)
{
	for (const char *slash; (int)text_cells(path) > width && (slash = strchr(path, '/')) != NULL;)
		path = slash + 1;
	return path;
}

/* -- functions -- */

enum function_cell { CELL_SELF, CELL_ALL, CELL_FUNCTION, CELL_FILE, FUNCTION_CELLS };

static const struct table_column columns[FUNCTION_CELLS] = {
	[CELL_SELF] = { "SELF", 5, 0, false, false },
	[CELL_ALL] = { "ALL", 5, 1, false, false },
	[CELL_FUNCTION] = { "FUNCTION", 18, 0, true, true },
	[CELL_FILE] = { "FILE", 20, 2, true, false },
};

void code_functions_panel(const struct code_sampled *sample, struct canvas *canvas, struct rect rect)
{
	const struct code *code = sample->code;
	uint32_t indices[FUNCTIONS_SHOWN_MAX];
	size_t count = 0;
	struct table table;
	struct line right;
	char text[300];
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "by self time");
	struct rect inside = parts_panel(canvas, rect, "Functions", &right, ROLE_TITLE),
				header = rect_take_top(&inside, inside.height > 1 ? 1 : 0);

	for (size_t i = 0; i < code->function_count; i++) {
		const struct code_function *function = &code->functions[i];
		size_t at = count;

		if (function->group != sample->index || code_seconds(sample, &function->self) <= 0)
			continue;
		while (at > 0 &&
			code_seconds(sample, &function->self) > code_seconds(sample, &code->functions[indices[at - 1]].self))
			at--;
		if (at == FUNCTIONS_SHOWN_MAX)
			continue;
		count += count < FUNCTIONS_SHOWN_MAX;
		memmove(&indices[at + 1], &indices[at], (count - 1 - at) * sizeof indices[0]);
		indices[at] = (uint32_t)i;
	}
	table_fit(&table, columns, FUNCTION_CELLS, inside);
	if (header.height > 0)
		table_header(&table, canvas, header.y, CELL_SELF, false);
	for (int i = 0; i < inside.height && i < (int)count; i++) {
		const struct code_function *function = &code->functions[indices[i]];
		const struct code_name *name = &code->codes[function->code];
		int y = rect_row(inside, i).y;

		table_cell(
			&table, canvas, y, CELL_SELF, ROLE_STRONG, format_percent(text, code_share(sample, &function->self)));
		table_cell(&table, canvas, y, CELL_ALL, ROLE_DIM, format_percent(text, code_share(sample, &function->all)));
		table_cell(&table, canvas, y, CELL_FUNCTION, name->is_own ? ROLE_ACCENT : ROLE_NORMAL, name->function);
		table_cell(&table, canvas, y, CELL_FILE, ROLE_DIM,
			fit_path(code_location(name, 0, text, sizeof text), table.width[CELL_FILE]));
	}
}
