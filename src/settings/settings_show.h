/* settings_show.h: settings as text, for `pmtop config`. */
#ifndef PMTOP_SETTINGS_SETTINGS_SHOW_H
#define PMTOP_SETTINGS_SETTINGS_SHOW_H

#include "src/base/buffer.h"
#include "src/settings/settings.h"

/* Adds a line for each setting that differs from its default: "screen: refresh_seconds: 1 (default 0.5)". Returns how
 * many there are. */
unsigned settings_show_changed(const struct settings *settings, struct buffer *out);

#endif
