/* pmtop diff A B ...: compares two runs side by side, or ranks more than two in a table, the best first. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/commands/commands.h"
#include "src/commands/options/options.h"
#include "src/commands/summarize.h"
#include "src/commands/trace/trace_print.h"
#include "src/commands/trace/trace_snapshot.h"
#include "src/compare/comparison.h"
#include "src/compare/comparison_json.h"
#include "src/compare/comparison_text.h"
#include "src/compare/ranking.h"
#include "src/session/output.h"
#include "src/trace/output/profile_diff.h"
#include "src/trace/reading/profile_read.h"

static enum exit_code summarize_word(
	const char *word, const struct options *options, const struct settings *settings, struct summary *out)
{
	struct options one = *options;
	struct summarize_how how = { .label = word, .max_s = options->record_s, .until_end = options->record_s > 0 };
	return options_target(word, &one) ? summarize(&how, &one, settings, out) : EXIT_USAGE;
}

static void print_two(
	struct buffer *out, const struct summary *const *of, bool is_json, const struct settings *settings)
{
	struct comparison *comparison = malloc(sizeof *comparison);
	out->failed |= !comparison;
	if (comparison) {
		compare(of[0], of[1], comparison);
		if (is_json)
			comparison_as_json(out, comparison);
		else
			comparison_as_text(out, comparison, output_width(), output_has_color(settings));
	}
	free(comparison);
}

static enum exit_code print_many(struct buffer *out, const struct summary *const *of, size_t count,
	const struct options *options, const struct settings *settings)
{
	struct ranking *ranking = malloc(sizeof *ranking);
	struct reason reason = { "", "" };
	enum status status = ranking ? ranking_make(ranking, of, count, options->by, &reason)
								 : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	if (status == STATUS_OK && options->format == FORMAT_JSON)
		ranking_as_json(out, ranking);
	else if (status == STATUS_OK)
		ranking_as_text(out, ranking, output_width(), output_has_color(settings));
	free(ranking);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}

/* Whether both words are traces of a profiler. */
static bool are_traces(const struct options *options)
{
	return options->word_count == 2 && profile_is_trace(options->words[0]) && profile_is_trace(options->words[1]);
}

static enum exit_code diff_traces(const struct options *options, const struct settings *settings)
{
	struct profile_analysis *traces = calloc(2, sizeof *traces);
	struct profile_view view = { .width = output_width(), .has_color = output_has_color(settings) };
	struct buffer out = BUFFER_INIT;
	struct reason reason = { "", "" };
	enum status status = traces ? STATUS_OK : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	int code = 0, done = 0;
	for (; done < 2 && status == STATUS_OK; done += status == STATUS_OK)
		status = profile_analyse(&traces[done], options->words[done], GROUP_NAME, NULL, &reason);
	if (status == STATUS_OK && options->format == FORMAT_JSON) {
		profile_diff_as_json(&out, &traces[0], &traces[1], &view);
	} else if (status == STATUS_OK) {
		profile_diff_as_text(&out, &traces[0], &traces[1], &view);
		output_fit_locale(&out);
	}
	output_flush(&out, &code);
	buffer_release(&out);
	for (int i = 0; i < done; i++)
		trace_report_loss(&traces[i]);
	while (done > 0)
		profile_analysis_release(&traces[--done]);
	free(traces);
	return status != STATUS_OK ? command_fail(status, &reason) : code ? EXIT_RUNTIME : EXIT_OK;
}

/* Of a trace or memory snapshot and something else: why they cannot be compared; false: they may be. */
static bool find_mismatch(const struct options *options, struct reason *reason)
{
	for (int i = 0; options->word_count == 2 && i < 2; i++) {
		const char *word = options->words[i], *other = options->words[1 - i];
		bool is_snapshot = trace_snapshot_count(&options->words[i], 1);
		struct stat file;
		if (!is_snapshot && !profile_is_trace(word))
			continue;
		const char *kind = is_snapshot ? "memory snapshot" : "trace";
		if (stat(other, &file) != 0)
			continue;
		if (S_ISDIR(file.st_mode))
			reason_set(reason, STATUS_INVALID, "name a file in it", "%.150s is a folder", other);
		else if (S_ISREG(file.st_mode) && !file.st_size)
			reason_set(reason, STATUS_INVALID, "record it again", "%.150s is empty", other);
		else if (is_snapshot || trace_snapshot_count(&options->words[1 - i], 1))
			reason_set(
				reason, STATUS_INVALID, "give two of one kind", "%.150s is a %s, %.150s is none", word, kind, other);
		if (reason->text[0])
			return true;
	}
	return false;
}

static enum exit_code run_diff(const struct options *options, const struct settings *settings)
{
	if (are_traces(options))
		return diff_traces(options, settings);
	if (options->word_count == 2 && trace_snapshot_count(options->words, 2) == 2)
		return trace_snapshot_diff(options->words[0], options->words[1], options, settings);
	bool is_json = options->format == FORMAT_JSON;
	size_t count = (size_t)options->word_count, done = 0;
	struct reason reason = { "", "" };
	if (find_mismatch(options, &reason))
		return command_fail(STATUS_INVALID, &reason);
	if (count < 2 || count > RANKING_MAX || options->pid || options->run_name || options->replay || options->demo ||
		options->child) {
		fprintf(stderr,
			"pmtop: diff takes 2 to %d runs: pmtop diff A B; each is a pid, a run's name, a recording, a saved summary "
			"or report\n",
			RANKING_MAX);
		return EXIT_USAGE;
	}
	struct summary *summaries = calloc(count, sizeof *summaries);
	const struct summary *of[RANKING_MAX];
	struct buffer out = BUFFER_INIT;
	enum exit_code code = EXIT_OK;
	int output_code = 0;
	for (; summaries && done < count && code == EXIT_OK; done += code == EXIT_OK) {
		of[done] = &summaries[done];
		code = summarize_word(options->words[done], options, settings, &summaries[done]);
	}
	out.failed = !summaries;
	if (code == EXIT_OK && summaries && count == 2 && !options->by)
		print_two(&out, of, is_json, settings);
	else if (code == EXIT_OK && summaries)
		code = print_many(&out, of, count, options, settings);
	if (!is_json)
		output_fit_locale(&out);
	if (code == EXIT_OK)
		output_flush(&out, &output_code);
	for (size_t i = 0; i < done; i++)
		summary_release(&summaries[i]);
	free(summaries);
	buffer_release(&out);
	return output_code ? EXIT_RUNTIME : code;
}

const struct command diff_command = {
	.name = "diff",
	.synopsis = "diff A B ...",
	.summary = "compare runs, with 95 % intervals",
	.details = "A and B are pids, names, recordings, saved summaries or reports, or two traces\n"
			   "or memory snapshots.\n"
			   "Three or more runs are listed with the best first, by samples a second, or\n"
			   "with --by=KEY by step, memory, gpu, energy, a gauge, accuracy/s, ...\n",
	.example = "pmtop diff before.pmtop after.pmtop",
	.words = COMMAND_TAKES_WORDS,
	.formats = FORMATS_TEXT_JSON,
	.run = run_diff,
};
