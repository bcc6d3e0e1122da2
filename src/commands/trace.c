/* pmtop trace FILE|DIR ...: analyses the traces of torch.profiler and other profilers, as text or as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/session/output.h"
#include "src/trace/reading/profile_files.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/output/profile_text.h"

struct ranks {
	struct profile_analysis **rows;
	size_t count;
};

static struct profile_view view_of(const struct options *options, const struct settings *settings)
{
	return (struct profile_view){ .group = (enum profile_group)options->by,
		.sort = (enum profile_sort)options->sort,
		.limit = options->limit > UINT32_MAX ? 0 : (uint32_t)options->limit,
		.width = output_width(),
		.has_color = output_has_color(settings) };
}

/* A file that cannot be read is named; the others are shown. */
static enum exit_code read_all(const struct profile_files *files, enum profile_group group, struct ranks *ranks)
{
	enum exit_code code = EXIT_OK;
	ranks->rows = calloc(files->count, sizeof *ranks->rows);
	for (size_t i = 0; i < files->count && ranks->rows; i++) {
		struct reason reason = { "", "" };
		struct profile_analysis *rank = malloc(sizeof *rank);
		enum status status = rank ? profile_analyse(rank, files->paths[i], group, &reason)
								  : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
		if (status == STATUS_OK) {
			ranks->rows[ranks->count++] = rank;
			continue;
		}
		free(rank);
		code = command_fail(status, &reason);
	}
	return code;
}

static int by_rank(const void *a, const void *b)
{
	const struct profile_analysis *x = *(struct profile_analysis *const *)a, *y = *(struct profile_analysis *const *)b;
	return x->profile.rank != y->profile.rank
		? (x->profile.rank > y->profile.rank) - (x->profile.rank < y->profile.rank)
		: strcmp(x->path, y->path);
}

static void print_all(struct buffer *out, const struct ranks *ranks, const struct profile_view *view)
{
	if (ranks->count > 1)
		profile_ranks_as_text(out, ranks->rows, ranks->count, view);
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->count > 1)
			buffer_puts(out, "\n");
		profile_as_text(out, ranks->rows[i], view);
	}
}

static void report_losses(const struct ranks *ranks)
{
	char loss[400], path[200];
	for (size_t i = 0; i < ranks->count; i++)
		if (profile_analysis_loss(ranks->rows[i], loss, sizeof loss)[0]) {
			text_clean(path, sizeof path, ranks->rows[i]->path, strlen(ranks->rows[i]->path));
			fprintf(stderr, "pmtop: %s: %s\n", path, loss);
		}
}

static enum exit_code print_ranks(
	const struct options *options, const struct settings *settings, const struct ranks *ranks)
{
	struct profile_view view = view_of(options, settings);
	struct buffer out = BUFFER_INIT;
	int code = 0;
	if (options->format == FORMAT_JSON) {
		profile_as_json(&out, ranks->rows, ranks->count, &view);
	} else {
		print_all(&out, ranks, &view);
		output_fit_locale(&out);
	}
	output_flush(&out, &code);
	buffer_release(&out);
	report_losses(ranks);
	return code ? EXIT_RUNTIME : EXIT_OK;
}

static enum exit_code run_trace(const struct options *options, const struct settings *settings)
{
	struct profile_files files = { 0 };
	struct reason reason = { "", "" };
	struct ranks ranks = { 0 };
	enum status status = STATUS_OK;
	if (!options->word_count) {
		fputs("pmtop: trace needs a trace: pmtop trace FILE|DIR; torch.profiler's export_chrome_trace() writes one\n",
			stderr);
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->word_count && status == STATUS_OK; i++)
		status = profile_files_add(&files, options->words[i], &reason);
	if (status != STATUS_OK) {
		profile_files_release(&files);
		return command_fail(status, &reason);
	}
	enum exit_code code = read_all(&files, (enum profile_group)options->by, &ranks);
	if (ranks.count) {
		qsort(ranks.rows, ranks.count, sizeof(struct profile_analysis *), by_rank);
		enum exit_code printed = print_ranks(options, settings, &ranks);
		code = code == EXIT_OK ? printed : code;
	}
	for (size_t i = 0; i < ranks.count; i++) {
		profile_analysis_release(ranks.rows[i]);
		free(ranks.rows[i]);
	}
	free(ranks.rows);
	profile_files_release(&files);
	return code;
}

const struct command trace_command = {
	.name = "trace",
	.synopsis = "trace FILE|DIR ...",
	.summary = "analyse the traces of torch.profiler",
	.details = "FILE is JSON or JSON.gz of Kineto, or another Chrome trace; several are ranks.\n",
	.example = "pmtop trace --by=shape resnet18.pt.trace.json.gz",
	.words = COMMAND_TAKES_WORDS,
	.formats = FORMATS_TEXT_JSON,
	.run = run_trace,
};
