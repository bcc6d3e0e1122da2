/* Figures of the collectives of distributed runs: who keeps the others waiting. */
#include <math.h>
#include <stdio.h>

#include "src/explain/collective_words.h"
#include "src/rules/inputs/figures.h"

static const struct rule_collectives *collectives_of(const struct context *context)
{
	struct rule_collectives *of = &context->cache->collectives;
	if (!context->cache->has_collectives) {
		collectives_judge(context->model, &of->judgement);
		of->slowest_group = collectives_slowest(context->model, &of->pace);
		context->cache->has_collectives = true;
	}
	return of;
}

/* How long others wait, once it is due. */
static double waited(const struct context *context, enum collective_finding finding)
{
	const struct collective_judgement *judgement = &collectives_of(context)->judgement;
	if (!context->model->collectives)
		return NAN;
	return judgement->finding == finding && judgement->is_due ? judgement->waited_s : 0;
}

static const struct collective_rank *rank_behind(const struct context *context)
{
	const struct collective_judgement *judgement = &collectives_of(context)->judgement;
	return judgement->behind_count > 0 ? &context->model->collectives->ranks[judgement->behind[0]] : NULL;
}

NUMBER(behind)
{
	double ended_s = waited(context, COLLECTIVE_ENDED);
	return ended_s > 0 ? ended_s : waited(context, COLLECTIVE_BEHIND);
}
NUMBER(slow) { return waited(context, COLLECTIVE_SLOW); }
NUMBER(mismatch)
{
	const struct collective_judgement *judgement = &collectives_of(context)->judgement;
	return !context->model->collectives ? NAN : judgement->finding == COLLECTIVE_MISMATCH;
}
NUMBER(sequence)
{
	const struct collective_judgement *judgement = &collectives_of(context)->judgement;
	return judgement->finding != COLLECTIVE_FINE ? (double)judgement->sequence : NAN;
}
NUMBER(behind_number)
{
	const struct collective_rank *rank = rank_behind(context);
	return rank && rank->number >= 0 ? (double)rank->number : NAN;
}
NUMBER(behind_pid) { return rank_behind(context) ? (double)rank_behind(context)->pid : NAN; }
NUMBER(behind_count)
{
	const struct collective_judgement *judgement = &collectives_of(context)->judgement;
	return judgement->behind_count > 0 ? (double)judgement->behind_count : NAN;
}
TEXT(behind_state)
{
	const struct collective_rank *rank = rank_behind(context);
	if (rank)
		snprintf(out, FIGURE_TEXT_SIZE, "%s",
			rank->is_gone                                  ? "ended"
				: rank->state == 'T' || rank->state == 't' ? "stopped"
														   : "running");
}
TEXT(words)
{
	char text[COLLECTIVE_WORDS_SIZE];
	if (collectives_of(context)->judgement.finding != COLLECTIVE_FINE)
		snprintf(out, FIGURE_TEXT_SIZE, "%.159s",
			collective_words(context->model, &collectives_of(context)->judgement, text));
}

NUMBER(straggler_ratio)
{
	return collectives_of(context)->slowest_group < 0 ? NAN : collectives_of(context)->pace.waited_ratio;
}
static double of_straggler(const struct context *context, double value)
{
	return collectives_of(context)->slowest_group < 0 || collectives_of(context)->pace.straggler < 0 ? NAN : value;
}
NUMBER(straggler_number)
{
	const struct rule_collectives *of = collectives_of(context);
	long number = of->slowest_group >= 0 && of->pace.straggler >= 0
		? context->model->collectives->ranks[of->pace.straggler].number
		: -1;
	return number >= 0 ? (double)number : NAN;
}
NUMBER(straggler_late) { return of_straggler(context, collectives_of(context)->pace.late_s); }
NUMBER(straggler_last) { return of_straggler(context, collectives_of(context)->pace.last_ratio); }
TEXT(straggler_words)
{
	char text[COLLECTIVE_WORDS_SIZE];
	const struct rule_collectives *of = collectives_of(context);
	if (of->slowest_group >= 0 && of->pace.straggler >= 0)
		snprintf(
			out, FIGURE_TEXT_SIZE, "%.159s", collective_words_pace(context->model, of->slowest_group, &of->pace, text));
}

static const struct collective_rank *throttled_rank(const struct context *context, double *ratio)
{
	double others_ratio;
	int rank = collectives_throttled(context->model, ratio, &others_ratio);
	return rank >= 0 ? &context->model->collectives->ranks[rank] : NULL;
}
NUMBER(throttled)
{
	double ratio;
	return !context->model->collectives ? NAN : throttled_rank(context, &ratio) ? ratio : 0;
}
NUMBER(throttled_number)
{
	double ratio;
	const struct collective_rank *rank = throttled_rank(context, &ratio);
	return rank && rank->number >= 0 ? (double)rank->number : NAN;
}
NUMBER(throttled_pid)
{
	double ratio;
	const struct collective_rank *rank = throttled_rank(context, &ratio);
	return rank ? (double)rank->pid : NAN;
}
TEXT(throttled_words)
{
	char text[COLLECTIVE_WORDS_SIZE];
	snprintf(out, FIGURE_TEXT_SIZE, "%.159s", collective_words_throttled(context->model, text));
}

NUMBER(hang)
{
	char text[COLLECTIVE_WORDS_SIZE];
	int32_t pid;
	return collective_words_exchange(context->model, &pid, text);
}
NUMBER(hang_pid)
{
	char text[COLLECTIVE_WORDS_SIZE];
	int32_t pid;
	collective_words_exchange(context->model, &pid, text);
	return pid ? (double)pid : NAN;
}
TEXT(hang_words)
{
	char text[COLLECTIVE_WORDS_SIZE];
	int32_t pid;
	collective_words_exchange(context->model, &pid, text);
	snprintf(out, FIGURE_TEXT_SIZE, "%.159s", text);
}

#define OF(name, form, function, what) NUMBER_ROW(name, form, MODEL, function, what, lacks)
static const char lacks[] = "no collectives of several ranks were read";

static const struct figure rows[] = {
	OF("collectives.behind_s", SECONDS, behind,
		"how long others wait for a rank that has not entered a collective; 0 = not unusually long"),
	OF("collectives.slow_s", SECONDS, slow,
		"how long a collective that all ranks entered has not completed; 0 = not long"),
	OF("collectives.mismatch", NUMBER, mismatch, "1: ranks entered different operations with one number"),
	OF("collectives.sequence", COUNT, sequence, "number of that collective in its group"),
	OF("collectives.behind_number", NUMBER, behind_number, "the rank that is behind, or entered the other operation"),
	OF("collectives.behind_pid", NUMBER, behind_pid, "its process id"),
	OF("collectives.behind_count", COUNT, behind_count, "how many ranks are behind"),
	TEXT_ROW("collectives.behind_state", MODEL, behind_state, "running, stopped or ended", lacks),
	TEXT_ROW("collectives.words", MODEL, words, "all of that in one line", lacks),
	OF("collectives.straggler_ratio", PERCENT, straggler_ratio,
		"share of the time in which others wait for one rank to enter collectives; 0 = for none in particular"),
	OF("collectives.straggler_number", NUMBER, straggler_number, "that rank"),
	OF("collectives.straggler_late_s", SECONDS, straggler_late, "how much later than the first rank it enters"),
	OF("collectives.straggler_last_ratio", PERCENT, straggler_last, "share of the collectives that it enters last"),
	TEXT_ROW("collectives.straggler", MODEL, straggler_words, "all of that in one line", lacks),
	OF("collectives.hang_s", SECONDS, hang,
		"how long ranks have hung in send or receive, or in a barrier that PyTorch does not record; 0 = none does"),
	OF("collectives.hang_pid", NUMBER, hang_pid,
		"process id of a rank that they wait for; unknown: each waits for another"),
	TEXT_ROW("collectives.hang", MODEL, hang_words, "all of that in one line", lacks),
	OF("collectives.throttled_ratio", PERCENT, throttled,
		"share of the time in which a CPU quota throttles one rank, more than the others; 0 = none"),
	OF("collectives.throttled_number", NUMBER, throttled_number, "that rank"),
	OF("collectives.throttled_pid", NUMBER, throttled_pid, "its process id"),
	TEXT_ROW("collectives.throttled", MODEL, throttled_words, "all of that in one line", lacks),
};

const struct figure_part collective_figures = { rows, sizeof rows / sizeof *rows };
