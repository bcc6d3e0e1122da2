#include "src/session/session_profile.h"

#include <stdio.h>

#include "src/base/clock.h"

/* A program looks for requests at the end of a batch. */
#define SNAPSHOT_LIMIT_NS (300 * NS_PER_S)

void session_profile_toggle(struct session *session, pid_t pid, char text[LIVE_REQUEST_TEXT_SIZE])
{
	bool is_live = !session->player && !session->target.synthetic;
	live_request_toggle(&session->request, is_live ? pid : 0, clock_monotonic_ns(), text);
}

/* A program that takes no requests, or does not record its memory, has not opted in: pmtop says nothing. */
static void begin_snapshot(struct session *session, char text[LIVE_REQUEST_TEXT_SIZE])
{
	const struct profiling_order order = { .is_automatic = true, .limit_ns = SNAPSHOT_LIMIT_NS };
	const char *why;
	pid_t pid = own_snapshot_wish(&session->snapshots, session->model, &session->alerts, &why);
	if (pid && !live_request_begin(&session->request, pid, &order, clock_monotonic_ns(), text))
		text[0] = '\0';
}

/* If the program refuses, pmtop does not ask again by itself. */
static void begin_wish(struct session *session, char text[LIVE_REQUEST_TEXT_SIZE])
{
	struct slow_profile_wish wish;
	int64_t offset_ns = session_realtime_ns(session) - session->model->now_ns;
	if (session->player || session->target.synthetic)
		return;
	if (!slow_profile_wish(&session->slow, session->model, &session->alerts, offset_ns, &wish)) {
		begin_snapshot(session, text);
		return;
	}
	if (live_request_begin(&session->request, wish.pid, &wish.order, clock_monotonic_ns(), text))
		snprintf(text, LIVE_REQUEST_TEXT_SIZE, "taking a trace: %s", wish.why);
	else
		session->slow.limit = 0;
}

void session_profile_step(struct session *session, char text[LIVE_REQUEST_TEXT_SIZE])
{
	bool is_automatic = session->request.is_open && session->request.profiling.order.is_automatic;
	size_t snapshots = session->request.snapshot_count;
	text[0] = '\0';
	if (session->request.is_open && live_request_step(&session->request, clock_monotonic_ns(), text)) {
		session->slow.since_ns = session->model->now_ns; /* batches that the trace made slow lead to no other */
		session->snapshots.taken += is_automatic && session->request.snapshot_count > snapshots;
	} else if (!session->request.is_open) {
		begin_wish(session, text);
	}
}

const char *session_profile_words(const struct session *session, char out[PROFILING_WORDS_SIZE])
{
	out[0] = '\0';
	return session->request.is_open ? profiling_words(&session->request.profiling, out) : out;
}

int session_profile_fd(const struct session *session)
{
	return session->request.is_open ? profiling_fd(&session->request.profiling) : -1;
}

int session_profile_ms(const struct session *session) { return session->request.is_open ? LIVE_REQUEST_MS : -1; }
