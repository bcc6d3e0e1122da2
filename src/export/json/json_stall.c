#include "src/export/json/json_stall.h"

#include "src/explain/stall.h"
#include "src/explain/stall_lines.h"

static void write_lines(struct json *json, const struct model *model, const struct run *run)
{
	struct stall_line lines[MODEL_RUNS_MAX];
	size_t count = stall_lines(model, run, lines);
	if (count == 0)
		return;
	json_open_array(json, "lines");
	for (size_t i = 0; i < count; i++) {
		json_open_object(json, NULL);
		if (lines[i].rank >= 0)
			json_integer(json, "rank", lines[i].rank);
		json_integer(json, "pid", lines[i].pid);
		json_text(json, "file", lines[i].line.file);
		if (lines[i].line.line > 0)
			json_integer(json, "line", lines[i].line.line);
		json_text(json, "function", lines[i].line.function);
		json_text(json, "text", lines[i].line.text);
		json_number(json, "age_s", lines[i].age_s);
		json_close_object(json);
	}
	json_close_array(json);
}

void json_stall(struct json *json, const struct model *model, const struct run *run)
{
	struct stall stall;
	if (!stall_find(model, run, &stall))
		return;
	json_open_object(json, "stall");
	json_number(json, "seconds", stall.seconds);
	json_number(json, "usual_s", stall.baseline_s);
	json_bool(json, "is_between_batches", stall.is_between);
	json_text(json, "stack", stall.stack[0] ? stall.stack : NULL);
	json_text(json, "why", stall.why[0] ? stall.why : NULL);
	write_lines(json, model, run);
	json_close_object(json);
}
