/* memory_verdict.h: the trend of memory as a verdict. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_VERDICT_H
#define PMTOP_MODEL_MEMORY_MEMORY_VERDICT_H

#include <stddef.h>
#include <stdint.h>

struct memory;
struct model;

void memory_judge(struct model *model, size_t from);
void memory_forget_slope(struct model *model);

/* Seconds until the window is long enough for a verdict; 0 or less: it is; NAN: it has not begun. */
double memory_trend_left_s(const struct memory *memory, int64_t now_ns);

#endif
