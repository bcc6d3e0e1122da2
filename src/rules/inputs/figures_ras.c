/* Figures of NCCL's RAS service: which ranks of the whole job are dead, do not answer, or are behind. */
#include <math.h>
#include <stdio.h>

#include "src/explain/ras_words.h"
#include "src/rules/inputs/figures.h"

/* Of the ranks found, once that is due. */
static bool is_due(const struct context *context, enum ras_finding finding, struct ras_judgement *out)
{
	ras_judge(context->model, out);
	return out->finding == finding && out->is_due;
}

static double count_of(const struct context *context, enum ras_finding finding)
{
	struct ras_judgement judgement;
	if (!context->model->ras)
		return NAN;
	return is_due(context, finding, &judgement) ? (double)judgement.count : 0;
}

/* NULL: all is well. */
static const struct ras_rank *first_rank(const struct context *context)
{
	struct ras_judgement judgement;
	ras_judge(context->model, &judgement);
	return judgement.finding == RAS_FINE ? NULL
										 : &context->model->ras->groups[judgement.group].ranks[judgement.ranks[0]];
}

NUMBER(dead) { return count_of(context, RAS_IS_DEAD); }
NUMBER(unresponsive) { return count_of(context, RAS_NO_ANSWER); }
NUMBER(behind)
{
	struct ras_judgement judgement;
	if (!context->model->ras)
		return NAN;
	return is_due(context, RAS_IS_BEHIND, &judgement) ? judgement.still_s : 0;
}
NUMBER(number)
{
	const struct ras_rank *rank = first_rank(context);
	long found = rank ? ras_number(context->model->ras, rank) : -1;
	return found >= 0 ? (double)found : NAN;
}
NUMBER(pid)
{
	const struct ras_rank *rank = first_rank(context);
	return rank && rank->pid > 0 ? (double)rank->pid : NAN;
}
TEXT(host)
{
	const struct ras_rank *rank = first_rank(context);
	if (rank)
		snprintf(out, FIGURE_TEXT_SIZE, "%s", context->model->ras->hosts[rank->host]);
}
TEXT(words)
{
	struct ras_judgement judgement;
	char text[COLLECTIVE_WORDS_SIZE];
	ras_judge(context->model, &judgement);
	snprintf(out, FIGURE_TEXT_SIZE, "%.159s", ras_words(context->model, &judgement, text));
}

#define OF(name, form, function, what) NUMBER_ROW(name, form, MODEL, function, what, lacks)
static const char lacks[] = "NCCL's RAS service has not answered";

static const struct figure rows[] = {
	OF("ras.dead", COUNT, dead, "how many ranks NCCL considers dead"),
	OF("ras.unresponsive", COUNT, unresponsive, "how many ranks did not answer NCCL's RAS service twice"),
	OF("ras.behind_s", SECONDS, behind,
		"how long no rank has launched a collective while ranks are behind; 0 = not unusually long"),
	OF("ras.rank", NUMBER, number, "the first of these ranks"),
	OF("ras.pid", NUMBER, pid, "its process id, on its host"),
	TEXT_ROW("ras.host", MODEL, host, "the address of its host", lacks),
	TEXT_ROW("ras.words", MODEL, words, "all of that in one line", lacks),
};

const struct figure_part ras_figures = { rows, sizeof rows / sizeof *rows };
