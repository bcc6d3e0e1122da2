/* fleet_output.h: the fleet as text and as JSON, and the words that the screen shares with them. */
#ifndef PMTOP_FLEET_FLEET_OUTPUT_H
#define PMTOP_FLEET_FLEET_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/fleet/fleet_view.h"

enum { FLEET_WORDS_SIZE = 208 };

/* One JSON object, with a newline. All ranks; unknown figures are left out. */
void fleet_json(struct buffer *out, const struct fleet *fleet, const struct fleet_view *view, int64_t realtime_ns);
/* The totals, the hosts that are not live (all, if they are few) and the first ranks. */
void fleet_text(struct buffer *out, const struct fleet *fleet, const struct fleet_view *view);
/* "8 hosts: 7 live, 1 silent"; */
const char *fleet_words_hosts(const struct fleet_view *view, size_t count, char out[FLEET_WORDS_SIZE]);
/* "+0.12 ms ±0.30 ms", "+1 h 00 ±0.30 ms", "unknown" */
const char *fleet_words_clock(const struct fleet_host *host, char out[FLEET_WORDS_SIZE]);
/* Its reason, else the relay that it is reached through, else "". */
const char *fleet_words_reason(const struct fleet_host *host, char out[FLEET_WORDS_SIZE]);
/* "; next try after 30 s", "" */
const char *fleet_words_retry(const struct fleet_host *host, char out[FLEET_WORDS_SIZE]);
/* "pmtop 12 % CPU, 84.2 MB, 1.2 MB/s" */
const char *fleet_words_self(const struct fleet *fleet, char out[FLEET_WORDS_SIZE]);

#endif
