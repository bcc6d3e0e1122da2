#include "src/export/scrape/scrape_collectives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/export/scrape/scrape.h"
#include "src/model/collectives/collectives_judge.h"

/* Judged once for all ranks of a source. */
struct judged {
	const struct scrape_source *source;
	struct collective_judgement now;
	struct collective_pace pace;
	int slowest_group;
};

struct of_rank {
	double behind_s, waited_ratio; /* NAN = unknown */
};

static void judge(struct judged *judged, const struct scrape_source *source)
{
	if (judged->source == source)
		return;
	judged->source = source;
	collectives_judge(source->model, &judged->now);
	judged->slowest_group = collectives_slowest(source->model, &judged->pace);
}

static int index_of(const struct collectives *collectives, int32_t pid)
{
	for (size_t i = 0; collectives && i < collectives->rank_count; i++)
		if (collectives->ranks[i].pid == pid)
			return (int)i;
	return -1;
}

static struct of_rank of_rank(struct judged *judged, const struct scrape_subject *subject, int index)
{
	struct of_rank out = { NAN, NAN };
	if (index < 0)
		return out;
	judge(judged, subject->source);
	out.behind_s = 0;
	for (size_t i = 0; i < judged->now.behind_count && judged->now.is_due; i++)
		if (judged->now.behind[i] == index)
			out.behind_s = judged->now.waited_s;
	if (judged->slowest_group >= 0)
		out.waited_ratio = judged->pace.straggler == index ? judged->pace.waited_ratio : 0;
	return out;
}

static void write_rank(
	struct scrape *scrape, struct judged *judged, const struct scrape_subject *subject, int index, bool is_behind)
{
	struct of_rank rank = of_rank(judged, subject, index);
	openmetrics_sample(&scrape->text, "", NULL, is_behind ? rank.behind_s : rank.waited_ratio);
}

/* Each number once: two samples with the same labels would make the whole page invalid. */
static bool has_own_number(const struct collectives *collectives, size_t rank)
{
	bool has = !collectives->ranks[rank].is_gone && collectives->ranks[rank].number >= 0;
	for (size_t i = 0; i < rank && has; i++)
		has = collectives->ranks[i].is_gone || collectives->ranks[i].number != collectives->ranks[rank].number;
	return has;
}

/* Ranks of which no steps are known are no subjects of their own. */
static void write_ranks(
	struct scrape *scrape, struct judged *judged, const struct scrape_subject *subject, bool is_behind)
{
	const struct collectives *collectives = subject->source->model->collectives;
	for (size_t i = 0; collectives && i < collectives->rank_count; i++) {
		char number[24];
		if (!has_own_number(collectives, i))
			continue;
		snprintf(number, sizeof number, "%ld", collectives->ranks[i].number);
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "rank", number);
		write_rank(scrape, judged, subject, (int)i, is_behind);
	}
}

static void write_one(struct scrape *scrape, struct judged *judged, bool is_behind)
{
	EACH_SUBJECT(scrape, subject)
	{
		if (!subject->run) {
			write_ranks(scrape, judged, subject, is_behind);
			continue;
		}
		scrape_label(scrape, subject);
		write_rank(
			scrape, judged, subject, index_of(subject->source->model->collectives, subject->run->pid), is_behind);
	}
}

void scrape_collectives(struct scrape *scrape)
{
	struct judged *judged = calloc(1, sizeof *judged);
	if (!judged) {
		scrape->text.out->failed = true;
		return;
	}
	openmetrics_begin(&scrape->text, "rank_behind_seconds", "gauge", "seconds",
		"How long others wait for this rank in a collective; 0 = not unusually long.");
	write_one(scrape, judged, true);
	openmetrics_begin(&scrape->text, "rank_waited_for_ratio", "gauge", "ratio",
		"Share of the time in which others wait for this rank to enter collectives; 0 = it is not the straggler.");
	write_one(scrape, judged, false);
	free(judged);
}
