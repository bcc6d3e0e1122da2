/* energy.h: reads files of meters and sensors. */
#ifndef PMTOP_SOURCES_ENERGY_ENERGY_H
#define PMTOP_SOURCES_ENERGY_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/metric.h"
#include "src/sources/energy/energy_private.h"

struct sample_set;
struct target;

/* Reads a small file below the root, whose path is formatted as by printf, and strips blanks at its end. */
enum status energy_text(const struct energy_reader *reader, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
enum status energy_number(const struct energy_reader *reader, uint64_t *out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Names in a folder that begin with `prefix`, sorted by number. Returns how many; 0 if there is no such folder. */
enum { ENERGY_NAMES_MAX = 128, ENERGY_NAME_MAX = 32 };
size_t energy_names(const struct energy_reader *reader, const char *folder, const char *prefix,
	char names[ENERGY_NAMES_MAX][ENERGY_NAME_MAX]);

/* Calls `each` for each CPU of a list such as "0-3,8"; stops when it returns false. */
void energy_cpu_list(const char *text, bool (*each)(void *context, int cpu), void *context);
void energy_name(struct sample_set *out, int64_t now_ns, enum metric family, int32_t instance, const char *name);

/* Sets the time of the next read from the cost of this one. */
void energy_paced(struct energy_pace *pace, int64_t now_ns, int64_t cost_ns);
enum status energy_open_with(
	const struct energy_calls *calls, struct target *target, void **state, struct reason *why_not);

#endif
