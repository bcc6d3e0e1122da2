/* patterns.h: writes the patterns among slow batches in each format. `run`: index into model->runs; −1 = none.
 * Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_PATTERNS_H
#define PMTOP_EXPORT_FIGURES_PATTERNS_H

#include "src/base/formats/json.h"
#include "src/export/export.h"

/* "patterns": an array, empty if there are none. */
void patterns_as_json(
	struct json *json, const struct alerts *alerts, const struct run *run, unsigned index, int64_t realtime_offset_ns);
/* Adds one pattern's members to the open object. */
void pattern_as_json(
	struct json *json, const struct run *run, const struct pattern *pattern, int64_t realtime_offset_ns);
/* The table PATTERNS; nothing if there are none. */
void patterns_as_table(struct buffer *out, const struct alerts *alerts, const struct model *model, int run);
/* A line for each pattern that was not printed yet. */
void patterns_as_lines(
	struct buffer *out, struct lines *lines, const struct alerts *alerts, const struct model *model, int run);

#endif
