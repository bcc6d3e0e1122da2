/* trace.h: a run as slices, instants and counters on tracks, for --to=perfetto and --to=chrome-trace. This module
 * decides what is written and nests the slices; a trace_format writes them. Internal to src/export.
 *
 *   a batch and its spans (trace_lane.h)    wait until finished.h returns the batch, because its flag is known only
 * then warnings, gaps, workers                 may overlap: each uses the first free track
 *
 * On a track, slices nest or follow each other, and parents come before their children. --since and --until cut slices
 * that cross them. */
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
	uint64_t uuid, parent; /* equal in every export of the same run; parent 0 = none */
	int32_t pid;           /* unique in this trace */
	uint32_t tid;          /* unique in the process; of a lane: its number + 1 */
	int rank;              /* sorts it among its siblings */
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

/* One slice or instant; its texts are valid during the call. */
struct trace_slice {
	const struct trace_track *track;
	int64_t begin_ns, end_ns; /* equal for an instant */
	const char *name, *category;
	bool is_common;          /* one of few different names */
	bool is_batch, has_mode; /* has_mode: a batch of a published mode */
	uint64_t number;         /* the batch's */
	size_t note_count, flow_count;
	struct trace_note notes[TRACE_NOTES_MAX];
	uint64_t flows[TRACE_FLOWS_MAX]; /* linked slices share one */
	bool is_flow_target;             /* flows end here (a warning); else they begin here */
	int64_t flow_ns;                 /* of a warning: begin of the batch that it is about */
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
