/* overlay.h: draws the steps of an earlier run, from its recording, over the plots of this one. A thread plays the
 * recording once, as fast as possible and without rules; the main thread copies the steps found so far. Call these
 * functions from the main thread. */
#ifndef PMTOP_PLAYBACK_OVERLAY_H
#define PMTOP_PLAYBACK_OVERLAY_H

#include <stdbool.h>

#include "src/base/status.h"
#include "src/model/model.h"
#include "ui/screen.h"

struct overlay;

/* Makes an empty overlay, or returns NULL when out of memory. `screen` shows it, and must not be drawn after
 * overlay_free. */
struct overlay *overlay_new(struct screen *screen, const struct model_options *options);
void overlay_free(struct overlay *overlay);
/* Starts to read a recording. */
enum status overlay_open(struct overlay *overlay, const char *path, struct reason *why_not);
/* Copies the steps read so far. Returns true if the screen has to be drawn. */
bool overlay_read(struct overlay *overlay);
/* The longest wait until the next overlay_read, in milliseconds; −1 = no limit. */
int overlay_wait_ms(const struct overlay *overlay);
/* The data for drawing. */
const struct earlier *overlay_earlier(const struct overlay *overlay);
/* Waits until the recording is read. */
void overlay_finish(struct overlay *overlay);
/* Takes a key of the prompt for a file's name. Returns false if there is no prompt. */
bool overlay_type(struct overlay *overlay, struct key_event event);
/* Key o: opens the prompt, or removes the overlay. Returns false for another key. */
bool overlay_key(struct overlay *overlay, struct key_event event);

#endif
