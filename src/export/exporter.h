/* exporter.h: a run in a format of other programs: `pmtop export --to=NAME`. One file each, and one line in EXPORTERS.
 *
 *   each set, once it has been applied: exporter->add(state, scene) → bytes → file or standard output
 *
 * An exporter tells of what the model knows (finished batches, epochs, series) or of the set's own records (spans),
 * never of both for one thing. finished.h walks the finished batches. All ranks are told. */
#ifndef PMTOP_EXPORT_EXPORTER_H
#define PMTOP_EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"

#define EXPORTERS(X) \
	X(csv) \
	X(csv_operations) \
	X(csv_series) \
	X(csv_processes) \
	X(jsonl) \
	X(tensorboard) \
	X(openmetrics) \
	X(perfetto) \
	X(chrome_trace)

struct export_scene {
	const struct model *model;
	const struct alerts *alerts;
	int run;                    /* index into model->runs, −1 = none: the one that a report would show */
	int64_t realtime_offset_ns; /* realtime − monotonic */
	int64_t boottime_offset_ns; /* boottime − monotonic */
	int64_t since_ns, until_ns; /* CLOCK_MONOTONIC, since ≤ t < until; INT64_MIN and INT64_MAX = all */
	const char *host;           /* of the run; empty = not known */
	/* somebody reads along: a live run or a pipe. Else the whole is read as fast as can be */
	bool is_awaited;
	struct buffer *out; /* NULL where is_folder */
	/* Hands on what stands in `out` now: for what is long. It is done anyway after each call. */
	void (*drain)(const struct export_scene *scene);
	/* Of a format that is a folder: a file in it, made when it is first asked for; "rank 1/x" makes the folder too.
	 * NULL: it could not be made. */
	struct buffer *(*file)(const struct export_scene *scene, const char *name);
	void *sink; /* the command's own */
};

struct exporter {
	const char *name, *help;                         /* "perfetto", "for ui.perfetto.dev" */
	bool is_binary;                                  /* not for a terminal */
	bool is_folder;                                  /* several files: -o names a folder */
	void *(*open)(const struct export_scene *scene); /* NULL: out of memory */
	/* After each set was applied to the model; NULL where only the end counts. */
	void (*add)(void *state, const struct export_scene *scene, const struct sample_set *set);
	/* All has been told. */
	void (*end)(void *state, const struct export_scene *scene);
	void (*close)(void *state);
};

/* NULL: no format has that name. */
const struct exporter *exporter_find(const char *name);
const struct exporter *exporter_at(unsigned index); /* NULL behind the last */

#endif
