#include "src/serving/watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/serving/watched_search.h"
#include "src/session/session.h"

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
	size_t count; /* places that were ever used */
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

static bool is_watched(const struct watched *watched, const struct watched_target *target)
{
	for (size_t i = 0; i < watched->count; i++) {
		const struct place *place = watched->places[i];
		if (place->is_used && place->target.pid == target->pid && strcmp(place->target.name, target->name) == 0)
			return true;
	}
	return false;
}

/* -- all runs -- */

static void watch(struct watched *watched, const struct watched_target *target)
{
	struct options options = *watched->options;
	struct place *place = is_watched(watched, target) ? NULL : find_place(watched);
	if (!place)
		return;
	place->target = *target;
	options.pid = target->pid;
	options.run_name = target->name[0] ? place->target.name : NULL;
	open_place(watched, &options, place);
}

static void search(struct watched *watched)
{
	struct watched_target targets[WATCHED_MAX];
	size_t count = watched_search(targets, WATCHED_MAX);
	for (size_t i = 0; i < count; i++)
		watch(watched, &targets[i]);
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
