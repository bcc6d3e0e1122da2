#include "src/session/session_died.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/died/died_end.h"
#include "src/died/died_model.h"
#include "src/died/died_words.h"
#include "src/session/output.h"

void session_died_begin(struct session *session, char **command)
{
	session->command = command;
	died_watch_begin(&session->died, session->launch.child, session->launch.log[0] ? session->launch.log : NULL);
}

struct died_evidence *session_died_take(const struct session *session)
{
	struct died_evidence *evidence = session->died.pid ? malloc(sizeof *evidence) : NULL;
	if (!evidence)
		return NULL;
	died_init(evidence);
	const char *slash = strrchr(session->command[0], '/');
	snprintf(evidence->name, sizeof evidence->name, "%.90s", slash ? slash + 1 : session->command[0]);
	if (session->recording.path[0]) {
		char *path = realpath(session->recording.path, NULL);
		snprintf(evidence->recording, sizeof evidence->recording, "%.500s", path ? path : "");
		free(path);
	}
	if (session->model)
		died_take_model(session->model, session_run(session), evidence);
	evidence->pid = (int32_t)session->died.pid;
	return evidence;
}

/* The screen hid the command's output. collect says nothing: its stderr reaches the screen at the other end of ssh. */
static void print_end(const struct session *session, const struct died_evidence *evidence)
{
	char words[DIED_WORDS_SIZE];
	if (evidence->status != 0 && session->launch.log[0] && output_has_screen())
		fprintf(stderr, "pmtop: %s\n", died_sentence(evidence, words));
}

void session_died_end(struct session *session, struct died_evidence *evidence, int status)
{
	char folder[LAUNCH_FOLDER_SIZE];
	struct buffer words = BUFFER_INIT;
	if (evidence) {
		evidence->has_status = true;
		evidence->status = status;
		died_watch_finish(&session->died, evidence);
		print_end(session, evidence);
		launch_folder(folder);
		for (char **word = session->command; *word; word++)
			buffer_printf(&words, word == session->command ? "%s" : " %s", *word);
		if (folder[0] && words.data)
			died_end_write(folder, evidence, words.data, session->died.log);
		buffer_release(&words);
	}
	died_watch_close(&session->died);
	free(evidence);
}
