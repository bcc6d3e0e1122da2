/* track_figures.h: a track's figures: of the whole run, of its judged steps, of its last 200. */
#ifndef PMTOP_MODEL_RUN_FIGURES_TRACK_FIGURES_H
#define PMTOP_MODEL_RUN_FIGURES_TRACK_FIGURES_H

#include "src/model/run/run.h"

void track_refresh(struct run *run, struct track *track);

#endif
