#include "src/session/session_died.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/died/died_end.h"
#include "src/died/died_model.h"
#include "src/died/died_words.h"
#include "src/model/machine/processes.h"

void session_died_begin(struct session *session, pid_t pid, char **command)
{
	session->command = command;
	died_watch_begin(&session->died, pid, session->launch.log[0] ? session->launch.log : NULL);
}

/* Since its start, not only since pmtop attached. */
static double age_s(const struct model *model)
{
	const struct process *target = model_target(model);
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	if (!target || !target->start_ticks || ticks_per_s <= 0)
		return NAN;
	double since_end_s =
		seconds_between(model->target_ended ? model->target_ended_ns : model->now_ns, clock_monotonic_ns());
	return (double)clock_boottime_ns() * 1e-9 - (double)target->start_ticks / (double)ticks_per_s - since_end_s;
}

static void take_evidence(struct session *session)
{
	struct died_evidence *evidence = session->died.pid && !session->ended ? malloc(sizeof *evidence) : NULL;
	if (!evidence)
		return;
	session->ended = evidence;
	died_init(evidence);
	if (session->command) {
		const char *slash = strrchr(session->command[0], '/');
		snprintf(evidence->name, sizeof evidence->name, "%.90s", slash ? slash + 1 : session->command[0]);
	}
	if (session->recording.path[0]) {
		char *path = realpath(session->recording.path, NULL);
		snprintf(evidence->recording, sizeof evidence->recording, "%.500s", path ? path : "");
		free(path);
	}
	if (session->model) {
		died_take_model(session->model, session_run(session), evidence);
		evidence->ran_s = session->command ? evidence->ran_s : age_s(session->model);
	}
	evidence->pid = (int32_t)session->died.pid;
}

static void finish(struct session *session)
{
	died_watch_finish(&session->died, session->ended);
	died_watch_close(&session->died);
}

void session_died_note(struct session *session)
{
	struct model *model = session->model;
	if (!session->died.pid || (!model->target_ended && !session_has_ended(session)))
		return;
	take_evidence(session);
	if (!session->ended)
		return;
	finish(session);
	model->end.cause = died_name(session->ended);
	model->end.status = session->ended->has_status ? session->ended->status : -1;
	died_sentence(session->ended, model->end.message);
	died_brief(session->ended, model->end.brief, sizeof model->end.brief);
}

void session_died_take(struct session *session)
{
	if (session->model)
		session_died_note(session);
	if (session->launch.child)
		take_evidence(session);
}

static void write_end(const struct session *session)
{
	char folder[LAUNCH_FOLDER_SIZE];
	struct buffer words = BUFFER_INIT;
	launch_folder(folder);
	for (char **word = session->command; word && *word; word++)
		buffer_printf(&words, word == session->command ? "%s" : " %s", *word);
	if (folder[0] && !words.failed)
		died_end_write(folder, session->ended, words.data ? words.data : "");
	buffer_release(&words);
}

void session_died_end(struct session *session, int status)
{
	char words[DIED_WORDS_SIZE];
	if (session->ended && session->launch.child) {
		session->ended->has_status = true;
		session->ended->status = status;
	}
	if (session->ended && session->died.pid)
		finish(session);
	if (session->ended && session->says_end && died_judge(session->ended) != DIED_FINISHED)
		fprintf(stderr, "pmtop: %s\n", died_sentence(session->ended, words));
	if (session->ended)
		write_end(session);
	died_watch_close(&session->died);
	free(session->ended);
	session->ended = NULL;
}
