#include "src/sources/python/loops/py_reading.h"

#include "src/sources/python/loops/py_loop_view.h"

/* A length that follows from several iterators holds if none moved between: the loop was not asking for an item before
 * and after, and is where it was. */
static bool has_moved(struct py_reading *reading, struct py_loop *loop)
{
	struct py_loop again = *loop;
	again.guards.is_composite = true;
	again.position = 0;
	return py_loop_view(&reading->loops->iterators, &again) != PY_LOOP_GOOD || again.position != loop->position;
}

void py_reading_emit(struct py_reading *reading, struct py_loop *loop)
{
	if (reading->count == reading->max)
		return;
	if (loop->guards.has_inner_length && loop->length && has_moved(reading, loop))
		loop->length = 0;
	loop->has_position = loop->has_remaining = false;
	loop->position = 0;
	if (py_loop_view(&reading->loops->iterators, loop) != PY_LOOP_ENDED)
		reading->out[reading->count++] = *loop;
}
