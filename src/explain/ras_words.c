#include "src/explain/ras_words.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/model.h"

enum { WHO_SIZE = 128, NAMED_MAX = 6 };

const char *ras_op_name(enum ras_op op)
{
	static const char *const names[] = {
#define OP_NAME(name, text) [RAS_OP_##name] = (text),
		RAS_OPS(OP_NAME)
#undef OP_NAME
	};
	return op == RAS_OP_OTHER ? "other collectives" : names[op];
}

const char *ras_state_name(enum ras_state state)
{
	static const char *const names[] = {
		[RAS_RUNNING] = "running",
		[RAS_UNRESPONSIVE] = "no answer",
		[RAS_DEAD] = "dead",
		[RAS_LEFT] = "left",
		[RAS_ABORTED] = "aborted",
		[RAS_FAILED] = "NCCL error",
	};
	return names[state];
}

const char *ras_rank_words(const struct ras *ras, const struct ras_rank *rank, char *out, size_t size)
{
	long number = ras_number(ras, rank);
	snprintf(out, size, "%s %ld on %s", number >= 0 ? "rank" : "process", number >= 0 ? number : (long)rank->pid,
		ras->hosts[rank->host]);
	return out;
}

/* "rank 9 on 10.0.0.8", "ranks 1, 3", "20 of 64 ranks" */
static void write_who(const struct ras *ras, const struct ras_judgement *judgement, char out[WHO_SIZE])
{
	const struct ras_group *group = &ras->groups[judgement->group];
	size_t used;
	if (judgement->count == 1) {
		ras_rank_words(ras, &group->ranks[judgement->ranks[0]], out, WHO_SIZE);
		return;
	}
	if (judgement->count > NAMED_MAX || ras_number(ras, &group->ranks[judgement->ranks[0]]) < 0) {
		snprintf(out, WHO_SIZE, "%zu of %u ranks", judgement->count, (unsigned)group->size);
		return;
	}
	used = (size_t)snprintf(out, WHO_SIZE, "ranks ");
	for (size_t i = 0; i < judgement->count && used < WHO_SIZE; i++)
		used += (size_t)snprintf(
			out + used, WHO_SIZE - used, i ? ", %ld" : "%ld", ras_number(ras, &group->ranks[judgement->ranks[i]]));
}

static void write_behind(const char *who, const struct ras_judgement *judgement, char *out, size_t size)
{
	char seconds[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE];
	snprintf(out, size, "%s %s launched %s %s, others %s; no rank has moved for %s", who,
		judgement->count == 1 ? "has" : "have", format_grouped(low, judgement->low), ras_op_name(judgement->op),
		format_grouped(high, judgement->high), format_seconds(seconds, judgement->still_s));
}

const char *ras_words(const struct model *model, const struct ras_judgement *judgement, char out[COLLECTIVE_WORDS_SIZE])
{
	char who[WHO_SIZE], words[2 * COLLECTIVE_WORDS_SIZE] = "";
	bool is_one = judgement->count == 1;
	if (judgement->finding != RAS_FINE)
		write_who(model->ras, judgement, who);
	switch (judgement->finding) {
	case RAS_FINE: break;
	case RAS_IS_DEAD: snprintf(words, sizeof words, "%s %s dead, as NCCL sees it", who, is_one ? "is" : "are"); break;
	case RAS_NO_ANSWER:
		snprintf(words, sizeof words, "%s %s not answer NCCL's RAS", who, is_one ? "does" : "do");
		break;
	case RAS_IS_BEHIND: write_behind(who, judgement, words, sizeof words);
	}
	text_clean(out, COLLECTIVE_WORDS_SIZE, words, strlen(words));
	return out;
}
