/* trace_strip.h: a curve of busy time in one row. */
#ifndef PMTOP_UI_TRACE_TRACE_STRIP_H
#define PMTOP_UI_TRACE_TRACE_STRIP_H

#include "src/trace/store/profile.h"
#include "ui/core/canvas.h"

/* `part_ns`: the length of each part of the curve. A part that is not busy at all is blank. */
void trace_strip_draw(
	struct canvas *canvas, struct rect row, const int64_t curve_ns[PROFILE_CURVE_SIZE], double part_ns, enum role role);
/* The busy ratio of the parts that column `x` of `width` shows. */
double trace_strip_ratio(const int64_t curve_ns[PROFILE_CURVE_SIZE], double part_ns, size_t x, size_t width);

#endif
