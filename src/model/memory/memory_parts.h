/* memory_parts.h: which part of the memory grows. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_PARTS_H
#define PMTOP_MODEL_MEMORY_MEMORY_PARTS_H

#include <stddef.h>

#include "src/model/memory/memory_private.h"

void memory_take_parts(struct model *model, struct memory_sample *out);

/* Once per second. */
void memory_note_processes(struct model *model);
void memory_choose_basis(struct model *model, size_t from);

/* The minimum of noticeable growth, in bytes. */
double memory_noticeable(const struct memory *memory);
/* Memory that the kernel cannot reclaim: anonymous and shared. NAN if anonymous memory is unknown. */
double memory_retained(const struct memory_sample *sample, struct memory_basis basis);
double memory_cached(const struct memory_sample *sample, struct memory_basis basis);

/* Growth of a part: mean of the last eighth minus mean of the first eighth of the samples from index `from` on. */
double memory_part_growth(const struct memory_trend *trend, size_t from, enum memory_part part);
/* Finds what has grown the most since sample `from`; none if all together is less than half of noticeable_bytes. */
void memory_attribute(struct model *model, size_t from, double noticeable_bytes);

#endif
