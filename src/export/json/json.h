/* json.h: the state of the model as JSON. */
#ifndef PMTOP_EXPORT_JSON_JSON_H
#define PMTOP_EXPORT_JSON_JSON_H

#include <stdint.h>

struct alerts;
struct buffer;
struct model;

/* One JSON object on one line with a newline (pmtop(1)); `run` is an index into model->runs, −1 = no
 * run. */
void export_json(
	struct buffer *out, const struct model *model, const struct alerts *alerts, int run, int64_t realtime_ns);
/* The same, but lists that grow with the run contain only their newest (or largest) 50 rows, so that an object for each
 * refresh stays small. */
void export_json_newest(
	struct buffer *out, const struct model *model, const struct alerts *alerts, int run, int64_t realtime_ns);

#endif
