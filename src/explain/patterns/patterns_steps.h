/* patterns_steps.h: the steps in which patterns are searched, each rated against its neighbours of the same kind. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_STEPS_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explain/patterns/patterns_private.h"

struct model;
struct patterns;
struct run;

/* False if there are too few steps. */
bool steps_gather(struct steps *steps, const struct model *model, const struct run *run, const struct patterns *before);
/* Marks the members as explained, and rates the other steps again. */
void steps_take_members(struct steps *steps);
/* The median of the nearest steps of its kind that are no members; NAN = none. */
double steps_near(const struct steps *steps, size_t row);
/* The row's position in a period. */
uint32_t steps_remainder(const struct steps *steps, enum clock_kind clock, uint32_t period, size_t row);
/* The shortest divisor of the period whose additional batches are as slow, else the period itself: every 80th batch may
 * really be every 40th, of which some were not slow. No row is a member before or after the call. */
uint32_t steps_part(struct steps *steps, enum clock_kind clock, uint32_t period, uint32_t remainder, uint32_t from);
/* Whether the previous search found this period, in batches. */
bool steps_knew(const struct steps *steps, uint32_t period);
size_t steps_row(const struct steps *steps, uint64_t ordinal); /* steps->count if not present */

#endif
