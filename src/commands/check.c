/* pmtop check: tests in CI whether a run is slower than its baseline or exceeds its budgets. The exit status is the
 * result. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/clock.h"
#include "src/base/files/new_file.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/commands/summarize.h"
#include "src/compare/judgement.h"
#include "src/compare/judgement_text.h"
#include "src/compare/summary/summary_file.h"
#include "src/session/output.h"

struct check {
	const struct options *options;
	const struct settings *settings;
	struct budget_list budgets;
	struct summary baseline, now;
	bool has_baseline, has_now;
	int64_t begun_ns;
	struct buffer out;
};

static enum exit_code usage(const char *what)
{
	fprintf(stderr, "pmtop: %s: see pmtop --help\n", what);
	return EXIT_USAGE;
}

/* A baseline is a saved summary, or any recording. */
static enum exit_code read_baseline(struct check *check)
{
	const char *path = check->options->baseline;
	struct options options = { .command = &check_command, .replay = path, .color = -1 };
	struct summarize_how how = { .label = path };
	struct reason reason;
	struct stat file;
	if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0)
		return command_fail(
			reason_set(&reason, STATUS_DAMAGED, "write a baseline with pmtop check --save=FILE", "%s is empty", path),
			&reason);
	enum exit_code code = summarize(&how, &options, check->settings, &check->baseline);
	check->has_baseline = code == EXIT_OK;
	return code;
}

/* Checks the arguments first, because measuring the run may take long. */
static enum exit_code prepare(struct check *check)
{
	const struct options *options = check->options;
	struct reason reason = { 0 };
	if (!options->baseline && !options->budget && !options->save)
		return usage("check needs --baseline=FILE or --budget=LIMITS to compare with, or --save=FILE to write a "
					 "baseline");
	enum status status = budget_parse(options->budget, &check->budgets, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	return options->baseline ? read_baseline(check) : EXIT_OK;
}

static const char *label_of(const struct options *options, char out[32])
{
	snprintf(out, 32, "%d", (int)options->pid);
	return options->child   ? options->child[0]
		: options->replay   ? options->replay
		: options->run_name ? options->run_name
		: options->demo     ? "demo"
							: out;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;
	return b && stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
		first.st_ino == second.st_ino && S_ISREG(first.st_mode);
}

static enum exit_code save(struct check *check)
{
	const struct summary *now = &check->now;
	struct reason reason = { 0 };
	char step[NUMBER_SIZE];
	bool is_without_steps = !now->batches && summary_has_content(now);
	if (now->step_count < CONTRAST_MIN && !is_without_steps) {
		if (now->origin == ORIGIN_REPORT)
			fprintf(stderr,
				"pmtop: %s is a saved report, which has no steps: save a baseline from a recording or a run\n",
				now->label);
		else
			fprintf(stderr, "pmtop: %s has %zu batches after its warm-up, a baseline needs %d: measure longer\n",
				now->label, now->step_count, CONTRAST_MIN);
		return EXIT_RUNTIME;
	}
	enum status status = is_same_file(check->options->save, check->options->replay)
		? reason_set(&reason, STATUS_INVALID, "name another file with --save", "%s is the recording itself",
			  check->options->save)
		: summary_save(check->options->save, now, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	const char *name = now->run[0] ? now->run : now->label;
	if (check->options->format == FORMAT_TEXT && is_without_steps)
		buffer_printf(&check->out, "%s: baseline of %s: %zu operations, %.0f requests\n", check->options->save, name,
			now->operation_count, isfinite(now->requests) ? now->requests : 0);
	else if (check->options->format == FORMAT_TEXT)
		buffer_printf(&check->out, "%s: baseline of %s: median step %s (%llu steps; %llu of the warm-up excluded)\n",
			check->options->save, name, format_seconds(step, now->median_s), (unsigned long long)now->seen,
			(unsigned long long)now->warmup);
	return EXIT_OK;
}

static enum exit_code write_junit(const char *path, const struct judgement *judgement, double elapsed_s)
{
	struct buffer text = BUFFER_INIT;
	judgement_as_junit(&text, judgement, elapsed_s);
	/* Public, because another user may collect the test reports. */
	int error = text.failed ? ENOMEM : new_file_write(path, NEW_FILE_PUBLIC, text.data, text.length);
	if (error)
		fprintf(stderr, "pmtop: cannot write %s: %s: name another file with --junit\n", path, strerror(error));
	buffer_release(&text);
	return error ? EXIT_RUNTIME : EXIT_OK;
}

static enum exit_code judge_now(struct check *check)
{
	static const enum exit_code codes[] = {
		[OUTCOME_PASSED] = EXIT_OK, [OUTCOME_FAILED] = EXIT_REGRESSION, [OUTCOME_INCONCLUSIVE] = EXIT_RUNTIME
	};
	const struct options *options = check->options;
	struct reason reason = { 0 };
	enum status status = budget_check_names(&check->budgets, &check->now, check->has_baseline, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	struct judgement *judgement = malloc(sizeof *judgement);
	if (!judgement) {
		fputs("pmtop: out of memory\n", stderr);
		return EXIT_RUNTIME;
	}
	judge(&check->now, check->has_baseline ? &check->baseline : NULL, options->threshold, &check->budgets, judgement);
	if (options->format == FORMAT_JSON)
		judgement_as_json(&check->out, judgement);
	else
		judgement_as_text(&check->out, judgement, output_has_color(check->settings));
	enum exit_code code = codes[judgement->outcome];
	if (options->junit &&
		write_junit(options->junit, judgement, seconds_between(check->begun_ns, clock_monotonic_ns())) != EXIT_OK &&
		code == EXIT_OK)
		code = EXIT_RUNTIME;
	free(judgement);
	return code;
}

static enum exit_code update_and_judge(struct check *check)
{
	const struct options *options = check->options;
	char pid[32];
	struct summarize_how how = { .label = label_of(options, pid), .until_end = true, .max_s = options->record_s };
	enum exit_code code = summarize(&how, options, check->settings, &check->now);
	check->has_now = code == EXIT_OK;
	if (code == EXIT_OK && (options->baseline || options->budget))
		code = judge_now(check);
	if (check->has_now && options->save && code == EXIT_OK)
		code = save(check);
	return code;
}

static enum exit_code run_check(const struct options *options, const struct settings *settings)
{
	struct check *check = calloc(1, sizeof *check);
	int output_code = 0;
	if (!check) {
		fputs("pmtop: out of memory\n", stderr);
		return EXIT_RUNTIME;
	}
	*check = (struct check){
		.options = options, .settings = settings, .begun_ns = clock_monotonic_ns(), .out = BUFFER_INIT
	};
	enum exit_code code = prepare(check);
	if (code == EXIT_OK)
		code = update_and_judge(check);
	if (options->format != FORMAT_JSON)
		output_fit_locale(&check->out);
	output_flush(&check->out, &output_code);
	buffer_release(&check->out);
	if (check->has_baseline)
		summary_release(&check->baseline);
	if (check->has_now)
		summary_release(&check->now);
	free(check);
	return output_code && code == EXIT_OK ? EXIT_RUNTIME : code;
}

const struct command check_command = {
	.name = "check",
	.synopsis = "check PID|NAME|FILE|-- COMMAND ...",
	.summary = "compare with a baseline: exit 5 if it is slower",
	.example = "pmtop check --baseline=main.json --threshold=0.1 run.pmtop",
	.words = COMMAND_TAKES_TARGET,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = true,
	.run = run_check,
};
