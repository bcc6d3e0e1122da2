/* note.h: what rule files say beside a figure: "low: the cores wait for memory". An entry with a message and no figure
 * is a note: its first text whose condition holds is shown, with that text's severity. It never becomes a warning. */
#ifndef PMTOP_RULES_NOTE_H
#define PMTOP_RULES_NOTE_H

#include <stdbool.h>

#include "src/rules/alerts.h"

struct rule_book;

struct note {
	enum severity severity; /* SEVERITY_INFO: nothing is wrong */
	char text[160];
};

/* `gpu` NULL: figures of GPUs are of all that the run uses. `run` NULL: figures of a run are unknown. False: no text
 * applies, or there is no such note; *out is empty then. */
bool alerts_note_of(const struct alerts *alerts, const char *name, const struct model *model, const struct run *run,
	const struct gpu *gpu, struct note *out);

#endif
