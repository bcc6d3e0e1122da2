#include "src/serving/watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/serving/watched_search.h"
#include "src/session/session.h"

enum { TARGETS_MAX = 256 };
#define SEARCH_EVERY_NS (10 * NS_PER_S)
/* A long recording is read in slices, so that requests are answered meanwhile. */
#define SLICE_NS (100 * NS_PER_MS)

struct place {
	bool is_used;
	struct watched_target target; /* of all runs */
	int64_t ended_ns;             /* 0 = it goes on */
	char host[80];
	struct session session;
};

struct watched {
	const struct options *options;
	const struct settings *settings;
	bool is_single;
	bool has_more; /* a recording is not read to its end yet */
	char host[80]; /* of this machine */
	int64_t search_ns;
	size_t left_out; /* of the latest search: no room, or it could not be opened */
	size_t failed_count;
	struct watched_target failed[WATCHED_MAX]; /* the latest ones: said once, and not tried again */
	size_t count;                              /* places that were ever used */
	struct place *places[WATCHED_MAX];
};

/* -- one run -- */

static enum exit_code open_place(struct watched *watched, const struct options *options, struct place *place)
{
	enum exit_code code = session_open(&place->session, options, watched->settings);
	if (code != EXIT_OK)
		return code;
	const struct stream_header *header = place->session.player ? player_header(place->session.player) : NULL;
	snprintf(place->host, sizeof place->host, "%s", header ? header->host : watched->host);
	place->is_used = true;
	place->ended_ns = 0;
	return EXIT_OK;
}

/* NULL: no room. */
static struct place *find_place(struct watched *watched)
{
	for (size_t i = 0; i < watched->count; i++)
		if (!watched->places[i]->is_used)
			return watched->places[i];
	if (watched->count == WATCHED_MAX || !(watched->places[watched->count] = calloc(1, sizeof(struct place))))
		return NULL;
	return watched->places[watched->count++];
}

static bool is_same(const struct watched_target *a, const struct watched_target *b)
{
	return a->pid == b->pid && strcmp(a->name, b->name) == 0;
}

static bool has_failed(const struct watched *watched, const struct watched_target *target)
{
	for (size_t i = 0; i < watched->failed_count && i < WATCHED_MAX; i++)
		if (is_same(&watched->failed[i], target))
			return true;
	return false;
}

static bool is_watched(const struct watched *watched, const struct watched_target *target)
{
	for (size_t i = 0; i < watched->count; i++) {
		const struct place *place = watched->places[i];
		if (place->is_used && is_same(&place->target, target))
			return true;
	}
	return false;
}

/* -- all runs -- */

/* False: it is not watched. */
static bool watch(struct watched *watched, const struct watched_target *target)
{
	struct options options = *watched->options;
	if (is_watched(watched, target))
		return true;
	struct place *place = has_failed(watched, target) ? NULL : find_place(watched);
	if (!place)
		return false;
	place->target = *target;
	options.pid = target->pid;
	options.run_name = target->name[0] ? place->target.name : NULL;
	if (open_place(watched, &options, place) == EXIT_OK)
		return true;
	watched->failed[watched->failed_count++ % WATCHED_MAX] = *target;
	return false;
}

static void search(struct watched *watched)
{
	struct watched_target targets[TARGETS_MAX];
	size_t count = watched_search(targets, TARGETS_MAX);
	watched->left_out = 0;
	for (size_t i = 0; i < count; i++)
		watched->left_out += !watch(watched, &targets[i]);
}

/* -- all of it -- */

static bool step_place(struct watched *watched, struct place *place, int64_t now_ns)
{
	bool has_news = false;
	if (!place->is_used)
		return false;
	while (!watched->has_more && session_step(&place->session)) {
		has_news = true;
		watched->has_more = clock_monotonic_ns() - now_ns >= SLICE_NS;
	}
	if (!place->ended_ns && session_has_ended(&place->session)) {
		place->ended_ns = now_ns;
		has_news = true;
	}
	if (!watched->is_single && place->ended_ns && now_ns - place->ended_ns >= WATCHED_ENDED_NS) {
		session_close(&place->session);
		place->is_used = false;
		has_news = true;
	}
	return has_news;
}

bool watched_step(struct watched *watched, int64_t now_ns)
{
	bool has_news = false;
	watched->has_more = false;
	for (size_t i = 0; i < watched->count; i++)
		has_news |= step_place(watched, watched->places[i], now_ns);
	if (watched->is_single || now_ns < watched->search_ns)
		return has_news;
	search(watched);
	watched->search_ns = now_ns + SEARCH_EVERY_NS;
	return true;
}

enum exit_code watched_open(const struct options *options, const struct settings *settings, struct watched **out)
{
	struct reason reason = { 0 };
	struct watched *watched = calloc(1, sizeof *watched);
	if (!watched)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	watched->options = options;
	watched->settings = settings;
	watched->is_single =
		options->pid || options->run_name || options->replay || options->demo || options->child != NULL;
	if (gethostname(watched->host, sizeof watched->host - 1) < 0)
		watched->host[0] = '\0';
	*out = watched;
	if (!watched->is_single)
		return EXIT_OK;
	struct place *place = find_place(watched);
	enum exit_code code = place ? open_place(watched, options, place)
								: command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	if (code != EXIT_OK)
		watched_close(watched);
	return code;
}

enum exit_code watched_close(struct watched *watched)
{
	enum exit_code code = EXIT_OK;
	for (size_t i = 0; i < watched->count; i++) {
		if (watched->places[i]->is_used)
			code = session_close(&watched->places[i]->session);
		free(watched->places[i]);
	}
	bool is_single = watched->is_single;
	free(watched);
	return is_single ? code : EXIT_OK;
}

unsigned watched_poll(const struct watched *watched, struct pollfd out[WATCHED_MAX])
{
	unsigned count = 0;
	for (size_t i = 0; i < watched->count; i++)
		if (watched->places[i]->is_used && !watched->places[i]->ended_ns)
			out[count++] = (struct pollfd){ .fd = session_fd(&watched->places[i]->session), .events = POLLIN };
	return count;
}

static int shorter_ms(int a, int b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

int watched_wait_ms(const struct watched *watched, int64_t now_ns)
{
	int wait_ms = watched->has_more ? 0 : -1;
	if (!watched->is_single && !watched->has_more)
		wait_ms = watched->search_ns <= now_ns ? 0 : (int)((watched->search_ns - now_ns) / NS_PER_MS) + 1;
	for (size_t i = 0; i < watched->count; i++)
		if (watched->places[i]->is_used && !watched->places[i]->ended_ns)
			wait_ms = shorter_ms(wait_ms, session_wait_ms(&watched->places[i]->session));
	return wait_ms;
}

size_t watched_sources(const struct watched *watched, struct scrape_source out[WATCHED_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < watched->count; i++) {
		const struct place *place = watched->places[i];
		if (place->is_used)
			out[count++] = (struct scrape_source){ .model = place->session.model,
				.alerts = &place->session.alerts,
				.host = place->host,
				.realtime_offset_ns = session_realtime_ns(&place->session) - place->session.model->now_ns };
	}
	return count;
}

bool watched_has_ended(const struct watched *watched)
{
	return watched->is_single && watched->places[0]->ended_ns != 0;
}

size_t watched_left_out(const struct watched *watched) { return watched->left_out; }

pid_t watched_child(const struct watched *watched)
{
	return watched->is_single ? watched->places[0]->session.launch.child : 0;
}
