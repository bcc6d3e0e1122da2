#include "src/model/code/code_data.h"

#include <string.h>

#include "src/model/model.h"
#include "src/model/run/run.h"

enum { UNKNOWN = UINT32_MAX };

/* The loop's function in one process, and its lines. */
struct body {
	uint32_t group, function; /* indices */
	uint32_t line, first;     /* of the loop, and of the first line with forward */
};

static bool is_file_of(const struct code *code, const struct code_node *node, const char *file)
{
	const char *own = code->codes[node->code].file;
	return code->codes[node->code].is_own && own && strcmp(own, file) == 0;
}

/* The function whose lines follow the loop's most closely. */
static uint32_t find_function(const struct code *code, const struct body *body, const char *file)
{
	uint32_t found = UNKNOWN, line = UNKNOWN;
	for (size_t i = 0; i < code->node_count; i++) {
		const struct code_node *node = &code->nodes[i];
		if (node->is_used && node->group == body->group && node->line >= body->line && node->line < line &&
			is_file_of(code, node, file)) {
			found = node->code;
			line = node->line;
		}
	}
	return found;
}

/* A parent precedes its children. */
static uint32_t find_first(struct code *code, const struct body *body)
{
	uint32_t first = UNKNOWN;
	for (size_t i = 0; i < code->node_count; i++)
		code->nodes[i].has_forward = code->nodes[i].phase == CODE_PHASE_FORWARD ||
			code->nodes[i].phase == CODE_PHASE_INFERENCE || code->nodes[i].phase == CODE_PHASE_COMPUTE;
	for (size_t i = code->node_count; i > 0; i--) {
		const struct code_node *node = &code->nodes[i - 1];
		if (node->has_forward && node->parent)
			code->nodes[node->parent - 1].has_forward = true;
		if (node->has_forward && node->is_used && node->group == body->group && node->code == body->function &&
			node->line >= body->line && node->line < first)
			first = node->line;
	}
	return first;
}

static void set_phases(struct code *code, const struct body *body)
{
	for (size_t i = 0; i < code->node_count; i++) {
		struct code_node *node = &code->nodes[i];
		bool is_in = node->code == body->function && node->line >= body->line && node->line < body->first;
		bool was_before = node->is_before_forward;
		if (!node->is_used || node->group != body->group || (node->phase != CODE_PHASE_OTHER && !was_before))
			continue;
		node->is_before_forward = is_in || (node->parent && code->nodes[node->parent - 1].is_before_forward);
		node->phase = node->is_before_forward ? CODE_PHASE_DATA : CODE_PHASE_OTHER;
	}
}

void model_find_data(struct model *model)
{
	struct code *code = &model->code;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		struct inferred inferred = run_inferred(run);
		int group = code_group_of(code, run->pid);
		bool has_loop = run->is_used && inferred.what && inferred.file && inferred.line > 0 && inferred.is_certain;
		if (!has_loop || group < 0 || strcmp(inferred.what, RUN_BY_LOADER) == 0)
			continue;
		struct body body = { .group = (uint32_t)group, .line = inferred.line };
		body.function = find_function(code, &body, inferred.file);
		body.first = body.function == UNKNOWN ? UNKNOWN : find_first(code, &body);
		if (body.first != UNKNOWN)
			set_phases(code, &body);
	}
}
