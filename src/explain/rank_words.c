#include "src/explain/rank_words.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

/* So that two names and three times fit on a line. */
enum { NAME_SIZE = 20 };

static const char *shorten(char out[NAME_SIZE], const char *name)
{
	static const char mark[] = "…";
	size_t length = strlen(name);
	bool is_cut = length >= NAME_SIZE;
	size_t used = text_clean(out, is_cut ? NAME_SIZE + 1 - sizeof mark : NAME_SIZE, name, length);
	if (is_cut)
		memcpy(out + used, mark, sizeof mark);
	return out;
}

/* Two compared times share the unit of the larger one, which is printed once. */
static const char *time_beside(char out[NUMBER_SIZE], double seconds, double larger_s, bool has_unit)
{
	static const struct {
		double min_s, factor;
		int decimals;
		const char *unit;
	} units[] = { { 0.1, 1, 3, "s" }, { 1e-4, 1e3, 1, "ms" }, { 0, 1e6, 1, "µs" } };
	size_t i = 0;
	while (larger_s < units[i].min_s)
		i++;
	snprintf(
		out, NUMBER_SIZE, has_unit ? "%.*f %s" : "%.*f", units[i].decimals, seconds * units[i].factor, units[i].unit);
	return out;
}

static const char *the_others(const struct ranks *ranks, int but, char out[NUMBER_SIZE])
{
	if (ranks->count == 2)
		snprintf(out, NUMBER_SIZE, "rank %ld waits", ranks->list[but == 0].number);
	else
		snprintf(out, NUMBER_SIZE, "the others wait");
	return out;
}

static void add_wait(const struct ranks *ranks, char *out, size_t size)
{
	char seconds[NUMBER_SIZE], who[NUMBER_SIZE], name[NAME_SIZE];
	if (ranks->wait)
		snprintf(out, size, "; %s %s in %s", the_others(ranks, ranks->slowest, who),
			time_beside(seconds, ranks->wait_s, fmax(ranks->phase_s, ranks->wait_s), true), shorten(name, ranks->wait));
}

const char *rank_words_slowest(const struct ranks *ranks, char out[RANK_WORDS_SIZE])
{
	char here[NUMBER_SIZE], there[NUMBER_SIZE], name[NAME_SIZE];
	*out = '\0';
	if (!ranks->is_compared)
		return out;
	for (size_t i = 0; i < ranks->count && ranks->slowest < 0; i++)
		if (ranks->list[i].is_compared && isnan(ranks->list[i].own_s)) {
			snprintf(
				out, RANK_WORDS_SIZE, "the ranks keep one pace; which one is slow is unknown without instrumentation");
			return out;
		}
	if (ranks->slowest < 0) {
		snprintf(out, RANK_WORDS_SIZE, "no rank is slower than the others");
		return out;
	}
	const struct rank *rank = &ranks->list[ranks->slowest];
	double here_s = ranks->phase ? ranks->phase_s : rank->own_s,
		   there_s = ranks->phase ? ranks->phase_others_s : ranks->others_own_s;
	snprintf(out, RANK_WORDS_SIZE, "rank %ld is slowest: %s %s, others %s", rank->number,
		shorten(name, ranks->phase ? ranks->phase : "own time"), time_beside(here, here_s, here_s, true),
		time_beside(there, there_s, here_s, false));
	add_wait(ranks, out + strlen(out), RANK_WORDS_SIZE - strlen(out));
	return out;
}

const char *rank_words_still(const struct ranks *ranks, char out[RANK_WORDS_SIZE])
{
	static const char *const what[] = {
		[RANK_STUCK] = "makes no progress", [RANK_STOPPED] = "is stopped", [RANK_KILLED] = "was killed or crashed"
	};
	char seconds[NUMBER_SIZE], name[NAME_SIZE], where[NAME_SIZE + 8] = "", wait[NAME_SIZE + NUMBER_SIZE + 8] = "",
																  who[NUMBER_SIZE], age[NUMBER_SIZE + 8] = "";
	*out = '\0';
	if (ranks->still < 0)
		return out;
	const struct rank *rank = &ranks->list[ranks->still];
	if (rank->state == RANK_STUCK && rank->where)
		snprintf(where, sizeof where, " in %s", shorten(name, rank->where));
	if (rank->state != RANK_KILLED)
		snprintf(age, sizeof age, ", for %.0f s", floor(rank->still_s));
	if (rank->state != RANK_KILLED && rank->still_s >= 60)
		snprintf(age, sizeof age, ", for %s", format_seconds(seconds, rank->still_s));
	if (ranks->still_wait)
		snprintf(
			wait, sizeof wait, "; %s in %s", the_others(ranks, ranks->still, who), shorten(name, ranks->still_wait));
	snprintf(out, RANK_WORDS_SIZE, "rank %ld %s%s%s%s", rank->number, what[rank->state], where, age, wait);
	return out;
}

const char *rank_words(const struct ranks *ranks, char out[RANK_WORDS_SIZE])
{
	return *rank_words_still(ranks, out) ? out : rank_words_slowest(ranks, out);
}
