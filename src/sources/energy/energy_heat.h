/* energy_heat.h: temperatures of the machine, from hwmon (Documentation/hwmon/sysfs-interface.rst). */
#ifndef PMTOP_SOURCES_ENERGY_ENERGY_HEAT_H
#define PMTOP_SOURCES_ENERGY_ENERGY_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

struct energy_reader;
struct sample_set;

enum status energy_find_sensors(struct energy_reader *reader, struct reason *why_not);
bool energy_read_sensors(struct energy_reader *reader, int64_t now_ns, struct sample_set *out);

#endif
