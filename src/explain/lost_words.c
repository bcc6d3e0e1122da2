#include "src/explain/lost_words.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"

enum { WHO_SIZE = 32 };

const char *lost_words_seconds(double seconds, char out[LOST_WORDS_SIZE])
{
	snprintf(out, LOST_WORDS_SIZE, seconds < 100 ? "%.1f" : "%.0f", seconds);
	return out;
}

const char *lost_words_total(const struct lost_time *lost, char out[LOST_WORDS_SIZE])
{
	char seconds[LOST_WORDS_SIZE], all[LOST_WORDS_SIZE], share[NUMBER_SIZE];
	snprintf(out, LOST_WORDS_SIZE, "%.30s of %.30s %s-seconds (%s)", lost_words_seconds(lost->lost_s, seconds),
		lost_words_seconds(lost->rank_seconds, all), lost->is_device ? "GPU" : "rank",
		format_percent(share, lost->lost_s / lost->rank_seconds));
	return out;
}

static const char *write_who(struct lost_who who, char out[WHO_SIZE])
{
	if (who.number >= 0)
		snprintf(out, WHO_SIZE, "rank %ld", who.number);
	else
		snprintf(out, WHO_SIZE, "process %d", (int)who.pid);
	return out;
}

const char *lost_words_without(const struct lost_time *lost, char out[LOST_WORDS_SIZE])
{
	char who[WHO_SIZE], step[NUMBER_SIZE];
	*out = '\0';
	if (lost->without < 0)
		return out;
	write_who(lost->without_who, who);
	int decimals = lost->speedup_ratio < 1.1 ? 2 : 1;
	if (isnan(lost->step_s))
		snprintf(out, LOST_WORDS_SIZE, "without %s's delays the run would be %.*f × as fast", who, decimals,
			lost->speedup_ratio);
	else
		snprintf(out, LOST_WORDS_SIZE, "without %s's delays a step would take %s, %.*f × as fast", who,
			format_seconds(step, lost->step_s), decimals, lost->speedup_ratio);
	return out;
}

const char *lost_words_rank(const struct lost_row *row, char out[LOST_WORDS_SIZE])
{
	char who[WHO_SIZE];
	snprintf(out, LOST_WORDS_SIZE, "%s", row->rank < 0 ? "all ranks" : write_who(row->who, who));
	return out;
}

const char *lost_words_cause(enum lost_cause cause)
{
	static const char *const words[LOST_CAUSE_COUNT] = { [LOST_STRAGGLER] = "enters collectives late",
		[LOST_DATA] = "loads data while others wait",
		[LOST_CHECKPOINT] = "saves while others wait",
		[LOST_COMPILE] = "compiles while others wait",
		[LOST_STALL] = "others wait 5 s or longer",
		[LOST_RESTART] = "all processes were replaced" };
	return words[cause];
}
