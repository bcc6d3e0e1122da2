/* trace_private.h: the parts of trace.c. Internal to it. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_PRIVATE_H
#define PMTOP_EXPORT_TRACE_TRACE_PRIVATE_H

#include "src/export/trace/trace.h"

/* Tracks beside each other for slices that may overlap. */
struct trace_shared_tracks {
	unsigned count;
	struct {
		const struct trace_track *track;
		int64_t end_ns;
	} list[LANE_TRACKS];
};

struct trace_process {
	int32_t pid; /* as pmtop sees it */
	bool has_run;
	uint32_t next_tid;
	struct trace_track *track;
	struct trace_track *resident, *cpu, *wait, *tree;
};

/* A published name and its counter tracks. */
struct trace_name {
	char *text;
	struct trace_track *gauge, *total, *loss, *rate;
	double last_total;
};

struct trace_run_lane {
	uint16_t number;
	bool has_next;
	uint64_t next_sequence, tail_lost; /* tail_lost: lost events after which no event came */
	int64_t last_ns;
	size_t open_count; /* spans that ran at the last sample, outermost first */
	struct lane_slice open[LANE_LEVELS];
	const struct trace_track *tracks[LANE_TRACKS];
	struct trace_lane lane;
};

struct trace_run {
	bool is_current;
	unsigned id; /* as in the records */
	char uuid[33], name[128];
	int32_t pid;
	int64_t closed_ns; /* 0 = running */
	struct trace_process *process;
	size_t name_count, lane_count;
	struct trace_name *names; /* by id */
	struct trace_run_lane **lanes;
	struct trace_track *marks, *flags;
	struct trace_shared_tracks epochs, gaps;
};

enum { TRACE_ALERTS_MAX = 256, TRACE_WORKERS_MAX = 256 };

struct trace_alert {
	char rule[64], message[160], advice[120];
	unsigned run;
	uint32_t subject;
	enum severity severity;
	int64_t since_ns, cleared_ns; /* cleared 0 while it is raised */
	uint64_t flow;
	int64_t joined_ns;           /* begin of its batch */
	bool is_standing, is_joined; /* standing: not written yet; joined: its batch has the flow */
};

struct trace_worker {
	bool is_used;
	int32_t pid;
	uint32_t id;
	int64_t start_ns;
	uint64_t fetches, failed;
	double total_s, max_s;
};

enum { TRACE_GPU_FIGURES = 12 };

struct trace_gpu {
	int32_t instance;
	unsigned throttle; /* throttle reasons, and since when */
	int64_t throttle_ns;
	struct trace_track *tracks[TRACE_GPU_FIGURES], *run_memory, *throttled, *events;
};

struct trace {
	const struct trace_format *format;
	void *writer;
	struct finished *finished;
	struct export_scene all;          /* the scene without its limits */
	const struct export_scene *scene; /* of the call */
	bool failed;
	size_t throttle_bits; /* waiting slices in all lanes */
	size_t track_count, process_count, run_count, alert_count;
	struct trace_track **tracks;
	struct trace_process **processes;
	struct trace_run **runs;
	struct trace_run *current[256]; /* by the records' id */
	uint64_t flow_count;
	struct trace_alert alerts[TRACE_ALERTS_MAX];
	struct trace_shared_tracks alert_tracks, worker_tracks;
	struct trace_worker workers[TRACE_WORKERS_MAX];
	size_t gpu_count;
	struct trace_gpu gpus[GPUS_MAX];
};

#endif
