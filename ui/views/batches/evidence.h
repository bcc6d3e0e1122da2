/* evidence.h: the evidence of a warning, as text and as a plot. */
#ifndef PMTOP_UI_VIEWS_BATCHES_EVIDENCE_H
#define PMTOP_UI_VIEWS_BATCHES_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/widgets/view.h"

/* EVIDENCE_HISTORY: the rule's figure over time. The others are existing plots of the run. */
enum evidence_kind { EVIDENCE_NONE, EVIDENCE_HISTORY, EVIDENCE_STEPS, EVIDENCE_MEMORY, EVIDENCE_RANKS };
enum evidence_kind evidence_kind(const struct scene *scene, const struct alert *alert);

/* Draws the plot in its own panel. */
void evidence_draw(struct scene *scene, const struct alert *alert, struct canvas *canvas, struct rect rect);
/* Whether one more step of zoom (+1 or −1) would change the plot. */
bool evidence_can_zoom(const struct scene *scene, const struct alert *alert, int step);

/* "growth 273 MB · slope 4.56 MB/s": units by the suffix of the keys. */
const char *evidence_words(const struct alert *alert, char *out, size_t size);
/* "36 %, above 30 %"; empty if the rule has no threshold. */
const char *evidence_threshold(const struct alert *alert, char *out, size_t size);

#endif
