/* figures.h: what becomes known of a batch besides its own events: its loss and its late figures. */
#ifndef PMTOP_MODEL_RUN_FIGURES_FIGURES_H
#define PMTOP_MODEL_RUN_FIGURES_FIGURES_H

#include "src/model/run/run.h"

/* The batch with this number in the run is stored there now. */
void run_note_number(struct run *run, unsigned track, uint64_t ordinal, uint64_t number);
void run_take_figure(struct run *run, const struct record *record);
void run_note_loss(struct track *track, uint64_t number, double loss);
void run_refresh_loss(struct run *run);

#endif
