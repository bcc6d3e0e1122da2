/* energy_cpu.h: throttled time and clocks of CPUs. */
#ifndef PMTOP_SOURCES_ENERGY_ENERGY_CPU_H
#define PMTOP_SOURCES_ENERGY_ENERGY_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

struct energy_reader;
struct sample_set;

enum status energy_find_throttles(struct energy_reader *reader, struct reason *why_not);
bool energy_read_throttles(struct energy_reader *reader, int64_t now_ns, struct sample_set *out);
enum status energy_find_clocks(struct energy_reader *reader, struct reason *why_not);
bool energy_read_clocks(struct energy_reader *reader, int64_t now_ns, struct sample_set *out);

#endif
