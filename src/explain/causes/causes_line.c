#include "src/explain/causes/causes_line.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes_words.h"

/* Fewer samples say nothing. */
enum { SAMPLES_MIN = 3, TEXT_MAX = 60 };

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
	case CAUSE_UNKNOWN: return true;
	default: return false;
	}
}

/* "`with lock:`, train.py:81"; without its text: "train.py:81". */
static void write_line(const struct sampled_line *line, char *out, size_t size)
{
	const char *slash = strrchr(line->file, '/'), *name = slash ? slash + 1 : line->file;
	size_t length = line->text ? strnlen(line->text, TEXT_MAX) : 0;
	while (length > 0 && ((unsigned char)line->text[length] & 0xc0) == 0x80)
		length--; /* not inside a character */
	if (length == 0)
		snprintf(out, size, "%.60s:%u", name, (unsigned)line->line);
	else
		snprintf(out, size, "`%.*s%s`, %.60s:%u", (int)length, line->text, line->text[length] ? "…" : "", name,
			(unsigned)line->line);
}

static void say_line(struct cause *cause, const struct sampled_line *line)
{
	char where[TEXT_MAX + 96], whole[sizeof cause->what + sizeof where + 8];
	write_line(line, where, sizeof where);
	if (cause->kind == CAUSE_UNKNOWN) {
		cause->kind = CAUSE_LINE;
		snprintf(whole, sizeof whole, "%s", where);
		snprintf(cause->next, sizeof cause->next, "find what this line waits for, or computes, in these steps only");
	} else {
		char *details = cause->kind == CAUSE_SLEPT ? strstr(cause->what, sleep_details) : NULL;
		if (details)
			*details = '\0';
		snprintf(whole, sizeof whole, "%s%s in %s", cause->what,
			cause->kind == CAUSE_PHASE && cause_has_figures(cause) ? "," : "", where);
		if (cause->kind == CAUSE_SLEPT)
			snprintf(cause->next, sizeof cause->next,
				"find what this line waits for: a lock, a timer, the network, a device");
	}
	text_clean(cause->what, sizeof cause->what, whole, strlen(whole));
	cause->file = line->file;
	cause->line = line->line;
	if (cause->evidence_count < CAUSE_EVIDENCE_MAX) {
		cause->evidence[cause->evidence_count].key = "line_samples";
		cause->evidence[cause->evidence_count].this_value = line->count;
		cause->evidence[cause->evidence_count++].baseline_value = line->expected;
	}
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
	while (cause < end && !causes_has_line(cause->kind))
		cause++;
	if (!line || !line->is_sampled || cause == end || cause->share_ratio < CAUSE_MIN_RATIO)
		return;
	if (line->samples < SAMPLES_MIN) {
		if (cause->kind == CAUSE_UNKNOWN)
			snprintf(cause->what, sizeof cause->what, "unknown (shorter than the sampling interval)");
		return;
	}
	if (!is_of_cause(line, cause))
		return;
	double line_s = (line->count - line->expected) / line->samples * file->batch_window->seconds;
	if (line->line > 0 && line->count >= SAMPLES_MIN - 1 && line_s >= LINE_MIN_RATIO * cause->excess_s)
		say_line(cause, line);
}
