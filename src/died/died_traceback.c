#include "src/died/died_traceback.h"

#include <stdio.h>
#include <string.h>

enum { PREFIX_MAX = 24, TABLE_INDENT = 2 };

static const char begin_text[] = "Traceback (most recent call last)", traceback_label[] = "  traceback : ";

/* Other ranks raise these because one has ended: the cause is elsewhere. */
static const char *const consequences[] = { "Connection closed by peer", "Connection reset by peer", "Broken pipe",
	"ncclRemoteError", "remote process exited", "recvValue failed", "failed to recv, got 0 bytes",
	"Application timeout caused pair closure" };

static void copy_line(char out[DIED_LINE_SIZE], const char *line) { snprintf(out, DIED_LINE_SIZE, "%s", line); }

static bool begins_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

const char *died_skip_prefix(const char *line, char key[DIED_KEY_SIZE])
{
	*key = '\0';
	for (bool is_rank = true; is_rank;) {
		const char *end = line[0] == '[' ? strstr(line, "]:") : NULL;
		if (!end || end - line > PREFIX_MAX)
			break;
		is_rank = begins_with(line, "[rank") || begins_with(line, "[default");
		if (is_rank && !begins_with(key, "rank"))
			snprintf(key, DIED_KEY_SIZE, "%.*s", (int)(end - line - 1), line + 1);
		line = end[2] == ' ' ? end + 3 : end + 2;
	}
	return line;
}

/* -- one traceback -- */

static bool is_library(const char *path)
{
	return strstr(path, "site-packages/") || strstr(path, "dist-packages/") || strstr(path, "/lib/python") ||
		path[0] == '<';
}

/* `  File "/home/u/train.py", line 88, in main`: the innermost of the program's own, else the innermost. */
static void take_frame(struct died_speaker *speaker, const char *line)
{
	char path[DIED_LINE_SIZE], function[64] = "?";
	unsigned number;
	if (sscanf(line, " File \"%239[^\"]\", line %u, in %63s", path, &number, function) < 2)
		return;
	bool is_own = !is_library(path);
	if (!is_own && speaker->has_own)
		return;
	const char *slash = strrchr(path, '/');
	snprintf(speaker->where, DIED_LINE_SIZE, "%.120s:%u in %s", slash ? slash + 1 : path, number, function);
	speaker->has_own |= is_own;
}

static void begin_traceback(struct died_speaker *speaker)
{
	speaker->exception[0] = speaker->where[0] = '\0';
	speaker->in_traceback = true;
	speaker->has_own = false;
}

/* indent: spaces before the exception. */
static void take_traceback(struct died_speaker *speaker, const char *line, size_t indent)
{
	if (strspn(line, " ") > indent || line[0] == '\0') {
		take_frame(speaker, line);
		return;
	}
	speaker->in_traceback = false;
	copy_line(speaker->exception, line + strspn(line, " "));
}

static bool is_launcher(const struct died_speaker *speaker)
{
	return strstr(speaker->exception, "ChildFailedError") != NULL;
}

static bool is_consequence(const char *exception)
{
	for (size_t i = 0; i < sizeof consequences / sizeof *consequences; i++)
		if (strstr(exception, consequences[i]))
			return true;
	return false;
}

/* -- torchrun's table -- */

/* "  rank      : 1 (local_rank: 1)", "  exitcode  : 1 (pid: 4711)"; the root cause is the last rank. */
static void take_table(struct died_tracebacks *tracebacks, const char *line)
{
	long rank, local_rank, code, pid;
	if (sscanf(line, " rank : %ld (local_rank: %ld", &rank, &local_rank) == 2) {
		tracebacks->table.rank = rank;
		tracebacks->table.local_rank = local_rank;
		tracebacks->table.has_code = false;
		tracebacks->table.traceback = (struct died_speaker){ .in_traceback = false };
	} else if (tracebacks->table.rank < 0) {
		return;
	} else if (sscanf(line, " exitcode : %ld (pid: %ld)", &code, &pid) == 2) {
		tracebacks->table.has_code = true;
		tracebacks->table.code = code;
		tracebacks->table.pid = pid;
	} else if (begins_with(line, traceback_label) && begins_with(line + strlen(traceback_label), begin_text)) {
		begin_traceback(&tracebacks->table.traceback);
	} else if (tracebacks->table.traceback.in_traceback) {
		take_traceback(&tracebacks->table.traceback, line, TABLE_INDENT);
	}
}

/* -- all lines -- */

/* NULL: there are too many. */
static struct died_speaker *speaker_of(struct died_tracebacks *tracebacks, const char *key)
{
	size_t at = 0;
	while (at < tracebacks->count && strcmp(tracebacks->speakers[at].key, key) != 0)
		at++;
	if (at == DIED_SPEAKERS_MAX)
		return NULL;
	if (at == tracebacks->count) {
		snprintf(tracebacks->speakers[at].key, DIED_KEY_SIZE, "%s", key);
		tracebacks->count++;
	}
	return &tracebacks->speakers[at];
}

static const struct died_speaker *find_speaker(const struct died_tracebacks *tracebacks, const char *key)
{
	for (size_t i = 0; i < tracebacks->count; i++)
		if (strcmp(tracebacks->speakers[i].key, key) == 0)
			return &tracebacks->speakers[i];
	return NULL;
}

static void end_launcher(struct died_tracebacks *tracebacks, const struct died_speaker *speaker)
{
	tracebacks->table.is_read = is_launcher(speaker);
	tracebacks->table.rank = -1;
}

void died_tracebacks_take(struct died_tracebacks *tracebacks, const char *key, const char *line)
{
	size_t length = strlen(line);
	if (!*key && begins_with(line, "Process ") && line[length - 1] == ':' && length < DIED_KEY_SIZE) {
		snprintf(tracebacks->process, DIED_KEY_SIZE, "%.*s", (int)(length - 1), line);
		return;
	}
	struct died_speaker *speaker = speaker_of(tracebacks, *key ? key : tracebacks->process);
	if (!speaker)
		return;
	if (begins_with(line, begin_text)) {
		if (!speaker->key[0] && speaker->exception[0])
			tracebacks->previous = *speaker;
		begin_traceback(speaker);
		tracebacks->newest = (size_t)(speaker - tracebacks->speakers);
	} else if (speaker->in_traceback) {
		take_traceback(speaker, line, 0);
		if (speaker->in_traceback)
			return;
		if (!*key)
			tracebacks->process[0] = '\0';
		tracebacks->newest = (size_t)(speaker - tracebacks->speakers);
		end_launcher(tracebacks, speaker);
	} else if (tracebacks->table.is_read) {
		take_table(tracebacks, line);
	}
}

/* -- what it means -- */

/* The first of the ranks whose exception does not follow from the end of another one. NULL: none, or `than` is one. */
static const struct died_speaker *find_cause(const struct died_tracebacks *tracebacks, const struct died_speaker *than)
{
	if (than && than->exception[0] && !is_consequence(than->exception))
		return NULL;
	for (size_t i = 0; i < tracebacks->count; i++) {
		const struct died_speaker *at = &tracebacks->speakers[i];
		if (at->key[0] && at->exception[0] && !is_consequence(at->exception) && !is_launcher(at))
			return at;
	}
	return NULL;
}

static void write_child(const struct died_tracebacks *tracebacks, struct died_output *out)
{
	int used = snprintf(out->child, sizeof out->child, "rank %ld", tracebacks->table.rank);
	char *end = out->child + used;
	size_t size = sizeof out->child - (size_t)used;
	out->child_rank = tracebacks->table.rank;
	if (!tracebacks->table.has_code)
		return;
	if (tracebacks->table.code < 0 && tracebacks->table.code > -DIED_SIGNALS) {
		out->child_signal = (int)-tracebacks->table.code;
		snprintf(end, size, ", signal %d (%.40s), pid %ld", out->child_signal, strsignal(out->child_signal),
			tracebacks->table.pid);
	} else {
		snprintf(end, size, ", exit code %ld, pid %ld", tracebacks->table.code, tracebacks->table.pid);
	}
}

static void take_cause(struct died_output *out, const struct died_speaker *speaker)
{
	copy_line(out->child_exception, speaker->exception);
	copy_line(out->where, speaker->where);
}

/* torchrun noticed first that another rank had ended: "rank 1; torchrun reports rank 0, exit code 1, pid 4711". */
static void blame_other(const struct died_speaker *cause, struct died_output *out)
{
	char reported[DIED_LINE_SIZE / 2];
	if (sscanf(cause->key, "rank%ld", &out->child_rank) != 1)
		return;
	snprintf(reported, sizeof reported, "%.*s", (int)sizeof reported - 1, out->child);
	snprintf(out->child, sizeof out->child, "rank %ld; torchrun reports %s", out->child_rank, reported);
}

/* The error of the rank that failed first. One that a signal ended has written none; what others wrote follows. */
static void find_child_error(const struct died_tracebacks *tracebacks, struct died_output *out)
{
	char key[DIED_KEY_SIZE];
	snprintf(key, sizeof key, "rank%ld", tracebacks->table.rank);
	const struct died_speaker *own = find_speaker(tracebacks, key);
	snprintf(key, sizeof key, "default%ld", tracebacks->table.local_rank);
	own = own ? own : find_speaker(tracebacks, key);
	if (tracebacks->table.traceback.exception[0])
		own = &tracebacks->table.traceback;
	const struct died_speaker *cause = out->child_signal ? NULL : find_cause(tracebacks, own);
	if (cause) {
		take_cause(out, cause);
		blame_other(cause, out);
	} else if (own && own->exception[0]) {
		take_cause(out, own);
	} else if (!out->child_signal) {
		take_cause(out, &tracebacks->previous);
	}
}

void died_tracebacks_finish(const struct died_tracebacks *tracebacks, struct died_output *out)
{
	const struct died_speaker *newest = &tracebacks->speakers[tracebacks->newest];
	if (tracebacks->count == 0)
		return;
	const struct died_speaker *cause = is_consequence(newest->exception) ? find_cause(tracebacks, NULL) : NULL;
	copy_line(out->exception, cause ? cause->exception : newest->exception);
	copy_line(out->where, cause ? cause->where : newest->where);
	out->is_child = is_launcher(newest);
	if (!out->is_child)
		return;
	out->where[0] = '\0'; /* in the launcher */
	if (tracebacks->table.rank >= 0) {
		write_child(tracebacks, out);
		find_child_error(tracebacks, out);
	} else {
		take_cause(out, &tracebacks->previous);
	}
}
