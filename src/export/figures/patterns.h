/* patterns.h: what slow batches have in common, in each kind of text. `run`: index into model->runs; −1 = none.
 * Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_PATTERNS_H
#define PMTOP_EXPORT_FIGURES_PATTERNS_H

#include "src/base/formats/json.h"
#include "src/export/export.h"

/* "patterns": an array, empty where nothing was found. */
void patterns_as_json(
	struct json *json, const struct alerts *alerts, const struct run *run, unsigned index, int64_t realtime_offset_ns);
/* One, as members of an object that is open. */
void pattern_as_json(
	struct json *json, const struct run *run, const struct pattern *pattern, int64_t realtime_offset_ns);
/* A table's part PATTERNS; nothing where there are none. */
void patterns_as_table(struct buffer *out, const struct alerts *alerts, const struct model *model, int run);
/* A line for each that was not told yet. */
void patterns_as_lines(
	struct buffer *out, struct lines *lines, const struct alerts *alerts, const struct model *model, int run);

#endif
