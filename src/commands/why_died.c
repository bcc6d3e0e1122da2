/* pmtop why-died [PID|NAME|FILE]: why a run ended. A running process is watched until it ends. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/died/died_end.h"
#include "src/died/died_kernel.h"
#include "src/died/died_model.h"
#include "src/died/died_output.h"
#include "src/died/died_words.h"
#include "src/session/output.h"
#include "src/session/session.h"
#include "src/session/session_died.h"

enum { WAIT_MS = 200 };

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number) { is_interrupted = number; }

/* -- a process, a run, a recording -- */

/* Steps to the end; returns how many out-of-memory kills the cgroup counted meanwhile, NAN = unknown. */
static double step_to_end(struct session *session)
{
	double first = NAN, now = NAN;
	while (!is_interrupted) {
		double count = session->model->system.now[METRIC_CGROUP_OOM_KILLS];
		now = isnan(count) ? now : count;
		first = isnan(first) ? count : first;
		if (session_step(session))
			continue;
		if (session_has_ended(session))
			break;
		session_wait(session, WAIT_MS);
	}
	return now - first;
}

/* If pmtop started the command, and the recording was not moved: also its exit status and its output. */
static void take_end_of(const char *recording, struct died_evidence *out)
{
	char folder[LAUNCH_FOLDER_SIZE], *path = realpath(recording, NULL);
	struct died_evidence end;
	struct reason why;
	died_init(&end);
	launch_folder(folder);
	if (path && died_end_read(folder, out->pid, path, &end, &why) == STATUS_OK) {
		memcpy(end.name, out->name, sizeof end.name);
		memcpy(end.stack, out->stack, sizeof end.stack);
		memcpy(end.collective, out->collective, sizeof end.collective);
		*out = end;
	}
	free(path);
}

static enum exit_code read_session(
	const struct options *options, const struct settings *settings, struct died_evidence *out)
{
	struct session session;
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return code;
	session.judge_from_ns = INT64_MAX; /* no rules: warnings are not wanted */
	if (session.died.pid)
		fprintf(stderr, "pmtop: watching process %d until it ends (Ctrl-C stops watching)\n", (int)session.died.pid);
	void (*on_interrupt)(int) = signal(SIGINT, interrupt);
	out->oom_kills = step_to_end(&session);
	signal(SIGINT, on_interrupt);
	died_take_model(session.model, session_run(&session), out);
	session_died_note(&session);
	if (session.ended)
		*out = *session.ended;
	else if (session.player)
		take_end_of(options->replay, out);
	else if (out->pid)
		died_kernel_read("/dev/kmsg", out->pid, out->begun_us, out);
	session_close(&session);
	return is_interrupted ? (enum exit_code)(128 + is_interrupted) : EXIT_OK;
}

/* -- a log -- */

/* A recording begins with its format's name; a log is any other file. */
static bool is_log(const char *path)
{
	return strcmp(path, "-") != 0 && !text_ends_with(path, ".pmtop") && access(path, R_OK) == 0;
}

/* gzip, xz, zstd, bzip2: as logs that are rotated. */
static bool is_compressed(int fd)
{
	static const char *const heads[] = { "\x1f\x8b\x08", "\xfd\x37zX", "\x28\xb5\x2f\xfd", "BZh" };
	char head[4];
	if (pread(fd, head, sizeof head, 0) != sizeof head)
		return false;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (memcmp(head, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

static enum exit_code read_log(const char *path, struct died_evidence *out)
{
	struct reason reason;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *slash = strrchr(path, '/');
	snprintf(out->name, sizeof out->name, "%.90s", slash ? slash + 1 : path);
	bool is_packed = fd >= 0 && is_compressed(fd);
	if (fd >= 0 && !is_packed)
		died_output_read_file(fd, &(struct died_part){ 0 }, &out->output);
	if (fd >= 0)
		close(fd);
	if (out->output.is_known)
		return EXIT_OK;
	if (is_packed)
		reason_set(&reason, STATUS_UNSUPPORTED, "unpack it first", "%.150s is compressed", path);
	else
		reason_set(&reason, STATUS_NOT_FOUND, "name a log or a recording", "%.150s is empty, or no file", path);
	return command_fail(is_packed ? STATUS_UNSUPPORTED : STATUS_NOT_FOUND, &reason);
}

/* -- the command -- */

static bool is_running(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return access(path, F_OK) == 0;
}

static enum exit_code read_end(pid_t pid, struct died_evidence *out)
{
	char folder[LAUNCH_FOLDER_SIZE];
	struct reason reason;
	launch_folder(folder);
	enum status status = died_end_read(folder, (int32_t)pid, NULL, out, &reason);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}

static enum exit_code run_why_died(const struct options *options, const struct settings *settings)
{
	struct died_evidence evidence;
	struct buffer out = BUFFER_INIT;
	int output_code = 0;
	bool has_none = !options->pid && !options->run_name && !options->replay && !options->child && !options->demo;
	died_init(&evidence);
	enum exit_code code = has_none || (options->pid && !is_running(options->pid)) ? read_end(options->pid, &evidence)
		: options->replay && is_log(options->replay)                              ? read_log(options->replay, &evidence)
													 : read_session(options, settings, &evidence);
	if (code != EXIT_OK)
		return code;
	if (options->format == FORMAT_JSON)
		died_print_json(&evidence, &out);
	else
		died_print(&evidence, &out);
	if (options->format == FORMAT_TEXT)
		output_fit_locale(&out);
	output_flush(&out, &output_code);
	buffer_release(&out);
	return output_code ? EXIT_RUNTIME : EXIT_OK;
}

const struct command why_died_command = {
	.name = "why-died",
	.synopsis = "why-died [PID|NAME|FILE]",
	.summary = "say why a run ended: cause, evidence, advice",
	.details = "PID: watched until it ends. FILE: a recording or a log.\n"
			   "Without: the last process that pmtop started, or watched until its end.\n",
	.example = "pmtop why-died 48213",
	.words = COMMAND_TAKES_TARGET,
	.traits = 0,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = false,
	.run = run_why_died,
};
