/* run_private.h: what a run keeps for itself, shared by the files that make it. One direction: records.c →
 * lanes.c → tracks.c, epochs.c, totals.c. */
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

/* -- refresh.c -- */
/* False: out of memory; *run is then as empty as before. */
bool run_open(struct run *run, const struct record *opened, const struct model_options *options);
void run_release(struct run *run);
/* After a set: figures, ETA, operations. */
void run_refresh(struct run *run, int64_t now_ns);

/* -- records.c -- */
/* Everything that has a run in it but RUN_OPENED; `rest_count` records, this one included, are left in the set. */
void run_apply(struct run *run, const struct record *record, size_t rest_count);
/* At the first event, or at the end, of the set that opens the run. */
void run_settle_past(struct run *run, const struct record *rest, size_t rest_count);

/* -- lanes.c: the events of a lane -- */
void lane_begin_batch(struct run *run, struct lane *lane, const struct record *record);
void lane_end_batch(struct run *run, struct lane *lane, const struct record *record);
/* The batch that runs there is of the current mode: it moves to that mode's track. */
void lane_follow_mode(struct run *run, struct lane *lane, const struct record *record);
void lane_add_evidence(struct run *run, struct lane *lane, const struct record *record);
void lane_add_span(struct run *run, struct lane *lane, const struct record *record);
void lane_lose(struct lane *lane);
/* The epoch or the run ends, or another batch begins: the step of the batch that ended before is known. */
void lane_close_step(struct run *run, struct lane *lane, const struct record *record);

/* -- tracks.c -- */
extern const struct figures no_figures;
uint32_t run_mode_of(const struct run *run, uint32_t id);             /* "train" and nothing are one */
struct track *run_track(struct run *run, uint32_t mode, bool create); /* NULL: none, or no room */
void track_init_empty(struct track *track);
void track_release(struct track *track);
/* The next batch has this number; those up to it are not kept. */
void track_skip_to(struct track *track, uint64_t ordinal);
struct batch *track_append(struct track *track, uint64_t ordinal); /* NULL: not kept */
struct batch *track_slot(struct track *track, uint64_t ordinal);
/* As if the batch had never been appended. */
void track_take_back(struct track *track, uint64_t ordinal);

/* -- track_figures.c -- */
void track_refresh(struct run *run, struct track *track);

/* -- judge.c -- */
/* At the batch's end: what it is judged among. */
void track_set_kind(const struct run *run, struct track *track, struct batch *batch, uint32_t kind);
void track_finish_step(struct run *run, struct track *track, struct batch *batch);
/* When the warm-up was over: 0 = before pmtop came, or no batch has begun; INT64_MAX = not yet. */
int64_t run_warmup_end(const struct run *run);

/* -- device_pace.c -- */
/* At the end of a batch's step, before it is judged. */
void device_pace_take(const struct run *run, struct track *track, struct batch *batch);
/* When its figure gpu.batch_s has come. True: the batch is to be flagged for what the device took. */
bool device_pace_hear(const struct run *run, const struct track *track, struct batch *batch, double seconds);
void device_pace_restart(struct track *track);

/* -- phases.c -- */
/* False: no row for it; its time stays in the unattributed (or between) time. */
bool batch_add_phase(
	struct batch *batch, uint32_t name, uint32_t parent, double seconds, double cpu_s, double memory_bytes);
/* The rows of its own; none while there is no time for them. `name`: NAME_BETWEEN or the published phase that stands
 * for it. */
void batch_set_unattributed(struct batch *batch, double seconds);
void batch_add_between(struct batch *batch, uint32_t name, double seconds);

/* -- baseline.c: track_baseline and track_phases of run.h -- */

/* -- flagged.c -- */
/* Flags the batch, which is not flagged yet, and keeps a copy of it with its baseline. */
void run_add_flagged(struct run *run, struct track *track, struct batch *batch);
/* By hand: model_flag. */
bool run_flag(struct run *run, unsigned track, uint64_t ordinal, bool flagged);
void run_release_flagged(struct run *run);
/* The copy of a batch that was flagged before it was finished. */
void run_renew_flagged(struct run *run, const struct track *track, const struct batch *batch);

/* -- late_figures.c -- */
void run_add_late_figure(struct run *run, uint32_t name, uint32_t mode, double value);
/* NULL: no batch of that mode has had a figure of that name. `window`: the newest values; may be NULL. */
const struct late_figure *run_late_figure(
	const struct run *run, uint32_t name, uint32_t mode, const struct rolling **window);
void run_release_late_figures(struct run *run);

/* -- figures.c: what becomes known of a batch besides its own events -- */
/* The batch with this number in the run stands there now. */
void run_note_number(struct run *run, unsigned track, uint64_t ordinal, uint64_t number);
void run_take_figure(struct run *run, const struct record *record);
void run_note_loss(struct track *track, uint64_t number, double loss);
void run_refresh_loss(struct run *run);

/* -- run_requests.c -- */
void run_note_span(struct run *run, const struct record *span);
void run_note_batch(struct run *run, const struct lane *lane, uint32_t mode, const struct record *end);

/* -- epochs.c -- */
void run_begin_epoch(struct run *run, uint32_t index, int64_t time_ns);
void run_end_epoch(struct run *run, int64_t time_ns);
void run_replace_epochs(struct run *run, const struct epoch_row *rows, size_t count, uint64_t dropped);
struct epoch *run_epoch_at(struct run *run, int64_t time_ns); /* NULL: in none */
void run_place_in_epoch(struct run *run, const struct track *track, struct batch *batch);
void epoch_add_batch(struct epoch *epoch, double batch_s);
/* After losses: an epoch whose begin was lost stands in the state. */
void run_reconcile_epochs(struct run *run);
void run_refresh_epochs(struct run *run, int64_t now_ns);

/* -- bins.c -- */
void run_add_bin(struct run *run, uint64_t ordinal, int64_t begin_ns, double step_s);
void run_replace_bins(struct run *run, const struct history_row *rows, size_t count);

/* -- operations.c -- */
void run_refresh_operations(struct run *run, bool with_recent);

/* -- eta.c -- */
void run_refresh_eta(struct run *run, int64_t now_ns);

/* -- published.c: what a run says besides its events -- */
void run_set_name(struct run *run, uint32_t id, const char *text);
void run_set_meta(struct run *run, const char *key, const char *value);
void run_set_gauge(struct run *run, uint32_t name, int64_t time_ns, double value);
void run_set_counter(struct run *run, uint32_t name, int64_t time_ns, double total);
void run_add_mark(struct run *run, int64_t time_ns, const char *text);
void run_set_open_span(struct run *run, const struct record *record);
void run_clear_open_spans(struct run *run, uint16_t lane);
void run_release_published(struct run *run);

#endif
