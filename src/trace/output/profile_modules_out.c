#include "src/trace/output/profile_modules_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/analysis/profile_modules.h"
#include "src/trace/output/profile_text.h"

enum { NAME_SIZE = 512, INDENT_MAX = 24, ROWS_DEFAULT = 40 };

const char *profile_module_label(
	const struct profile_names *names, uint32_t name, uint32_t depth, char *out, size_t size)
{
	char text[NAME_SIZE];
	profile_names_show(names, name, text, sizeof text);
	const char *colon = strstr(text, ": ");
	snprintf(out, size, "%*s%s", (int)(depth < INDENT_MAX / 2 ? 2 * depth : INDENT_MAX), "", colon ? colon + 2 : text);
	return out;
}

static void add_cell(struct buffer *out, int64_t ns, bool is_known)
{
	char number[NUMBER_SIZE];
	profile_cell(out, is_known ? format_seconds(number, (double)ns / 1e9) : "–", -9);
}

void profile_modules_as_text(
	struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view)
{
	uint32_t count, limit = view->limit ? view->limit : ROWS_DEFAULT;
	bool has_gpu = analysis->idle.gpu_count > 0;
	const struct profile_op **rows = profile_modules_rows(&analysis->profile, &analysis->ops, &count);
	if (rows && count) {
		profile_heading(out, view, "MODULES (each below the one that calls it)");
		profile_cell(out, "name", view->width - 39);
		buffer_puts(out, "  calls  self CPU total CPU total GPU\n");
	}
	for (uint32_t i = 0; rows && i < count && i < limit; i++) {
		char text[NAME_SIZE + INDENT_MAX], number[NUMBER_SIZE];
		profile_cell(out,
			profile_module_label(
				&analysis->profile.names, profile_name_of(rows[i]->name), rows[i]->depth, text, sizeof text),
			view->width - 39);
		profile_cell(out, format_grouped(number, rows[i]->count), -7);
		add_cell(out, rows[i]->self_ns, true);
		add_cell(out, rows[i]->total_ns, true);
		add_cell(out, rows[i]->gpu_total_ns, has_gpu);
		out->data[--out->length] = '\0';
		buffer_puts(out, "\n");
	}
	if (rows && count > limit)
		buffer_printf(out, "  … %u more modules (--limit=%u)\n", count - limit, count);
	out->failed |= !rows;
	free(rows);
}

void profile_modules_as_json(
	struct json *json, const struct profile_analysis *analysis, const struct profile_view *view)
{
	uint32_t count;
	const struct profile_names *names = &analysis->profile.names;
	const struct profile_op **rows = profile_modules_rows(&analysis->profile, &analysis->ops, &count);
	json_open_array(json, "modules");
	for (uint32_t i = 0; rows && i < count && (!view->limit || i < view->limit); i++) {
		char text[NAME_SIZE];
		json_open_object(json, NULL);
		json_text(json, "name", profile_module_label(names, profile_name_of(rows[i]->name), 0, text, sizeof text));
		json_text(json, "parent",
			rows[i]->parent ? profile_module_label(names, rows[i]->parent, 0, text, sizeof text) : NULL);
		json_unsigned(json, "depth", rows[i]->depth);
		json_unsigned(json, "count", rows[i]->count);
		json_number(json, "self_cpu_s", (double)rows[i]->self_ns / 1e9);
		json_number(json, "total_cpu_s", (double)rows[i]->total_ns / 1e9);
		json_number(json, "total_gpu_s", analysis->idle.gpu_count ? (double)rows[i]->gpu_total_ns / 1e9 : NAN);
		json_close_object(json);
	}
	json_close_array(json);
	json->out->failed |= !rows;
	free(rows);
}
