/* Figures of the ranks of one run, compared with each other. */
#include <math.h>
#include <stdio.h>

#include "src/explain/rank_words.h"
#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"

static const struct rank *slowest_of(const struct context *context)
{
	const struct ranks *ranks = context_ranks(context);
	return ranks->slowest < 0 ? NULL : &ranks->list[ranks->slowest];
}

static const struct rank *still_of(const struct context *context)
{
	const struct ranks *ranks = context_ranks(context);
	return ranks->still < 0 ? NULL : &ranks->list[ranks->still];
}

NUMBER(excess)
{
	return !context_ranks(context)->is_compared ? NAN : slowest_of(context) ? context_ranks(context)->excess_ratio : 0;
}
NUMBER(excess_seconds) { return slowest_of(context) ? context_ranks(context)->excess_s : NAN; }
NUMBER(slowest_number) { return slowest_of(context) ? (double)slowest_of(context)->number : NAN; }
NUMBER(slowest_own) { return slowest_of(context) ? slowest_of(context)->own_s : NAN; }
NUMBER(others_own) { return slowest_of(context) ? context_ranks(context)->others_own_s : NAN; }
NUMBER(slowest_phase) { return slowest_of(context) ? context_ranks(context)->phase_s : NAN; }
NUMBER(others_phase) { return slowest_of(context) ? context_ranks(context)->phase_others_s : NAN; }
NUMBER(synchronous) { return context_ranks(context)->is_compared ? context_ranks(context)->is_synchronous : NAN; }
TEXT(slowest_words)
{
	if (slowest_of(context))
		rank_words_slowest(context_ranks(context), out);
}

/* A killed rank counts as infinitely long without progress, while others wait for it. */
NUMBER(still_seconds)
{
	const struct rank *rank = still_of(context);
	return context_ranks(context)->count < 2 ? NAN : !rank ? 0 : rank->state == RANK_KILLED ? INFINITY : rank->still_s;
}

NUMBER(hangs) { return still_of(context) != NULL; }
NUMBER(still_age) { return still_of(context) ? still_of(context)->still_s : NAN; }
NUMBER(still_number) { return still_of(context) ? (double)still_of(context)->number : NAN; }
NUMBER(still_pid) { return still_of(context) ? (double)still_of(context)->pid : NAN; }
NUMBER(still_batches) { return still_of(context) ? (double)still_of(context)->batches : NAN; }
TEXT(still_words)
{
	if (still_of(context))
		rank_words_still(context_ranks(context), out);
}
TEXT(still_state)
{
	if (still_of(context))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", rank_state_name(still_of(context)->state));
}

#define RANK_NUMBER(name, form, function, what) \
	NUMBER_ROW(name, form, MODEL, function, what, "no two ranks of one run can be compared")
#define RANK_TEXT(name, function, what) TEXT_ROW(name, MODEL, function, what, "no two ranks of one run can be compared")

static const struct figure rows[] = {
	RANK_NUMBER(
		"ranks.excess_ratio", PERCENT, excess, "excess of the slowest rank's own time over the others'; 0 = none"),
	RANK_NUMBER("ranks.excess_s", SECONDS, excess_seconds, "the same, in seconds"),
	RANK_NUMBER("ranks.slowest_number", NUMBER, slowest_number, "the slowest rank"),
	RANK_NUMBER("ranks.slowest_own_s", SECONDS, slowest_own, "its own time in a step, without waiting for others"),
	RANK_NUMBER("ranks.others_own_s", SECONDS, others_own, "median of the other ranks"),
	RANK_NUMBER("ranks.slowest_phase_s", SECONDS, slowest_phase, "its time in the phase that differs most"),
	RANK_NUMBER("ranks.others_phase_s", SECONDS, others_phase, "the others' time in that phase"),
	RANK_NUMBER("ranks.synchronous", NUMBER, synchronous, "1: they wait for each other in every step"),
	RANK_TEXT("ranks.slowest", slowest_words, "all of that in one line"),
	RANK_NUMBER(
		"ranks.still_s", SECONDS, still_seconds, "time without progress of a rank that others wait for; 0 = none"),
	RANK_NUMBER(
		"ranks.hangs", NUMBER, hangs, "1: others wait for a rank without progress; 0: none, or there is one rank"),
	RANK_NUMBER("ranks.still_age_s", SECONDS, still_age, "the same, also for a killed rank"),
	RANK_NUMBER("ranks.still_number", NUMBER, still_number, "that rank"),
	RANK_NUMBER("ranks.still_pid", NUMBER, still_pid, "its process id"),
	RANK_NUMBER("ranks.still_batches", COUNT, still_batches, "its finished batches"),
	RANK_TEXT("ranks.still", still_words, "all of that in one line"),
	RANK_TEXT("ranks.still_state", still_state, "stuck, stopped or killed"),
};

const struct figure_part rank_figures = { rows, sizeof rows / sizeof *rows };
