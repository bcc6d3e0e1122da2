#include "src/explain/causes/causes_line.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/causes/line_advice.h"

/* Fewer samples say nothing. */
enum { SAMPLES_MIN = 3, TEXT_MAX = 60, WHERE_SIZE = TEXT_MAX + 96 };

/* The line's samples beyond those expected must stand for at least this share of the cause's seconds. */
#define LINE_MIN_RATIO 0.5
/* A smaller cause gets no line: samples are of the whole step. */
#define CAUSE_MIN_RATIO 0.4

static const char sleep_details[] = " (lock, network, device or timer)";

bool causes_has_line(enum cause_kind kind)
{
	switch (kind) {
	case CAUSE_PHASE:
	case CAUSE_DISK_READ:
	case CAUSE_DISK_WRITE:
	case CAUSE_MORE_WORK:
	case CAUSE_SLEPT:
	case CAUSE_ALLOCATION:
	case CAUSE_CHECKPOINT:
	case CAUSE_COMPILER:
	case CAUSE_CHILD_AWAITED:
	case CAUSE_GPU_WAIT:
	case CAUSE_GIL:
	case CAUSE_UNKNOWN: return true;
	default: return false;
	}
}

/* "`with lock:`, train.py:81"; without its text: "train.py:81". */
static void write_line(const char *file, unsigned line, const char *text, char out[WHERE_SIZE])
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t length = text ? strnlen(text, TEXT_MAX) : 0;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--; /* not inside a character */
	if (length == 0)
		snprintf(out, WHERE_SIZE, "%.60s:%u", name, line);
	else
		snprintf(out, WHERE_SIZE, "`%.*s%s`, %.60s:%u", (int)length, text, text[length] ? "…" : "", name, line);
}

static void add_evidence(struct cause *cause, const char *key, unsigned count, double expected)
{
	if (cause->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	cause->evidence[cause->evidence_count].key = key;
	cause->evidence[cause->evidence_count].this_value = count;
	cause->evidence[cause->evidence_count++].baseline_value = expected;
}

/* The words of the line say more than a kind that leaves open what it waits for. */
static void advise_line(struct cause *cause, const char *text)
{
	bool is_open = cause->kind == CAUSE_LINE || cause->kind == CAUSE_SLEPT || cause->kind == CAUSE_PHASE;
	const char *advice = is_open ? line_advice(text) : NULL;
	if (advice)
		snprintf(cause->next, sizeof cause->next, "%s", advice);
	else if (cause->kind == CAUSE_LINE)
		snprintf(cause->next, sizeof cause->next, "find what this line waits for, or computes, in these steps only");
	else if (cause->kind == CAUSE_SLEPT)
		snprintf(
			cause->next, sizeof cause->next, "find what this line waits for: a lock, a timer, the network, a device");
}

static void say_line(struct cause *cause, const struct sampled_line *line)
{
	char where[WHERE_SIZE], whole[sizeof cause->what + sizeof where + 8];
	write_line(line->file, line->line, line->text, where);
	if (cause->kind == CAUSE_UNKNOWN) {
		cause->kind = CAUSE_LINE;
		snprintf(whole, sizeof whole, "%s", where);
	} else {
		char *details = cause->kind == CAUSE_SLEPT ? strstr(cause->what, sleep_details) : NULL;
		if (details)
			*details = '\0';
		snprintf(whole, sizeof whole, "%s%s in %s", cause->what,
			cause->kind == CAUSE_PHASE && cause_has_figures(cause) ? "," : "", where);
	}
	advise_line(cause, line->text);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	cause->file = line->file;
	cause->line = line->line;
	add_evidence(cause, "line_samples", line->count, line->expected);
}

void cause_say_other_phase(struct cause *cause, const char *phase)
{
	char whole[sizeof cause->what + sizeof cause->rank + WHERE_SIZE + 8];
	snprintf(whole, sizeof whole, "%s; %s was in %.60s", cause->what, cause->rank, phase);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
}

void cause_say_other_line(struct cause *cause, const struct sampled_line *line)
{
	char where[WHERE_SIZE], whole[sizeof cause->what + sizeof where + sizeof cause->rank + 8];
	const char *advice = line_advice(line->text);
	write_line(line->file, line->line, line->text, where);
	snprintf(whole, sizeof whole, "%s; %s was in %s", cause->what, cause->rank, where);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	if (advice)
		snprintf(cause->next, sizeof cause->next, "%s: %s", cause->rank, advice);
	cause->file = line->file;
	cause->line = line->line;
	add_evidence(cause, "line_samples", line->count, line->expected);
}

/* "forward: waits for the GIL, held by thread worker-1: `sum(x)`, train.py:71". */
static void say_gil(const struct run *run, struct cause *cause, const struct sampled_gil *gil)
{
	char where[WHERE_SIZE] = "", whole[sizeof cause->what + 2 * sizeof where], phase[64] = "";
	if (gil->file && gil->line > 0)
		write_line(gil->file, gil->line, gil->text, where);
	if (cause->kind != CAUSE_UNKNOWN && cause->kind != CAUSE_LINE && cause->phase != NAME_NONE)
		snprintf(phase, sizeof phase, "%.60s: ", run_name(run, cause->phase));
	snprintf(whole, sizeof whole, "%swaits for the GIL, held by %s%s%s%s", phase,
		gil->thread ? "thread " : "another thread", gil->thread ? gil->thread : "", where[0] ? ": " : "", where);
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	snprintf(
		cause->next, sizeof cause->next, "run that thread's work in another process, or in code that releases the GIL");
	cause->kind = CAUSE_GIL;
	cause->file = where[0] ? gil->file : NULL;
	cause->line = where[0] ? gil->line : 0;
	cause->thread = gil->thread;
	add_evidence(cause, "gil_wait_samples", gil->count, gil->expected);
}

/* Do the samples beyond those expected stand for enough of the cause? */
static bool explains(const struct case_file *file, const struct cause *cause, double excess, unsigned samples)
{
	return excess / samples * file->batch_window->seconds >= LINE_MIN_RATIO * cause->excess_s;
}

/* A phase known from samples names only a line of that phase, or one that calls code of several. */
static bool is_of_cause(const struct sampled_line *line, const struct cause *cause)
{
	return !name_is_sampled(cause->phase) || line->phase == CODE_PHASE_OTHER ||
		NAME_SAMPLED + line->phase == cause->phase;
}

void causes_add_line(struct case_file *file)
{
	const struct sampled_line *line = file->batch_window ? &file->batch_window->line : NULL;
	struct cause *cause = file->out->causes, *end = cause + file->out->cause_count;
	/* While the thread waits for another rank, its line is that of the wait. */
	if (cause < end && cause->kind == CAUSE_RANK)
		return;
	while (cause < end && !causes_has_line(cause->kind))
		cause++;
	if (!line || !line->is_sampled || cause == end || cause->share_ratio < CAUSE_MIN_RATIO)
		return;
	if (line->samples < SAMPLES_MIN) {
		if (cause->kind == CAUSE_UNKNOWN)
			snprintf(cause->what, sizeof cause->what, "unknown (too few stack samples)");
		return;
	}
	const struct sampled_gil *gil = &file->batch_window->gil;
	if (gil->count >= SAMPLES_MIN && explains(file, cause, gil->count - gil->expected, line->samples))
		say_gil(file->run, cause, gil);
	else if (is_of_cause(line, cause) && line->line > 0 && line->count >= SAMPLES_MIN - 1 &&
		explains(file, cause, line->count - line->expected, line->samples))
		say_line(cause, line);
}
