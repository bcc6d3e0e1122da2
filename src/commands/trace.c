/* pmtop trace FILE|DIR ...: analyses the traces of torch.profiler and other profilers, on a screen of their own, as
 * text or as JSON. Also memory snapshots of PyTorch. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/commands/trace/trace_print.h"
#include "src/commands/trace/trace_ranks.h"
#include "src/commands/trace/trace_snapshot.h"
#include "src/commands/trace/trace_watch.h"
#include "src/session/output.h"

/* STATUS_INVALID: unknown. */
static enum status group_of(const char *word, enum profile_group *out)
{
	/* In the order of enum profile_group. */
	static const char *const words[] = { "name", "shape", "stack", "module" };
	*out = GROUP_NAME;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (word && strcmp(word, words[i]) == 0) {
			*out = (enum profile_group)i;
			return STATUS_OK;
		}
	}
	return word ? STATUS_INVALID : STATUS_OK;
}

/* On a terminal the screen, unless a format is asked for. Keys and a trace cannot both come from standard input. */
static bool wants_screen(const struct options *options)
{
	for (int i = 0; i < options->word_count; i++)
		if (strcmp(options->words[i], "-") == 0)
			return false;
	return output_has_screen() && isatty(STDIN_FILENO) && !options->has_format && !options->is_batch;
}

static enum exit_code show(const struct options *options, const struct settings *settings, struct trace_ranks *ranks)
{
	if (wants_screen(options)) {
		enum exit_code code = trace_watch(options, settings, ranks), failed = trace_ranks_report(ranks);
		return code == EXIT_OK ? failed : code;
	}
	trace_ranks_read(ranks);
	enum exit_code code = trace_ranks_report(ranks), printed = EXIT_OK;
	if (ranks->count)
		printed = trace_print(options, settings, ranks, false);
	return code == EXIT_OK ? printed : code;
}

static enum exit_code run_trace(const struct options *options, const struct settings *settings)
{
	struct trace_ranks ranks = { .group = GROUP_NAME };
	struct reason reason = { "", "" };
	if (group_of(options->by, &ranks.group) != STATUS_OK) {
		fprintf(
			stderr, "pmtop: --by takes name, shape, stack or module, not %s: see pmtop trace --help\n", options->by);
		return EXIT_USAGE;
	}
	enum status status = STATUS_OK;
	if (!options->word_count) {
		fputs("pmtop: trace needs a trace: pmtop trace FILE|DIR; torch.profiler's export_chrome_trace() writes one\n",
			stderr);
		return EXIT_USAGE;
	}
	int snapshots = trace_snapshot_count(options->words, options->word_count);
	if (snapshots == options->word_count)
		return trace_snapshot_print((const char *const *)options->words, options->word_count, options, settings);
	for (int i = 0; i < options->word_count && status == STATUS_OK; i++)
		if (!trace_snapshot_count(&options->words[i], 1))
			status = profile_files_add(&ranks.files, options->words[i], &reason);
	enum exit_code code = status == STATUS_OK ? show(options, settings, &ranks) : command_fail(status, &reason);
	trace_ranks_release(&ranks);
	if (snapshots)
		fprintf(stderr, "pmtop: memory snapshots are left out (%d): give them without traces\n", snapshots);
	return snapshots && code == EXIT_OK ? EXIT_RUNTIME : code;
}

const struct command trace_command = {
	.name = "trace",
	.synopsis = "trace FILE|DIR ...",
	.summary = "analyse the traces of torch.profiler",
	.details = "FILE is JSON or JSON.gz of Kineto, or another Chrome trace; several are ranks.\n"
			   "A memory snapshot (torch.cuda.memory._dump_snapshot) shows memory by line.\n"
			   "On a terminal it opens a screen: Enter details, s sort, / search, ? help;\n"
			   "-b, --format=text, --json or a pipe print instead.\n",
	.example = "pmtop trace --by=shape resnet18.pt.trace.json.gz",
	.words = COMMAND_TAKES_WORDS,
	.traits = COMMAND_HAS_SCREEN,
	.formats = FORMATS_TEXT_JSON,
	.run = run_trace,
};
