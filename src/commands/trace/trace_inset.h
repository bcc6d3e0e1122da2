/* trace_inset.h: traces on a canvas, while they are read in a thread and then: for `pmtop trace` on a terminal, and for
 * the key T of the screen that watches a run. */
#ifndef PMTOP_COMMANDS_TRACE_TRACE_INSET_H
#define PMTOP_COMMANDS_TRACE_TRACE_INSET_H

#include "src/commands/trace/trace_ranks.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/trace/trace_screen.h"

enum { TRACE_INSET_MS = 100 };

struct trace_inset {
	struct trace_ranks *ranks; /* NULL: not open */
	struct profile_view view;
	struct trace_screen *screen; /* NULL while the traces are read */
	pthread_t reader;
};

/* Begins to read. The ranks are the caller's, with their files added; they must outlive the inset. */
enum status trace_inset_open(
	struct trace_inset *inset, struct trace_ranks *ranks, const struct profile_view *view, struct reason *why_not);
void trace_inset_draw(struct trace_inset *inset, struct canvas *canvas);
/* False: the user quits. */
bool trace_inset_key(struct trace_inset *inset, struct key_event event, const struct canvas *canvas);
/* To be called every TRACE_INSET_MS while trace_inset_is_reading(). False: no trace could be read. */
bool trace_inset_step(struct trace_inset *inset);
bool trace_inset_is_reading(const struct trace_inset *inset);
/* Stops the thread, and waits for it. */
void trace_inset_close(struct trace_inset *inset);

#endif
