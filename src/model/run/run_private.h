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
#include "src/model/run/totals.h"

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
	/* batches that a late figure is attached to are among the newest so many of the run */
	NUMBERED_MAX = 1024,
	BASELINE_BATCHES_MAX = 4096, /* flag_window is at most this */
	MODE_UNKNOWN = 0xffff,       /* beyond all name ids: a batch of which the mode cannot be known */
};

#define NO_ORDINAL UINT64_MAX /* of no batch */

/* Foreign times may be anything; this leaves room to add and subtract. Never 0, which means none. */
static inline int64_t bounded_time(int64_t time_ns)
{
	return time_ns < 1 ? 1 : time_ns < INT64_MAX / 4 ? time_ns : INT64_MAX / 4;
}

/* A producing thread: the step that it is in. */
struct lane {
	bool has_step;        /* a batch has begun whose step is not closed */
	bool is_ended;        /* … and has ended */
	bool is_partial;      /* events of the batch were lost, or gone before pmtop came */
	bool is_lost_after;   /* events between its end and the next begin were lost */
	bool has_run_batches; /* ever */
	uint16_t id;
	unsigned track;
	uint64_t ordinal;
	int64_t begin_ns, end_ns;
	int64_t covered_until_ns; /* outermost spans reach to here */
	double covered_in_s, covered_between_s;
	uint64_t next_sequence;
	struct batch between; /* phases since its end: they are the step's only if another batch follows */
};

/* Where the batch with a number in the run stands. */
struct numbered {
	bool is_used;
	unsigned track;
	uint64_t number, ordinal;
};

struct run_private {
	struct model_options options;
	struct names names;
	/* ids of names that mean something; 0 = none */
	uint32_t train, accumulate, loss, allocated, inference, error, gc, sync, device_batch;
	bool has_request_batches;    /* then outermost spans are not requests */
	int64_t error_ns[LANES_MAX]; /* when the last span "error" ended there */
	struct numbered numbered[NUMBERED_MAX];
	struct rolling *late_windows[RUN_LATE_FIGURES_MAX];
	uint32_t between; /* id of the phase between the batches; NAME_BETWEEN where it has none */
	struct totals totals;
	size_t lane_count;
	struct lane *lanes;
	uint32_t mode;   /* current, in the order of the records */
	bool is_opening; /* nothing but what stands in the region was told yet */
	bool is_lost_in_set, has_state;
	uint16_t step_lane;     /* the lane of the newest batch */
	uint64_t epochs_upto;   /* batches of a number below are in the epochs that were told */
	bool epoch_has_batches; /* one has ended in the newest epoch */
	bool was_ended;         /* before pmtop came: its totals hold the last step */
	int64_t boundary_ns;    /* the newest begin or end of an epoch */
	uint64_t step_count;    /* closed since the start of the run, all modes */
	uint64_t bin_width;
	size_t bin_room;
	size_t epoch_room;
	size_t operation_room, operation_totals, operation_tracks; /* the latter: what the rows were made of */
	uint32_t operation_between;
	struct operation_source *operation_sources;
	uint64_t batch_lanes[LANES_MAX / 64]; /* which lanes ever ended a batch, a bit each */
	int64_t renewed_ns;                   /* when what is renewed once a second was; 0 = never */
	int64_t phases_ns;                    /* when track_phases was last told to look again; 0 = never */
	bool has_new_phases;
	bool is_changed; /* by an event, since the last refresh */
	struct flagged *flagged_storage;
	size_t flagged_room;
	int64_t closed_ns;     /* 0 = open */
	bool was_live;         /* when it was opened */
	double resident_bytes; /* of the run's process, and when: set by processes.c */
	int64_t resident_ns;
	double process_state; /* its code, as METRIC_PROCESS_STATE; NAN */
};

enum { PHASES_SEEN_MAX = 64 };

/* What track_phases found last; holds until a set changes the run, and nearly half a second at least. */
struct phase_cache {
	bool is_valid;
	size_t last, count, batches;
	struct phase_row rows[PHASES_SEEN_MAX];
};

/* What ranks.c measured last; renewed once a second. */
struct pace {
	bool is_valid;
	size_t steps;
	double step_s, step_mad_s, alone_s, alone_mad_s; /* alone: without what is spent waiting for other ranks */
	size_t phase_count;
	struct {
		uint32_t name;
		double median_s;
	} phases[RUN_PHASES_MAX]; /* outermost ones */
};

/* device_pace.c: since the host last waited for the device. */
struct device_pace {
	uint64_t next_ordinal, batches;
	double seconds, backlog_s;
};

struct track_private {
	struct phase_cache phases;
	struct pace pace;
	struct rolling *windows[RUN_KINDS_MAX]; /* of each kind: judged steps, the newest flag_window */
	struct rolling *recent;                 /* steps, the newest RUN_RECENT */
	uint32_t *judged_counts;
	struct figures judged;
	size_t max; /* batches kept */
	unsigned flag_window;
	uint64_t steps;                            /* finished, known */
	uint64_t counted;                          /* finished since the start of the run, all lanes */
	uint64_t candidates_first, candidates_end; /* ordinals that may belong to the warm-up */
	bool has_run_first;                        /* candidates_first is the run's first batch */
	bool is_decided;                           /* the warm-up */
	bool is_pass_whole;                        /* it was seen from its begin */
	uint64_t loss_number;                      /* of the batch that the track's loss is of */
	uint64_t place_ordinal; /* the last batch that has a place in its accumulation; NO_ORDINAL: none */
	uint32_t place;
	struct device_pace pace_of_device;
	/* of its batches, by spans told while another mode was current; less what its spans cover of batches of others */
	double covered_elsewhere_s;
	int64_t warmup_end_ns; /* 0 = none was seen */
	bool is_changed;
};

#endif
