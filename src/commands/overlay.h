/* overlay.h: an earlier run's step times, from a recording, to be drawn under those of the run that is shown (--overlay FILE; o shows and hides them).
 *
 * The recording is read a little at a time, between two looks at the keys, by a model of its own; kept are its step times alone, of a million steps at most. */
#ifndef PMTOP_COMMANDS_OVERLAY_H
#define PMTOP_COMMANDS_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "ui/earlier.h"

struct overlay;

enum status overlay_open(const char *path, struct overlay **out, struct reason *why_not);
void overlay_close(struct overlay *overlay);         /* NULL: nothing */
/* Reads on for about so long; false: all has been read. */
bool overlay_read(struct overlay *overlay, int64_t budget_ns);
struct earlier *overlay_earlier(struct overlay *overlay);

#endif
