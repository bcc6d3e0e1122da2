/* causes_words.h: the words and the advice of a cause. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_WORDS_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_WORDS_H

#include <stdbool.h>

#include "src/explain/explain.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/run/steps/explanation.h"

struct case_file;
struct claim;
struct cause_phases;

/* "worker 3", "worker process 4711"; empty if unknown. */
void call_worker(const struct window_event *event, char who[WINDOW_TEXT_SIZE]);
/* Fills in the cause's words ("data › decode: reading from disk") and its advice. */
void cause_say(
	const struct case_file *file, const struct claim *claim, const struct cause_phases *phases, struct cause *cause);
const char *cause_kind_name(enum cause_kind kind); /* as in CAUSES */
const char *cause_kind_id(enum cause_kind kind);   /* "disk_read": for programs */

/* Its words contain figures, which differ from batch to batch: of a clock, or of stack samples. */
bool cause_has_figures(const struct cause *cause);
/* For a column: "data: disk read", "data › decode", "unknown". */
const char *cause_brief(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE]);
/* Whether both name the same line, or none. */
bool cause_is_at_same_line(const struct cause *a, const struct cause *b);
/* For the message of a warning: its words where they fit and have no figures; else, if it has a line, as cause_brief.
 */
const char *cause_short(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE]);

#endif
