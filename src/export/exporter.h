/* exporter.h: writes a run in another program's format: `pmtop export --to=NAME`. Each format is one file and one line
 * in EXPORTERS.
 *
 *   each set, once it has been applied: exporter->add(state, scene) → bytes → file or standard output
 *
 * An exporter writes a thing either from the model (finished batches, epochs, series) or from the set's records
 * (spans), never from both. finished.h iterates over the finished batches. Every exporter writes all ranks. */
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
	int run;                    /* the run that a report would show: an index into model->runs; −1 = none */
	int64_t realtime_offset_ns; /* realtime − monotonic */
	int64_t boottime_offset_ns; /* boottime − monotonic */
	int64_t since_ns, until_ns; /* CLOCK_MONOTONIC, since ≤ t < until; INT64_MIN and INT64_MAX = all */
	const char *host;           /* of the run; empty = unknown */
	/* a live run or a pipe, whose output is read meanwhile. Else a file, which is read as fast as possible */
	bool is_awaited;
	struct buffer *out; /* NULL if is_folder */
	/* Writes `out` to its file now, so that a long output needs little memory. The caller does so after each call. */
	void (*drain)(const struct export_scene *scene);
	/* If is_folder: opens a file in the folder, created at the first call; "rank 1/x" also creates the subfolder. NULL:
	 * the file cannot be created. */
	struct buffer *(*file)(const struct export_scene *scene, const char *name);
	void *sink; /* private to the command */
};

struct exporter {
	const char *name, *help;                         /* "perfetto", "for ui.perfetto.dev" */
	bool is_binary;                                  /* refused if the output is a terminal */
	bool is_folder;                                  /* several files: -o names a folder */
	void *(*open)(const struct export_scene *scene); /* NULL: out of memory */
	/* Called after each set was applied to the model; NULL if only the end counts. */
	void (*add)(void *state, const struct export_scene *scene, const struct sample_set *set);
	/* Called once, after the last set. */
	void (*end)(void *state, const struct export_scene *scene);
	void (*close)(void *state);
};

/* NULL: unknown name. */
const struct exporter *exporter_find(const char *name);
const struct exporter *exporter_at(unsigned index); /* NULL after the last */

#endif
