#include "src/commands/trace/trace_print.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/session/output.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/output/profile_ranks_text.h"
#include "src/trace/output/profile_text.h"

struct profile_view trace_view(const struct options *options, const struct settings *settings, enum profile_group group)
{
	return (struct profile_view){ .group = group,
		.sort = (enum profile_sort)options->sort,
		.limit = options->limit > UINT32_MAX ? 0 : (uint32_t)options->limit,
		.width = output_width(),
		.has_color = output_has_color(settings) };
}

static void print_all(struct buffer *out, const struct trace_ranks *ranks, const struct profile_view *view)
{
	if (ranks->count > 1)
		profile_ranks_as_text(out, ranks->rows, ranks->count, view);
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->count > 1)
			buffer_puts(out, "\n");
		profile_as_text(out, ranks->rows[i], view);
	}
}

void trace_report_loss(const struct profile_analysis *analysis)
{
	char loss[400], path[200];
	if (!profile_analysis_loss(analysis, loss, sizeof loss)[0])
		return;
	text_clean(path, sizeof path, analysis->path, strlen(analysis->path));
	fprintf(stderr, "pmtop: %s: %s\n", path, loss);
}

enum exit_code trace_print(
	const struct options *options, const struct settings *settings, const struct trace_ranks *ranks, bool with_paths)
{
	struct profile_view view = trace_view(options, settings, ranks->group);
	struct buffer out = BUFFER_INIT;
	int code = 0;
	if (options->format == FORMAT_JSON) {
		profile_as_json(&out, ranks->rows, ranks->count, &view);
	} else {
		print_all(&out, ranks, &view);
		if (with_paths)
			buffer_puts(&out, "\n");
		for (size_t i = 0; i < ranks->count && with_paths; i++)
			buffer_printf(&out, "Trace: %s\n", ranks->rows[i]->path);
		output_fit_locale(&out);
	}
	output_flush(&out, &code);
	buffer_release(&out);
	for (size_t i = 0; i < ranks->count; i++)
		trace_report_loss(ranks->rows[i]);
	return code ? EXIT_RUNTIME : EXIT_OK;
}
