#include "src/profiling/live_request.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"

#define LIMIT_NS (120 * NS_PER_S)

/* The words for what was asked for: a trace, or a snapshot. */
static const struct words {
	const char *what, *command;
} trace_words = { "trace", "profile" }, snapshot_words = { "snapshot", "snapshot" };

static const struct words *words_of(const struct profiling_order *order)
{
	return order->steps ? &trace_words : &snapshot_words;
}

/* What to do may be longer than a status line. */
static void explain(
	const struct reason *reason, const struct words *words, pid_t pid, char text[LIVE_REQUEST_TEXT_SIZE])
{
	char whole[sizeof *reason + 16];
	int length = snprintf(
		whole, sizeof whole, "no %s: %s%s%s", words->what, reason->text, reason->remedy[0] ? ": " : "", reason->remedy);
	if (length < LIVE_REQUEST_TEXT_SIZE)
		strcpy(text, whole);
	else
		snprintf(text, LIVE_REQUEST_TEXT_SIZE, "no %s: %.100s; try: pmtop %s %d", words->what, reason->text,
			words->command, (int)pid);
}

void live_request_end(struct live_request *request)
{
	if (!request->is_open)
		return;
	profiling_end(&request->profiling);
	target_close(&request->target);
	request->is_open = false;
}

bool live_request_begin(struct live_request *request, pid_t pid, const struct profiling_order *order, int64_t now_ns,
	char text[LIVE_REQUEST_TEXT_SIZE])
{
	struct reason reason = { "", "" };
	text[0] = '\0';
	enum status status = pid <= 0 ? reason_set(&reason, STATUS_INVALID, NULL, "there is no running process to ask")
								  : target_open(&request->target, pid, "/proc", &reason);
	if (status == STATUS_OK) {
		struct profiling_order here = *order;
		here.folder = getcwd(request->folder, sizeof request->folder) ? request->folder : "/tmp";
		request->is_open = true;
		status = profiling_begin(&request->profiling, &request->target, &here, now_ns, &reason);
	}
	if (status == STATUS_OK)
		return true;
	live_request_end(request);
	explain(&reason, words_of(order), pid, text);
	return false;
}

void live_request_toggle(struct live_request *request, pid_t pid, int64_t now_ns, char text[LIVE_REQUEST_TEXT_SIZE])
{
	const struct profiling_order order = { .steps = LIVE_REQUEST_STEPS, .limit_ns = LIMIT_NS };
	if (!request->is_open) {
		live_request_begin(request, pid, &order, now_ns, text);
		return;
	}
	live_request_end(request);
	snprintf(text, LIVE_REQUEST_TEXT_SIZE, "the request for a trace was withdrawn");
}

static void report_file(struct live_request *request, char text[LIVE_REQUEST_TEXT_SIZE])
{
	bool is_trace = request->profiling.order.steps > 0;
	const char *path = request->profiling.path, *slash = strrchr(path, '/');
	size_t length = strlen(request->folder);
	bool is_here = strncmp(path, request->folder, length) == 0 && slash == path + length;
	snprintf(is_trace ? request->trace : request->snapshot, sizeof request->trace, "%s", path);
	request->snapshot_count += !is_trace;
	request->is_snapshot_newest = !is_trace;
	snprintf(text, LIVE_REQUEST_TEXT_SIZE, "%s ready: %s%spmtop trace %.110s",
		words_of(&request->profiling.order)->what, request->how ? request->how : "", request->how ? ", " : "",
		is_here ? slash + 1 : path);
}

bool live_request_step(struct live_request *request, int64_t now_ns, char text[LIVE_REQUEST_TEXT_SIZE])
{
	struct reason reason = { "", "" };
	enum status status = profiling_step(&request->profiling, now_ns, &reason);
	if (status == STATUS_AGAIN)
		return false;
	bool is_silent = status == STATUS_NOT_FOUND && request->profiling.order.is_automatic;
	text[0] = '\0';
	if (status == STATUS_OK)
		report_file(request, text);
	else if (!is_silent)
		explain(&reason, words_of(&request->profiling.order), request->profiling.pid, text);
	live_request_end(request);
	return true;
}
