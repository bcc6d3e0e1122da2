/* trace.h: a run as slices, instants and counters on tracks: what --to=perfetto and --to=chrome-trace have in common.
 * Which of these there are, and that they nest, is decided here; how they are written, by a trace_format. Internal to
 * src/export.
 *
 *   a batch and its spans (trace_lane.h)     held until it is known whether the batch was flagged, as finished.h has it
 *   what overlaps (warnings, gaps, workers)  each on the first track that is free
 *
 * Every slice begins on its track when those before it, but for those that it lies in, have ended; parents come before
 * what lies in them. --since and
 * --until cut what reaches across. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_H
#define PMTOP_EXPORT_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/export/exporter.h"
#include "src/export/finished.h"
#include "src/export/trace/trace_lane.h"

enum trace_kind { TRACE_PROCESS, TRACE_LANE, TRACE_TRACK, TRACE_COUNTER };
enum trace_unit { TRACE_NUMBER, TRACE_BYTES, TRACE_COUNT };

struct trace_track {
	enum trace_kind kind;
	enum trace_unit unit;  /* of a counter */
	uint64_t uuid, parent; /* the same whenever the same run is exported; parent 0 = none */
	int32_t pid;           /* unlike any other process's here */
	uint32_t tid;          /* unlike any other track's of the process; a lane's number and 1 */
	int rank;              /* where it stands among its siblings */
	char name[160];
};

enum trace_note_kind { NOTE_TEXT, NOTE_NUMBER, NOTE_COUNT, NOTE_TRUE };
struct trace_note {
	const char *key;
	enum trace_note_kind kind;
	union {
		const char *text;
		double number;
		uint64_t count;
	};
};
enum { TRACE_NOTES_MAX = 32, TRACE_FLOWS_MAX = 4 };

/* What is told of one slice; texts live for the call. */
struct trace_slice {
	const struct trace_track *track;
	int64_t begin_ns, end_ns; /* of an instant both alike */
	const char *name, *category;
	bool is_common;          /* of few different names */
	bool is_batch, has_mode; /* has_mode: a batch of a published mode */
	uint64_t number;         /* the batch's */
	size_t note_count, flow_count;
	struct trace_note notes[TRACE_NOTES_MAX];
	uint64_t flows[TRACE_FLOWS_MAX]; /* what belongs together has one in common */
	bool is_flow_target;             /* a warning's; else where flows begin */
	int64_t flow_ns;                 /* of a warning: when what it is about began */
};

struct trace_format {
	void (*start)(void *writer, const struct export_scene *scene);
	void (*track)(void *writer, struct buffer *out, const struct trace_track *track); /* before it is used */
	void (*begin)(void *writer, struct buffer *out, const struct trace_slice *slice);
	void (*end)(void *writer, struct buffer *out, const struct trace_track *track, int64_t end_ns);
	void (*instant)(void *writer, struct buffer *out, const struct trace_slice *slice);
	void (*counter)(void *writer, struct buffer *out, const struct trace_track *track, int64_t time_ns, double value);
	void (*finish)(void *writer, const struct export_scene *scene);
};

struct trace;
/* NULL: out of memory. */
struct trace *trace_new(const struct export_scene *scene, const struct trace_format *format, void *writer);
void trace_free(struct trace *trace);
void trace_add(struct trace *trace, const struct export_scene *scene, const struct sample_set *set);
void trace_end(struct trace *trace, const struct export_scene *scene);

#endif
