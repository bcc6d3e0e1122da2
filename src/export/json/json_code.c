#include "src/export/json/json_code.h"

#include <math.h>

#include "src/model/code/code_phases.h"
#include "src/model/code/code_threads.h"

/* Groups in an object with limited lists: the target's is the first. */
enum { ROWS_MAX = 20, GROUPS_MAX = 16, THREADS_MAX = 64 };

static void write_time(struct json *json, const struct code_group *group, const struct code_time *time)
{
	json_number(json, "seconds", time->total_s);
	json_number(json, "share_ratio", group->seen.total_s > 0 ? time->total_s / group->seen.total_s : NAN);
	json_number(json, "recent_share_ratio", group->seen.recent_s > 0 ? time->recent_s / group->seen.recent_s : NAN);
}

static void write_phases(struct json *json, const struct code_group *group)
{
	json_open_object(json, "phases");
	for (int phase = 0; phase < CODE_PHASE_COUNT; phase++) {
		if (group->phases[phase].total_s <= 0)
			continue;
		json_open_object(json, code_phase_name((enum code_phase)phase));
		write_time(json, group, &group->phases[phase]);
		json_close_object(json);
	}
	json_close_object(json);
}

static void write_lines(struct json *json, const struct code *code, size_t at)
{
	const struct code_group *group = &code->groups[at];
	const struct code_line *lines[ROWS_MAX];
	size_t count = code_top_lines(code, at, lines, ROWS_MAX);
	json_open_array(json, "lines");
	for (size_t i = 0; i < count; i++) {
		json_open_object(json, NULL);
		json_text(json, "file", code->codes[lines[i]->code].file);
		if (lines[i]->line > 0)
			json_integer(json, "line", lines[i]->line);
		json_text(json, "function", code->codes[lines[i]->code].function);
		json_text(json, "text", lines[i]->text);
		json_text(json, "works_at", code_phase_name(lines[i]->phase));
		write_time(json, group, &lines[i]->self);
		json_number(json, "all_seconds", lines[i]->all.total_s);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_functions(struct json *json, const struct code *code, size_t at)
{
	const struct code_function *functions[ROWS_MAX];
	size_t count = code_top_functions(code, at, functions, ROWS_MAX);
	json_open_array(json, "functions");
	for (size_t i = 0; i < count; i++) {
		json_open_object(json, NULL);
		json_text(json, "function", code->codes[functions[i]->code].function);
		json_text(json, "file", code->codes[functions[i]->code].file);
		write_time(json, &code->groups[at], &functions[i]->self);
		json_number(json, "all_seconds", functions[i]->all.total_s);
		json_close_object(json);
	}
	json_close_array(json);
}

/* The shares of samples in which the thread ran or held the GIL, and in which it waited for the GIL. */
static void write_shares(struct json *json, const struct code_thread *thread)
{
	const struct code_thread_samples *total = &thread->total, *recent = &thread->recent;
	json_number(json, "share_ratio", total->all > 0 ? total->busy / total->all : NAN);
	json_number(json, "recent_share_ratio", recent->all > 0 ? recent->busy / recent->all : NAN);
	json_number(json, "gil_wait_ratio", total->all > 0 ? total->waits / total->all : NAN);
}

static void write_threads(struct json *json, const struct model *model, size_t at)
{
	const struct code *code = &model->code;
	struct code_thread threads[THREADS_MAX];
	size_t count = code_threads_of(model, at, true, threads, THREADS_MAX);
	if (count == 0)
		return;
	json_open_array(json, "threads");
	for (size_t i = 0; i < count; i++) {
		const struct code_node *node = threads[i].node ? &code->nodes[threads[i].node - 1] : NULL;
		json_open_object(json, NULL);
		json_text(json, "name", threads[i].name);
		if (threads[i].tid)
			json_integer(json, "tid", threads[i].tid);
		json_text(json, "state", threads[i].state ? (char[]){ threads[i].state, '\0' } : NULL);
		json_number(json, "looks", threads[i].total.all);
		write_shares(json, &threads[i]);
		json_text(json, "file", node ? code->codes[node->code].file : NULL);
		if (node && node->line > 0)
			json_integer(json, "line", node->line);
		json_text(json, "function", node ? code->codes[node->code].function : NULL);
		json_text(json, "text", node ? node->text : NULL);
		json_close_object(json);
	}
	json_close_array(json);
}

void json_code(struct json *json, const struct model *model)
{
	const struct code *code = &model->code;
	if (code->group_count == 0)
		return;
	size_t written = 0, left_out = 0;
	json_open_object(json, "code");
	json_open_array(json, "groups");
	for (size_t i = 0; i < code->group_count; i++) {
		const struct code_group *group = &code->groups[i];
		if (!group->is_used)
			continue;
		if (json->rows_max && written == GROUPS_MAX) {
			left_out++;
			continue;
		}
		written++;
		json_open_object(json, NULL);
		json_integer(json, "pid", group->pid);
		json_bool(json, "is_workers", group->is_workers);
		json_text(json, "python", group->python);
		json_number(json, "looks", (double)group->samples);
		json_number(json, "partial_looks", (double)group->partial);
		json_number(json, "looks_per_s", group->hz);
		json_number(json, "seconds", group->seen.total_s);
		write_phases(json, group);
		write_lines(json, code, i);
		write_functions(json, code, i);
		write_threads(json, model, i);
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "groups_left_out", left_out);
	json_close_object(json);
}
