/* fleet_lost.h: how much time the ranks of a fleet wait for each rank. Private to src/fleet. */
#ifndef PMTOP_FLEET_FLEET_LOST_H
#define PMTOP_FLEET_FLEET_LOST_H

#include "src/fleet/fleet_view.h"

/* Fills lost_s and lost_ratio of the rows, over the FLEET_STEPS steps until `newest`. In each step all begin together;
 * who has the larger own time is waited for by those before, in equal parts if there are several. Of more than 64 ranks
 * those within 5 % of the median count as one. */
void fleet_lost_measure(struct fleet_view *view, uint64_t newest);

#endif
