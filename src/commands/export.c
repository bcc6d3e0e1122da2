/* pmtop export: converts a run into a format of other programs.
 *
 * It reads a recording to its end, or to the last complete block if the file is still being written. Of a live run it
 * exports the current state, as a report does; with -n or --for it goes on for that long, with -- COMMAND until the
 * command ends. An interrupt ends the export of a live run, which is then written; it cancels that of a recording. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/commands.h"
#include "src/export/exporter.h"
#include "src/session/output_file.h"
#include "src/session/session.h"
#include "src/session/window.h"

enum { FILES_MAX = 80, NAME_SIZE = 200 };

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

static bool goes_on(void) { return !is_interrupted; }

struct work {
	struct session session;
	const struct options *options;
	const struct exporter *exporter;
	void *state;
	struct export_scene scene;
	char host[80];
	size_t file_count;
	struct output_file files[FILES_MAX];
	char names[FILES_MAX][NAME_SIZE]; /* in the folder */
	bool is_open;                     /* the output takes more: no write has failed, the reader is there */
	int code;
};

/* -- where it goes -- */

static void drain(const struct export_scene *scene)
{
	struct work *work = scene->sink;
	for (size_t i = 0; i < work->file_count && work->is_open; i++)
		work->is_open = output_file_drain(&work->files[i], &work->code);
}

/* Makes the folders of "DIR/rank 1/file", all but the last part. */
static bool make_folders(const char *path)
{
	char folder[4096];
	snprintf(folder, sizeof folder, "%s", path);
	for (char *slash = folder + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (mkdir(folder, 0777) < 0 && errno != EEXIST)
			return false;
	}
	return true;
}

static struct buffer *file_in_folder(const struct export_scene *scene, const char *name)
{
	struct work *work = scene->sink;
	struct reason reason = { 0 };
	char path[4096];
	for (size_t i = 0; i < work->file_count; i++)
		if (strcmp(work->names[i], name) == 0)
			return &work->files[i].out;
	struct output_file *file = &work->files[work->file_count];
	if (!work->is_open || work->file_count == FILES_MAX)
		return NULL;
	snprintf(path, sizeof path, "%s/%s", work->options->write, name);
	enum status status = make_folders(path)
		? output_file_open(file, path, NULL, &reason)
		: reason_set(&reason, STATUS_IO, "name another folder with -o", "cannot create %s: %s", path, strerror(errno));
	if (status != STATUS_OK) {
		work->code = (int)command_fail(status, &reason);
		work->is_open = false;
		return NULL;
	}
	file->goes_on = goes_on;
	snprintf(work->names[work->file_count], NAME_SIZE, "%s", name);
	return &work->files[work->file_count++].out;
}

static bool close_files(struct work *work, bool is_whole)
{
	for (size_t i = 0; i < work->file_count; i++)
		is_whole = output_file_close(&work->files[i], is_whole, &work->code);
	return is_whole;
}

/* -- the run -- */

static void add_set(struct work *work)
{
	work->scene.run = session_run(&work->session);
	if (work->exporter->add)
		work->exporter->add(work->state, &work->scene, &work->session.set);
	drain(&work->scene);
}

/* Whether to end before the run does: by -n, --for, --until or an interrupt. */
static bool is_enough(const struct work *work, int64_t refreshes, int64_t end_ns)
{
	const struct options *options = work->options;
	/* Formats that export one moment export that of --until. */
	bool is_past = !work->exporter->add && work->session.model->now_ns >= work->scene.until_ns;
	if (options->replay)
		return is_interrupted || is_past;
	if (is_interrupted || (end_ns && clock_monotonic_ns() >= end_ns))
		return true;
	if (options->count)
		return refreshes >= options->count;
	return !end_ns && !options->child;
}

/* A recording that is still being written has been read to its present end. */
static bool is_read(const struct session *session)
{
	return session->player && !player_is_pipe(session->player) && player_wait_ms(session->player) > 0;
}

static void go_through(struct work *work)
{
	struct session *session = &work->session;
	int64_t end_ns =
		work->options->record_s > 0 ? clock_monotonic_ns() + (int64_t)(work->options->record_s * (double)NS_PER_S) : 0;
	int64_t refreshes = session->model->now_ns ? 1 : 0;
	if (refreshes)
		add_set(work);
	while (work->is_open && !is_enough(work, refreshes, end_ns)) {
		if (session_step(session)) {
			add_set(work);
			refreshes++;
		} else if (session_has_ended(session) || is_read(session)) {
			break;
		} else {
			session_wait(session, 200);
		}
	}
}

static bool begin(struct work *work)
{
	const struct stream_header *header = work->session.player ? player_header(work->session.player) : NULL;
	if (header)
		snprintf(work->host, sizeof work->host, "%s", header->host);
	else if (gethostname(work->host, sizeof work->host - 1) < 0)
		work->host[0] = '\0';
	work->scene = (struct export_scene){ .model = work->session.model,
		.alerts = &work->session.alerts,
		.since_ns = INT64_MIN,
		.until_ns = INT64_MAX,
		.host = work->host,
		.is_awaited = !header || player_is_pipe(work->session.player),
		.drain = drain,
		.file = file_in_folder,
		.sink = work,
		.out = work->exporter->is_folder ? NULL : &work->files[0].out };
	/* Computed once, so that one moment has the same date in the whole file. */
	work->scene.run = session_run(&work->session);
	work->scene.realtime_offset_ns = session_realtime_ns(&work->session) - work->session.model->now_ns;
	work->scene.boottime_offset_ns =
		header ? header->boottime_ns - header->monotonic_ns : clock_boottime_ns() - clock_monotonic_ns();
	work->code = (int)window_of(&work->session, work->options, &work->scene.since_ns, &work->scene.until_ns);
	work->state = work->code ? NULL : work->exporter->open(&work->scene);
	if (work->state || work->code)
		return work->state != NULL;
	fputs("pmtop: nothing was exported: out of memory, or no space for temporary files: check df -h /tmp\n", stderr);
	work->code = EXIT_RUNTIME;
	return false;
}

static enum exit_code export_run(struct work *work, const struct settings *settings)
{
	enum exit_code code = session_open(&work->session, work->options, settings);
	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < work->file_count; i++)
		work->files[i].goes_on = goes_on;
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	work->is_open = begin(work);
	if (work->is_open) {
		go_through(work);
		bool is_left = is_interrupted && work->session.player && !player_is_pipe(work->session.player);
		if (work->is_open && !is_left) {
			session_note_damage(&work->session);
			work->exporter->end(work->state, &work->scene);
			drain(&work->scene);
		}
		if (is_left)
			work->code = 128 + SIGINT;
		work->is_open &= !is_left;
		work->exporter->close(work->state);
	}
	if (is_interrupted && work->session.launch.child)
		kill(work->session.launch.child, SIGTERM);
	code = session_close(&work->session);
	return work->code ? (enum exit_code)work->code : code;
}

/* -- the command line -- */

static void list_formats(void)
{
	const struct exporter *exporter;
	for (unsigned i = 0; (exporter = exporter_at(i)); i++)
		printf("%-16s %s\n", exporter->name, exporter->help);
}

static enum exit_code unknown_format(const char *name)
{
	const struct exporter *exporter;
	if (name)
		fprintf(stderr, "pmtop: unknown format %.60s: --to takes", name);
	else
		fputs("pmtop: export needs a format: --to takes", stderr);
	for (unsigned i = 0; (exporter = exporter_at(i)); i++)
		fprintf(stderr, "%s %s", i ? "," : "", exporter->name);
	fputs(" (--to=list describes them)\n", stderr);
	return EXIT_USAGE;
}

static bool is_possible(const struct exporter *exporter, const char *path)
{
	if (exporter->is_folder && !path)
		fprintf(stderr, "pmtop: %s writes several files: name a folder with -o\n", exporter->name);
	else if (exporter->is_binary && !path && isatty(STDOUT_FILENO))
		fprintf(
			stderr, "pmtop: %s is binary, and standard output is a terminal: name a file with -o\n", exporter->name);
	else
		return true;
	return false;
}

static enum exit_code run_export(const struct options *options, const struct settings *settings)
{
	struct reason reason = { 0 };
	const struct exporter *exporter = options->to ? exporter_find(options->to) : NULL;
	const char *path = options->write && strcmp(options->write, "-") != 0 ? options->write : NULL;
	if (options->to && !strcmp(options->to, "list")) {
		list_formats();
		return EXIT_OK;
	}
	if (!exporter)
		return unknown_format(options->to);
	if (!is_possible(exporter, path))
		return EXIT_USAGE;
	struct work *work = calloc(1, sizeof *work);
	if (!work)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	work->options = options;
	work->exporter = exporter;
	enum status status = exporter->is_folder
		? STATUS_OK
		: output_file_open(&work->files[work->file_count++], path, options->replay, &reason);
	enum exit_code code = status == STATUS_OK ? export_run(work, settings) : command_fail(status, &reason);
	/* The exit status of a child is no failure of the export. */
	if (!close_files(work, work->is_open && status == STATUS_OK) && !code)
		code = (enum exit_code)work->code;
	free(work);
	return code;
}

const struct command export_command = {
	.name = "export",
	.synopsis = "export --to=FORMAT PID|NAME|FILE",
	.summary = "convert a run for other programs",
	.details = "--to=list names the formats: csv, jsonl, perfetto, chrome-trace, tensorboard ...\n",
	.example = "pmtop export --to=perfetto run.pmtop -o run.perfetto",
	.words = COMMAND_TAKES_TARGET,
	.formats = FORMATS_ALL_BUT_SVG,
	.needs_target = true,
	.run = run_export,
};
