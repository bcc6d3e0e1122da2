/* energy_rapl.h: energy meters (RAPL) of CPU packages, of memory, and of the whole platform. */
#ifndef PMTOP_SOURCES_ENERGY_ENERGY_RAPL_H
#define PMTOP_SOURCES_ENERGY_ENERGY_RAPL_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

struct energy_reader;
struct sample_set;

/* energy_find_… searches for a part: OK, or the reason why there is none. energy_read_… emits it: false = it has
 * disappeared. */
enum status energy_find_meters(struct energy_reader *reader, struct reason *why_not);
bool energy_read_meters(struct energy_reader *reader, int64_t now_ns, struct sample_set *out);
void energy_close_meters(struct energy_reader *reader);

#endif
