/* run_private.h: the structs that the files of this folder share.
 *
 * Its files call each other in one direction (tests/symbols.py fails on a cycle). A batch goes from records.c to
 * lanes.c and from there to judge.c, epochs.c, bins.c and run_requests.c; its late figures go from records.c to
 * figures.c. judge.c and figures.c call device_pace.c and flagged.c, which calls baseline.c. tracks.c, totals.c,
 * phases.c, late_figures.c and run.c (what others read) call none of these. refresh.c makes the figures after each set.
 */
#ifndef PMTOP_MODEL_RUN_RUN_PRIVATE_H
#define PMTOP_MODEL_RUN_RUN_PRIVATE_H

#include <math.h>

#include "src/base/clock.h"
#include "src/model/model.h"
#include "src/model/names.h"
#include "src/model/run/figures/totals.h"

enum {
	LANES_MAX = 256,
	BINS_MAX = 4096,
	EPOCHS_MAX = 1024,
	EPOCHS_ROOM_MAX = 1280,
	METAS_MAX = 256,
	GAUGES_MAX = 256,
	COUNTERS_MAX = 256,
	OPERATIONS_MAX = 512,
	OPEN_SPANS_MAX = 32,
	/* late figures are attached only to this many of the run's newest batches */
	NUMBERED_MAX = 1024,
	BASELINE_BATCHES_MAX = 4096, /* flag_window is at most this */
	MODE_UNKNOWN = 0xffff,       /* above all name ids: the mode of a batch is unknown */
};

#define NO_ORDINAL UINT64_MAX /* of no batch */

/* Foreign times may be anything; this leaves room to add and subtract. Never 0, which means none. */
static inline int64_t bounded_time(int64_t time_ns)
{
	return time_ns < 1 ? 1 : time_ns < INT64_MAX / 4 ? time_ns : INT64_MAX / 4;
}

/* A publishing thread, and its current step. */
struct lane {
	bool has_step;        /* a batch has begun, and its step is not closed yet */
	bool is_ended;        /* the batch has ended */
	bool is_partial;      /* events of the batch were lost, or overwritten before pmtop attached */
	bool is_lost_after;   /* events between its end and the next begin were lost */
	bool has_run_batches; /* ever */
	uint16_t id;
	unsigned track;
	uint64_t ordinal;
	int64_t begin_ns, end_ns;
	int64_t covered_until_ns; /* end of the outermost spans so far */
	double covered_in_s, covered_between_s;
	uint64_t next_sequence;
	struct batch between; /* phases since its end: part of the step only if another batch follows */
};

/* When the epoch of the loop was known first. */
struct within {
	bool is_begun;
	uint32_t epoch_index, epochs_begun; /* of the loop; published */
	uint64_t steps, passes;
};

/* The latest epoch of the loop that is a published pass, and how many had another number than that, in a row. */
struct matched {
	int64_t begin_ns;
	unsigned others;
	bool is_sure; /* one was, so that the first number is known */
};

/* Of an inferred run: what it and the run that its process publishes had counted when both were first seen. */
struct beside {
	int32_t pid; /* the process that publishes; 0: none */
	bool is_begun;
	uint64_t steps, passes;
	bool has_others; /* passes that are no steps */
	struct within within;
	struct matched matched;
};

/* Finds a batch by its number in the run. */
struct numbered {
	bool is_used;
	unsigned track;
	uint64_t number, ordinal;
};

struct run_private {
	struct model_options options;
	struct names names;
	/* ids of names with a special meaning; 0 = none */
	uint32_t train, accumulate, profile, loss, allocated, inference, error, gc, sync, device_batch;
	bool has_request_batches;    /* requests are batches, so outermost spans are not requests */
	int64_t error_ns[LANES_MAX]; /* when the last span "error" ended in a lane */
	struct numbered numbered[NUMBERED_MAX];
	struct rolling *late_windows[RUN_LATE_FIGURES_MAX];
	uint32_t between; /* id of the phase between batches; NAME_BETWEEN = not named */
	struct totals totals;
	size_t lane_count;
	struct lane *lanes;
	uint32_t mode;   /* current, in the order of the records */
	bool is_opening; /* no event was applied yet, only the region's contents */
	bool is_lost_in_set, has_state;
	uint16_t step_lane;     /* the lane of the latest batch */
	uint64_t epochs_upto;   /* batches with lower numbers are included in the epoch rows */
	bool epoch_has_batches; /* a batch has ended in the latest epoch */
	bool was_ended;         /* ended before pmtop attached: its totals include the last step */
	int64_t boundary_ns;    /* the latest begin or end of an epoch */
	uint64_t step_count;    /* closed since the start of the run, all modes */
	uint64_t bin_width;
	size_t bin_room;
	size_t epoch_room;
	size_t operation_room, operation_totals,
		operation_tracks; /* the latter two: numbers of totals and tracks when the rows were built */
	uint32_t operation_between;
	struct operation_source *operation_sources;
	uint64_t batch_lanes[LANES_MAX / 64]; /* bit mask of the lanes that have ended a batch */
	int64_t renewed_ns;                   /* time of the last renewal, once per second; 0 = never */
	int64_t phases_ns;                    /* when the caches of track_phases were last invalidated; 0 = never */
	bool has_new_phases;
	bool is_changed; /* by an event, since the last refresh */
	struct flagged *flagged_storage;
	size_t flagged_room;
	int64_t closed_ns;                       /* 0 = open */
	int64_t traced_from_ns, traced_until_ns; /* see steps/traced_steps.h; until: INT64_MAX while it goes on */
	bool was_live;                           /* when it was opened */
	bool publishes_epochs;                   /* epochs, or lengths */
	/* see loop_epochs.h; of an earlier run, and of the loop */
	bool are_passes_withdrawn, awaits_number;
	bool is_number_doubtful; /* the last pass that was found in the loop has another number there */
	int64_t await_until_ns;  /* 0 = not begun */
	uint32_t epochs_ahead, loop_planned;
	struct beside beside;
	double resident_bytes; /* of the run's process, at resident_ns: set by processes.c */
	int64_t resident_ns;
	double process_state; /* METRIC_PROCESS_STATE; NAN = unknown */
};

enum { PHASES_SEEN_MAX = 64 };

/* The last result of track_phases; valid until a set changes the run, and for at least 0.45 s. */
struct phase_cache {
	bool is_valid;
	size_t last, count, batches;
	struct phase_row rows[PHASES_SEEN_MAX];
};

/* The last measurement of ranks.c; renewed once per second. */
struct pace {
	bool is_valid;
	size_t steps;
	int64_t since_ns;                                /* when the oldest of them began */
	double step_s, step_mad_s, alone_s, alone_mad_s; /* alone: without waiting for other ranks */
	size_t phase_count;
	struct {
		uint32_t name;
		double median_s;
	} phases[RUN_PHASES_MAX]; /* outermost phases */
};

/* device_pace.c: since the host last waited for the device. */
struct device_pace {
	uint64_t next_ordinal, batches;
	double seconds, backlog_s;
};

struct track_private {
	struct phase_cache phases;
	struct pace pace;
	struct rolling *windows[RUN_KINDS_MAX]; /* per kind: the latest flag_window judged steps */
	struct rolling *recent;                 /* the latest RUN_RECENT steps */
	uint32_t *judged_counts;
	struct figures judged;
	size_t max; /* batches retained */
	unsigned flag_window;
	uint64_t steps;                            /* completed steps with a known time */
	uint64_t counted;                          /* batches completed since the start of the run, all lanes */
	uint64_t candidates_first, candidates_end; /* range of ordinals that may belong to the warm-up */
	bool has_run_first;                        /* candidates_first is the run's first batch */
	bool is_decided;                           /* the warm-up is final */
	bool is_pass_whole;                        /* the current pass was seen from its begin */
	uint64_t loss_number;                      /* number of the batch with the track's loss */
	uint64_t micro_batch_ordinal; /* the last batch with a known position in its accumulation; NO_ORDINAL: none */
	uint32_t micro_batch;
	struct device_pace pace_of_device;
	/* time of its batches covered by spans of other modes, minus the time of other modes' batches covered by its
	 * spans */
	double covered_elsewhere_s;
	int64_t warmup_end_ns; /* 0 = none was seen */
	bool is_changed;
};

#endif
