/* trace_reading.h: the screen while traces are read. */
#ifndef PMTOP_UI_TRACE_TRACE_READING_H
#define PMTOP_UI_TRACE_TRACE_READING_H

#include <stddef.h>

#include "ui/core/canvas.h"

struct trace_reading {
	const char *path;     /* of the trace that is being read */
	size_t number, count; /* 1 … count */
	double ratio;         /* of its bytes; NAN = unknown */
};

void trace_reading_draw(const struct trace_reading *reading, struct canvas *canvas);

#endif
