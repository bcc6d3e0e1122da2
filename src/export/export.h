/* export.h: what leaves pmtop as text. Everything comes out of the same model as the screen. */
#ifndef PMTOP_EXPORT_EXPORT_H
#define PMTOP_EXPORT_EXPORT_H

#include <stdint.h>

#include "src/base/buffer.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"

/* One JSON object on one line with a newline (README "The JSON object"); `run` is an index into model->runs, −1 = no run. */
void export_json(struct buffer *out, const struct model *model, const struct alerts *alerts, int run, int64_t realtime_ns);

/* The guides' lines, `pmtop -b`. Keeps what was printed already. */
struct lines {
	int64_t batch_lines;         /* print each of the first so many batches seen */
	int64_t batches_printed;
	uint64_t next_ordinal;
	size_t epochs_printed;
	/* … further state is lines.c's own */
	uint64_t private[4];
};
void lines_init(struct lines *lines, int64_t batch_lines);
/* Appends the lines that became due: batch lines, then at each epoch's end its two lines; where nothing publishes, one line of process figures. */
void export_lines(struct buffer *out, struct lines *lines, const struct model *model, const struct alerts *alerts, int run);

/* PERFORMANCE SUMMARY, AGGREGATE STATISTICS, epochs, warnings, as the guides show them. */
void export_report(struct buffer *out, const struct model *model, const struct alerts *alerts, int run);
/* One line per refresh for --format=csv; the header when `with_header`. */
void export_csv(struct buffer *out, const struct model *model, int run, int64_t realtime_ns, int with_header);

#endif
