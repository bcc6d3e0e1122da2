/* evidence.h: what a warning rests on, as figures in words and as a plot. */
#ifndef PMTOP_UI_VIEWS_BATCHES_EVIDENCE_H
#define PMTOP_UI_VIEWS_BATCHES_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/widgets/view.h"

/* EVIDENCE_HISTORY: the figure that the rule watches, over time. The others are plots that the run has anyway. */
enum evidence_kind { EVIDENCE_NONE, EVIDENCE_HISTORY, EVIDENCE_STEPS, EVIDENCE_MEMORY, EVIDENCE_RANKS };
enum evidence_kind evidence_kind(const struct scene *scene, const struct alert *alert);

/* The plot, in a panel of its own. */
void evidence_draw(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect);
/* Whether one more step of zoom (+1 or −1) would show anything else. */
bool evidence_can_zoom(const struct scene *scene, const struct alert *alert, int step);

/* "growth 273 MB · slope 4.56 MB/s": base units by what the keys end with. */
const char *evidence_words(const struct alert *alert, char *out, size_t size);
/* "36 %, above the level of 30 %"; empty where the rule has no level. */
const char *evidence_level(const struct alert *alert, char *out, size_t size);

#endif
