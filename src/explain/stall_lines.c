#include "src/explain/stall_lines.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"

/* An older sample is shown with its age: the process could not be read since. */
static const double age_shown_s = 5;

static bool has_line(const struct stall_line *lines, size_t count, int32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].pid == pid)
			return true;
	return false;
}

static size_t add_line(
	const struct model *model, const struct run *run, long rank, struct stall_line *lines, size_t count)
{
	struct stall_line *new = &lines[count];
	if (!run->is_live || has_line(lines, count, run->pid) || !code_newest_line(model, run->pid, &new->line))
		return count;
	new->rank = rank;
	new->pid = run->pid;
	new->age_s = seconds_between(new->line.time_ns, model->now_ns);
	return count + 1;
}

static long local_rank(const struct model *model, int32_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && !model->processes[i].is_gone)
			return model->processes[i].local_rank;
	return -1;
}

static bool comes_before(const struct stall_line *a, const struct stall_line *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->pid < b->pid;
}

static void sort_lines(struct stall_line *lines, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at > 0 && comes_before(&lines[at], &lines[at - 1]); at--) {
			struct stall_line other = lines[at];
			lines[at] = lines[at - 1];
			lines[at - 1] = other;
		}
}

size_t stall_lines(const struct model *model, const struct run *run, struct stall_line out[MODEL_RUNS_MAX])
{
	size_t count = 0;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *other = &model->runs[i];
		if (!other->is_used)
			continue;
		if (other == run || ranks_are_of_one_run(other, run))
			count = add_line(model, other, rank_number(other), out, count);
		else if (run->is_counted && other->is_counted)
			count = add_line(model, other, -1, out, count);
	}
	for (size_t i = 0; count > 1 && i < count; i++)
		if (out[i].rank < 0)
			out[i].rank = local_rank(model, out[i].pid);
	sort_lines(out, count);
	return count;
}

const char *stall_line_words(const struct stall_line *line, size_t count, char out[STALL_WORDS_SIZE])
{
	const struct newest_line *at = &line->line;
	const char *slash = strrchr(at->file, '/');
	char who[40] = "", age[40] = "", where[80] = "", words[2 * STALL_WORDS_SIZE];
	if (line->rank >= 0)
		snprintf(who, sizeof who, "rank %ld: ", line->rank);
	else if (count > 1)
		snprintf(who, sizeof who, "process %d: ", (int)line->pid);
	if (at->line > 0)
		snprintf(where, sizeof where, "%.60s:%u", slash ? slash + 1 : at->file, (unsigned)at->line);
	else
		snprintf(where, sizeof where, "%.60s", slash ? slash + 1 : at->file);
	if (line->age_s > age_shown_s)
		snprintf(age, sizeof age, ", %.0f s ago", line->age_s);
	snprintf(words, sizeof words, "%s%s%.120s, %s%s", who, at->text ? "" : "in ", at->text ? at->text : at->function,
		where, age);
	text_clean(out, STALL_WORDS_SIZE, words, strlen(words));
	return out;
}
