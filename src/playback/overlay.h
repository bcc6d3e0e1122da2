/* overlay.h: an earlier run, from its recording, over the plots of this one. A thread plays the recording once, as fast
 * as it can be read and without rules; the main thread takes over what it has found so far. All calls are the main
 * thread's. */
#ifndef PMTOP_PLAYBACK_OVERLAY_H
#define PMTOP_PLAYBACK_OVERLAY_H

#include <stdbool.h>

#include "src/base/status.h"
#include "src/model/model.h"
#include "ui/screen.h"

struct overlay;

/* Nothing is overlaid yet. NULL: out of memory. `screen` shows it from now on, and must not be drawn after
 * overlay_free. */
struct overlay *overlay_new(struct screen *screen, const struct model_options *options);
void overlay_free(struct overlay *overlay);
/* Begins to read a recording. */
enum status overlay_open(struct overlay *overlay, const char *path, struct reason *why_not);
/* Takes over what was read. True: the picture has changed. */
bool overlay_read(struct overlay *overlay);
/* For how long a wait may last until it is to be looked at again, in milliseconds; −1 = for ever. */
int overlay_wait_ms(const struct overlay *overlay);
/* As it is drawn. */
const struct earlier *overlay_earlier(const struct overlay *overlay);
/* Waits until all is read. */
void overlay_finish(struct overlay *overlay);
/* While a file's name is typed every key is part of it, or ends it. False: nothing is typed. */
bool overlay_type(struct overlay *overlay, struct key_event event);
/* o: asks for a file, or takes the overlay away. False: another key. */
bool overlay_key(struct overlay *overlay, struct key_event event);

#endif
