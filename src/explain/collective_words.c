#include "src/explain/collective_words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/ras_words.h"
#include "src/model/code/code_phases.h"
#include "src/model/code/code_samples.h"
#include "src/model/collectives/exchange_hang.h"
#include "src/model/collectives/exchange_pace.h"

static const double none_min_s = 60, hang_min_s = 5;
static const char exchange_words[] = "send or receive";

enum { WHO_SIZE = 96, WHAT_SIZE = 160, WHERE_SIZE = 128, RANKS_NAMED = 4 };

const char *collective_rank_words(const struct model *model, size_t rank, char out[COLLECTIVE_RANK_SIZE])
{
	const struct collective_rank *at = &model->collectives->ranks[rank];
	if (at->number >= 0)
		snprintf(out, COLLECTIVE_RANK_SIZE, "rank %ld", at->number);
	else
		snprintf(out, COLLECTIVE_RANK_SIZE, "process %d", (int)at->pid);
	return out;
}

/* With one decimal, as it is counted up. */
static const char *waited_words(char out[NUMBER_SIZE], double seconds)
{
	if (!(seconds < 60))
		return format_seconds(out, seconds);
	snprintf(out, NUMBER_SIZE, "%.1f s", seconds);
	return out;
}

/* "rank 1", "ranks 1, 3", "5 of 8 ranks" */
static void write_ranks(const struct model *model, const uint8_t *ranks, size_t count, size_t all, char out[WHO_SIZE])
{
	char one[COLLECTIVE_RANK_SIZE];
	size_t used;
	if (count == 1) {
		snprintf(out, WHO_SIZE, "%s", collective_rank_words(model, ranks[0], one));
		return;
	}
	if (count > RANKS_NAMED) {
		snprintf(out, WHO_SIZE, "%zu of %zu ranks", count, all);
		return;
	}
	used = (size_t)snprintf(out, WHO_SIZE, "ranks ");
	for (size_t i = 0; i < count && used < WHO_SIZE; i++)
		used += (size_t)snprintf(
			out + used, WHO_SIZE - used, i ? ", %ld" : "%ld", model->collectives->ranks[ranks[i]].number);
}

static void write_behind(const struct model *model, const struct collective_judgement *judgement, char out[WHO_SIZE])
{
	write_ranks(model, judgement->behind, judgement->behind_count, judgement->member_count, out);
}

static const char *op_name(const struct model *model, uint32_t op)
{
	const struct collective_op *found = collective_op_of(model->collectives, op);
	return found ? found->name : "a collective";
}

static const char *group_name(const struct model *model, size_t group)
{
	return model->collectives->groups[group].name;
}

/* "it is in data.py:88", "it is stopped (SIGSTOP)"; empty if unknown. */
static void write_where(const struct model *model, const struct collective_judgement *judgement, char out[WHERE_SIZE])
{
	const struct collective_rank *rank = &model->collectives->ranks[judgement->behind[0]];
	struct newest_line line;
	char one[COLLECTIVE_RANK_SIZE];
	const char *it = judgement->behind_count == 1 ? "it" : collective_rank_words(model, judgement->behind[0], one);
	*out = '\0';
	if (rank->is_gone)
		snprintf(out, WHERE_SIZE, ": %s has ended", judgement->behind_count == 1 ? "its process" : it);
	else if (rank->state == 'T' || rank->state == 't')
		snprintf(out, WHERE_SIZE, ": %s is stopped (SIGSTOP)", it);
	else if (code_newest_line(model, rank->pid, &line) && line.line > 0) {
		const char *slash = strrchr(line.file, '/');
		snprintf(out, WHERE_SIZE, ": %s is in %.40s:%u", it, slash ? slash + 1 : line.file, (unsigned)line.line);
	}
}

static void write_wait(const struct model *model, const struct collective_judgement *judgement, char out[WHO_SIZE])
{
	char one[COLLECTIVE_RANK_SIZE], seconds[NUMBER_SIZE];
	waited_words(seconds, judgement->waited_s);
	if (judgement->member_count - judgement->behind_count == 1)
		snprintf(out, WHO_SIZE, "; %s has waited %s", collective_rank_words(model, judgement->waiting, one), seconds);
	else
		snprintf(out, WHO_SIZE, "; the others have waited %s", seconds);
}

static void write_op(const struct model *model, uint32_t op, bool has_sizes, char out[WHAT_SIZE])
{
	const struct collective_op *found = collective_op_of(model->collectives, op);
	snprintf(out, WHAT_SIZE, "%s%s%s", op_name(model, op), found && has_sizes && found->sizes[0] ? " " : "",
		found && has_sizes ? found->sizes : "");
}

static void write_mismatch(
	const struct model *model, const struct collective_judgement *judgement, char *out, size_t size)
{
	char who[WHO_SIZE], other[COLLECTIVE_RANK_SIZE], odd[WHAT_SIZE], common[WHAT_SIZE];
	const struct collective_op *a = collective_op_of(model->collectives, judgement->odd_op),
							   *b = collective_op_of(model->collectives, judgement->op);
	bool is_size = a && b && strcmp(a->name, b->name) == 0;
	write_behind(model, judgement, who);
	write_op(model, judgement->odd_op, is_size, odd);
	write_op(model, judgement->op, is_size, common);
	snprintf(out, size, "%s entered %s as #%llu of %s, %s %s", who, odd, (unsigned long long)judgement->sequence,
		group_name(model, judgement->group),
		judgement->member_count == 2 ? collective_rank_words(model, judgement->waiting, other) : "the others", common);
}

static void write_behind_words(
	const struct model *model, const struct collective_judgement *judgement, char *out, size_t size)
{
	char who[WHO_SIZE], where[WHERE_SIZE], wait[WHO_SIZE];
	write_behind(model, judgement, who);
	write_where(model, judgement, where);
	write_wait(model, judgement, wait);
	snprintf(out, size, "%s %s not entered %s #%llu (%s)%s%s", who, judgement->behind_count == 1 ? "has" : "have",
		op_name(model, judgement->op), (unsigned long long)judgement->sequence, group_name(model, judgement->group),
		where, wait);
}

/* If a rank is stopped or has ended in the middle of it, the network is not slow. */
static void write_slow(const struct model *model, const struct collective_judgement *judgement, char *out, size_t size)
{
	char who[WHO_SIZE], wait[WHO_SIZE], seconds[NUMBER_SIZE];
	unsigned long long sequence = judgement->sequence;
	const char *name = op_name(model, judgement->op), *group = group_name(model, judgement->group);
	if (judgement->behind_count == 0) {
		snprintf(out, size, "all %zu ranks entered %s #%llu (%s): not completed for %s", judgement->member_count, name,
			sequence, group, waited_words(seconds, judgement->waited_s));
		return;
	}
	bool is_gone = model->collectives->ranks[judgement->behind[0]].is_gone;
	write_behind(model, judgement, who);
	write_wait(model, judgement, wait);
	snprintf(out, size, "%s %s in %s #%llu (%s)%s", who,
		is_gone                            ? "ended"
			: judgement->behind_count == 1 ? "is stopped (SIGSTOP)"
										   : "are stopped (SIGSTOP)",
		name, sequence, group, wait);
}

static void write_ended(const struct model *model, const struct collective_judgement *judgement, char *out, size_t size)
{
	char who[WHO_SIZE], one[COLLECTIVE_RANK_SIZE], seconds[NUMBER_SIZE];
	size_t living = judgement->member_count - judgement->behind_count;
	write_behind(model, judgement, who);
	snprintf(out, size, "%s %s ended: %s %s entered nothing after %s #%llu (%s) for %s", who,
		judgement->behind_count == 1 ? "has" : "have",
		living == 1 ? collective_rank_words(model, judgement->waiting, one) : "the others",
		living == 1 ? "has" : "have", op_name(model, judgement->op), (unsigned long long)judgement->sequence,
		group_name(model, judgement->group), waited_words(seconds, judgement->waited_s));
}

const char *collective_words(
	const struct model *model, const struct collective_judgement *judgement, char out[COLLECTIVE_WORDS_SIZE])
{
	char words[3 * COLLECTIVE_WORDS_SIZE] = "";
	switch (judgement->finding) {
	case COLLECTIVE_FINE: break;
	case COLLECTIVE_MISMATCH: write_mismatch(model, judgement, words, sizeof words); break;
	case COLLECTIVE_BEHIND: write_behind_words(model, judgement, words, sizeof words); break;
	case COLLECTIVE_ENDED: write_ended(model, judgement, words, sizeof words); break;
	case COLLECTIVE_SLOW: write_slow(model, judgement, words, sizeof words);
	}
	text_clean(out, COLLECTIVE_WORDS_SIZE, words, strlen(words));
	return out;
}

const char *collective_words_pace(
	const struct model *model, int group, const struct collective_pace *pace, char out[COLLECTIVE_WORDS_SIZE])
{
	char who[COLLECTIVE_RANK_SIZE], seconds[NUMBER_SIZE], share[NUMBER_SIZE];
	*out = '\0';
	if (group < 0 || pace->straggler < 0)
		return out;
	snprintf(out, COLLECTIVE_WORDS_SIZE, "%s enters last: the others wait %s for it, %s of the time (%s)",
		collective_rank_words(model, (size_t)pace->straggler, who), format_seconds(seconds, pace->late_s),
		format_percent(share, pace->waited_ratio), group_name(model, (size_t)group));
	return out;
}

const char *collective_words_now(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	struct collective_judgement judgement;
	struct ras_judgement ras;
	collectives_judge(model, &judgement);
	ras_judge(model, &ras);
	*out = '\0';
	bool is_local = judgement.is_due && judgement.finding != COLLECTIVE_SLOW;
	if (ras.is_due && (ras.finding != RAS_IS_BEHIND || !is_local))
		return ras_words(model, &ras, out);
	return judgement.is_due ? collective_words(model, &judgement, out) : out;
}

const char *collective_words_throttled(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	char who[COLLECTIVE_RANK_SIZE], share[NUMBER_SIZE], others[NUMBER_SIZE];
	double ratio, others_ratio;
	int rank = collectives_throttled(model, &ratio, &others_ratio);
	*out = '\0';
	if (rank >= 0)
		snprintf(out, COLLECTIVE_WORDS_SIZE, "a CPU quota throttles %s %s of the time, the next rank %s",
			collective_rank_words(model, (size_t)rank, who), format_percent(share, ratio),
			format_percent(others, others_ratio));
	return out;
}

const char *collective_words_straggler(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	struct collective_pace pace;
	int group = collectives_slowest(model, &pace);
	return collective_words_pace(model, group, &pace, out);
}

/* Seconds since a rank last entered a collective; INFINITY = none did. *is_waited_for: ranks wait in one. */
static double newest_collective_age_s(const struct model *model, bool *is_waited_for)
{
	int64_t newest_ns = 0;
	*is_waited_for = false;
	for (size_t i = 0; i < model->collectives->group_count; i++) {
		const struct collective_group *group = &model->collectives->groups[i];
		for (size_t k = 0; group->is_used && k < model->collectives->rank_count; k++)
			if (group->members[k].is_member && group->members[k].moved_ns > newest_ns)
				newest_ns = group->members[k].moved_ns;
		struct collective_judgement judgement;
		collectives_judge_group(model, i, &judgement);
		*is_waited_for |= judgement.finding != COLLECTIVE_FINE;
	}
	return newest_ns ? seconds_between(newest_ns, model->now_ns) : INFINITY;
}

/* "rank 1 is slowest: it waits 4 % of the time, the next rank 84 %" */
static const char *write_exchange_pace(const struct model *model, bool has_collectives, char out[COLLECTIVE_WORDS_SIZE])
{
	struct exchange_pace pace;
	char who[COLLECTIVE_RANK_SIZE], share[NUMBER_SIZE], next[NUMBER_SIZE];
	exchange_pace_find(model, has_collectives, &pace);
	*out = '\0';
	if (pace.slowest >= 0)
		snprintf(out, COLLECTIVE_WORDS_SIZE, "%s is slowest: it waits %s of the time, the next rank %s",
			collective_rank_words(model, (size_t)pace.slowest, who), format_percent(share, pace.waits_ratio),
			format_percent(next, pace.next_ratio));
	return out;
}

/* Of the Python stacks of the ranks that wait: "send or receive", "monitored_barrier", or "a collective". */
static const char *wait_name(const struct model *model, const struct exchange_hang *hang)
{
	const char *name = "a collective";
	struct newest_line line;
	for (size_t i = 0; i < hang->waiting_count; i++) {
		int32_t pid = model->collectives->ranks[hang->waiting[i]].pid;
		if (!code_newest_line(model, pid, &line) || !(line.communication || line.is_own_wait))
			continue;
		if (line.is_own_wait || exchange_is_function(line.communication))
			return exchange_words;
		const char *function = code_plain_function(line.communication);
		name = isalpha((unsigned char)*function) ? function : name;
	}
	return name;
}

/* "ranks 0, 2 wait in send or receive; rank 1 is in pipe.py:24", "all 4 ranks wait in send or receive" */
static void write_exchange_hang(
	const struct model *model, const struct exchange_hang *hang, char out[COLLECTIVE_WORDS_SIZE])
{
	struct newest_line line;
	char waiting[WHO_SIZE], late[WHO_SIZE], where[WHERE_SIZE] = " elsewhere", words[2 * COLLECTIVE_WORDS_SIZE];
	size_t all = hang->waiting_count + hang->late_count;
	if (hang->late_count == 0) {
		snprintf(out, COLLECTIVE_WORDS_SIZE, "all %zu ranks wait in %.40s", all, wait_name(model, hang));
		return;
	}
	write_ranks(model, hang->waiting, hang->waiting_count, all, waiting);
	write_ranks(model, hang->late, hang->late_count, all, late);
	if (hang->late_count == 1 && code_newest_line(model, model->collectives->ranks[hang->late[0]].pid, &line) &&
		line.line > 0) {
		const char *slash = strrchr(line.file, '/');
		snprintf(where, sizeof where, " in %.40s:%u", slash ? slash + 1 : line.file, (unsigned)line.line);
	}
	snprintf(words, sizeof words, "%s %s in %.40s; %s %s%s", waiting, hang->waiting_count == 1 ? "waits" : "wait",
		wait_name(model, hang), late, hang->late_count == 1 ? "is" : "are", where);
	text_clean(out, COLLECTIVE_WORDS_SIZE, words, strlen(words));
}

/* UNKNOWN: they may hang, but pmtop cannot see whether they move. age_s: of the newest collective; is_waited_for: ranks
 * wait in one. */
static enum exchange_movement find_hang(
	const struct model *model, bool is_waited_for, double age_s, struct exchange_hang *out)
{
	exchange_hang_find(model, out);
	if (is_waited_for || age_s < hang_min_s || out->waiting_count == 0)
		return EXCHANGE_MOVES;
	enum exchange_movement movement = exchange_hang_movement(model, out);
	bool are_all = out->late_count == 0;
	return are_all && (movement != EXCHANGE_STANDS || strcmp(wait_name(model, out), exchange_words) != 0)
		? EXCHANGE_MOVES
		: movement;
}

/* Empty: none hang, and none is slow; or it is unknown. */
static const char *write_exchange(
	const struct model *model, bool is_waited_for, double age_s, char out[COLLECTIVE_WORDS_SIZE])
{
	struct exchange_hang hang;
	enum exchange_movement movement = find_hang(model, is_waited_for, age_s, &hang);
	*out = '\0';
	if (movement != EXCHANGE_STANDS && *write_exchange_pace(model, is_waited_for || age_s < none_min_s, out))
		return out;
	if (movement != EXCHANGE_MOVES)
		write_exchange_hang(model, &hang, out);
	return out;
}

double collective_words_exchange(const struct model *model, int32_t *pid, char out[COLLECTIVE_WORDS_SIZE])
{
	struct exchange_hang hang;
	bool is_waited_for;
	*out = '\0';
	*pid = 0;
	if (!model->collectives || model->collectives->rank_count < 2)
		return NAN;
	double age_s = newest_collective_age_s(model, &is_waited_for);
	if (find_hang(model, is_waited_for, age_s, &hang) != EXCHANGE_STANDS)
		return 0;
	write_exchange_hang(model, &hang, out);
	*pid = hang.late_count > 0 ? model->collectives->ranks[hang.late[0]].pid : 0;
	return exchange_hang_stands_s(model, &hang);
}

const char *collective_words_none(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	static const char why[] = "PyTorch does not record gloo's send and receive, nor RPC";
	bool is_waited_for;
	char age[NUMBER_SIZE];
	*out = '\0';
	if (!model->collectives || model->collectives->rank_count < 2)
		return out;
	double age_s = newest_collective_age_s(model, &is_waited_for);
	if (*write_exchange(model, is_waited_for, age_s, out))
		return out;
	if (isinf(age_s))
		snprintf(out, COLLECTIVE_WORDS_SIZE, "no collectives yet: %s", why);
	else if (!is_waited_for && age_s >= none_min_s)
		snprintf(out, COLLECTIVE_WORDS_SIZE, "no collective for %s: %s", format_seconds(age, age_s), why);
	return out;
}

/* "ranks 1, 3 have no more inputs: they wait in Join for the others" */
static const char *write_joined(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	uint8_t joined[COLLECTIVE_RANKS_MAX];
	char who[WHO_SIZE];
	size_t count = 0, all = model->collectives ? model->collectives->rank_count : 0;
	*out = '\0';
	for (size_t i = 0; i < all; i++)
		if (joined_now(&model->collectives->ranks[i]))
			joined[count++] = (uint8_t)i;
	if (count == 0 || count == all)
		return out;
	write_ranks(model, joined, count, all, who);
	snprintf(out, COLLECTIVE_WORDS_SIZE, "%s %s no more inputs: %s in Join for the others", who,
		count == 1 ? "has" : "have", count == 1 ? "it waits" : "they wait");
	return out;
}

const char *collective_words_verdict(const struct model *model, char out[COLLECTIVE_WORDS_SIZE])
{
	return *collective_words_now(model, out) || *collective_words_straggler(model, out) ||
			*collective_words_throttled(model, out) || *write_joined(model, out)
		? out
		: collective_words_none(model, out);
}
