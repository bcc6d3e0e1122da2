#include "src/commands/summarize.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/commands/summarize_trace.h"
#include "src/compare/summary/keeper.h"
#include "src/compare/summary/summary_file.h"
#include "src/session/session.h"
#include "src/trace/reading/profile_read.h"

enum { WAIT_MS = 200 };

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number) { is_interrupted = signal_number; }

/* Whether max_s have passed: in a recording's own time, else on the clock. */
static bool is_over(const struct summarize_how *how, const struct session *session, int64_t begun_ns)
{
	const struct model *model = session->model;
	int64_t since_ns = session->player ? model->now_ns - model->first_ns : clock_monotonic_ns() - begun_ns;
	return how->max_s > 0 && (double)since_ns >= how->max_s * (double)NS_PER_S;
}

/* Without until_end the data that is there now is enough. A pipe is always read to its end. */
static bool is_enough(const struct summarize_how *how, const struct session *session)
{
	return session_has_ended(session) || (!how->until_end && !(session->player && player_is_pipe(session->player)));
}

static void watch(const struct summarize_how *how, struct session *session, struct keeper *keeper)
{
	int64_t begun_ns = clock_monotonic_ns();
	keeper_read(keeper, session->model, session_run(session));
	while (!is_interrupted && !is_over(how, session, begun_ns)) {
		if (session_step(session))
			keeper_read(keeper, session->model, session_run(session));
		else if (is_enough(how, session))
			return;
		else
			session_wait(session, WAIT_MS);
	}
	/* End the command that pmtop started. */
	if (session->launch.child)
		kill(session->launch.child, SIGTERM);
}

static void take_host(const struct session *session, struct summary *out)
{
	const struct stream_header *header = session->player ? player_header(session->player) : NULL;
	char host[sizeof header->host] = "";
	if (!header && gethostname(host, sizeof host - 1) < 0)
		host[0] = '\0';
	const char *from = header ? header->host : host;
	text_clean(out->host, sizeof out->host, from, strlen(from));
	from = header ? header->version : PMTOP_VERSION;
	text_clean(out->version, sizeof out->version, from, strlen(from));
	out->origin = header ? ORIGIN_RECORDING : ORIGIN_RUN;
	out->made_ns = session_realtime_ns(session);
}

/* A command that ended before pmtop could watch it still has an exit status. */
static enum exit_code status_of_short(pid_t child, const char *label, enum exit_code code)
{
	int status;
	if (waitpid(child, &status, 0) < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return code;
	int printed = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	fprintf(stderr, "pmtop: %s exited with status %d: nothing was compared\n", label, printed);
	return (enum exit_code)printed;
}

static enum exit_code summarize_session(const struct summarize_how *how, const struct options *options,
	const struct settings *settings, struct summary *out)
{
	struct session session;
	struct keeper keeper;
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return session.launch.child ? status_of_short(session.launch.child, how->label, code) : code;
	/* No rules: a summary has no warnings. */
	session.judge_from_ns = INT64_MAX;
	summary_init(out);
	keeper_init(&keeper, out);
	void (*on_interrupt)(int) = signal(SIGINT, interrupt), (*on_end)(int) = signal(SIGTERM, interrupt);
	watch(how, &session, &keeper);
	int run = session_run(&session);
	bool is_whole = keeper_end(&keeper, session.model, run), is_ours = session.launch.child != 0,
		 is_cut = is_ours && !session.model->target_ended;
	take_host(&session, out);
	session_note_damage(&session);
	out->damaged_blocks = session.model->damaged_blocks;
	out->damaged_bytes = session.model->damaged_bytes;
	snprintf(out->label, sizeof out->label, "%s", how->label);
	code = session_close(&session);
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_end);
	if (is_interrupted) {
		fprintf(stderr, "pmtop: %s: interrupted: nothing was compared\n", how->label);
		code = (enum exit_code)(128 + is_interrupted);
	} else if (!is_whole) {
		fprintf(stderr, "pmtop: %s: out of memory\n", how->label);
		code = EXIT_RUNTIME;
	} else if (is_ours && code != EXIT_OK && !(is_cut && code == (enum exit_code)(128 + SIGTERM))) {
		fprintf(stderr, "pmtop: %s exited with status %d: nothing was compared\n", how->label, (int)code);
	} else {
		code = EXIT_OK;
	}
	if (code == EXIT_OK && out->seen == 0 && (out->batches || !summary_has_content(out))) {
		fprintf(stderr, "pmtop: %s: no batches: %s\n", how->label,
			run < 0 ? "not instrumented, or ended too early: use pmtop.torch, or pmtop.h (man pmtop.h)"
					: "none finished after the warm-up: measure longer");
		code = EXIT_RUNTIME;
	}
	if (code != EXIT_OK)
		summary_release(out);
	return code;
}

enum exit_code summarize(const struct summarize_how *how, const struct options *options,
	const struct settings *settings, struct summary *out)
{
	struct reason reason = { 0 };
	if (options->replay && profile_is_trace(options->replay)) {
		enum status status = summarize_trace(options->replay, out, &reason);
		return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
	}
	if (!options->replay || !summary_is_file(options->replay))
		return summarize_session(how, options, settings, out);
	enum status status = summary_load(options->replay, out, &reason);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}
