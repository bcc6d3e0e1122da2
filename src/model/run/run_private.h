/* run_private.h: internal state of a run, shared by the files of this folder. Calls go in one direction: run.c →
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
	/* late figures are attached only to the latest so many batches of the run */
	NUMBERED_MAX = 1024,
	BASELINE_BATCHES_MAX = 4096, /* flag_window is at most this */
	MODE_UNKNOWN = 0xffff,       /* above all name ids: the mode of a batch is unknown */
};

/* Limits untrusted times so that sums and differences do not overflow. Never 0, which means none. */
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
	uint32_t train, accumulate, loss, allocated, inference, error, gc, sync, device_batch;
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
	int64_t closed_ns;     /* 0 = open */
	bool was_live;         /* when it was opened */
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
	uint64_t place_ordinal; /* the last batch with a known position in its accumulation; NO_ORDINAL: none */
	uint32_t place;
	struct device_pace pace_of_device;
	/* time of its batches covered by spans of other modes, minus the time of other modes' batches covered by its
	 * spans */
	double covered_elsewhere_s;
	int64_t warmup_end_ns; /* 0 = none was seen */
	bool is_changed;
};

/* -- refresh.c -- */
/* False: out of memory; *run stays empty. */
bool run_open(struct run *run, const struct record *opened, const struct model_options *options);
void run_release(struct run *run);
/* After a set: figures, ETA, operations. */
void run_refresh(struct run *run, int64_t now_ns);

/* -- run.c -- */
/* Applies any record of a run except RUN_OPENED; `rest_count` records, including this one, are left in the set. */
void run_apply(struct run *run, const struct record *record, size_t rest_count);
/* Call at the first event, or at the end, of the set that opens the run. */
void run_settle_past(struct run *run, const struct record *rest, size_t rest_count);
uint32_t run_mode_of(const struct run *run, uint32_t id); /* "train" and no mode are the same */
/* The end of the warm-up: 0 = before pmtop attached, or no batch has begun; INT64_MAX = not yet. */
int64_t run_warmup_end(const struct run *run);

/* -- lanes.c: the events of a lane -- */
void lane_begin_batch(struct run *run, struct lane *lane, const struct record *record);
void lane_end_batch(struct run *run, struct lane *lane, const struct record *record);
/* Moves the lane's running batch to the track of the current mode. */
void lane_follow_mode(struct run *run, struct lane *lane, const struct record *record);
void lane_add_evidence(struct run *run, struct lane *lane, const struct record *record);
void lane_add_span(struct run *run, struct lane *lane, const struct record *record);
void lane_lose(struct lane *lane);
/* Call when the epoch or the run ends, or another batch begins: the previous batch's step is complete then. */
void lane_close_step(struct run *run, struct lane *lane, const struct record *record);

/* -- tracks.c -- */
struct track *run_track(struct run *run, uint32_t mode, bool create); /* NULL: none, or the limit is reached */
void track_init_empty(struct track *track);
void track_release(struct track *track);
/* Sets the ordinal of the next batch; the ordinals before it stay empty. */
void track_skip_to(struct track *track, uint64_t ordinal);
struct batch *track_append(struct track *track, uint64_t ordinal); /* NULL: not retained */
struct batch *track_slot(struct track *track, uint64_t ordinal);
/* Undoes track_append. */
void track_take_back(struct track *track, uint64_t ordinal);
void track_refresh(struct run *run, struct track *track);

/* -- judge.c -- */
extern const struct figures no_figures;
void track_init_judgement(struct track *track);
void track_release_judgement(struct track *track);
/* Call at the batch's end: sets the kind that it is judged against. */
void track_set_kind(const struct run *run, struct track *track, struct batch *batch, uint32_t kind);
void track_finish_step(struct run *run, struct track *track, struct batch *batch);
void track_refresh_judgement(struct track *track);

/* -- device_pace.c -- */
/* Call the first at the end of a step, before it is judged, the second when the batch's gpu.batch_s is published. */
void device_pace_take(const struct run *run, struct track *track, struct batch *batch);
void device_pace_hear(struct run *run, struct track *track, struct batch *batch, double seconds);
void device_pace_restart(struct track *track);

/* -- phases.c -- */
/* False: no free row; the time counts as unattributed (or between). */
bool batch_add_phase(
	struct batch *batch, uint32_t name, uint32_t parent, double seconds, double cpu_s, double memory_bytes);
/* The rows unattributed and between, which exist only if their time is above 0. `name`: NAME_BETWEEN, or the published
 * phase used instead. */
void batch_set_unattributed(struct batch *batch, double seconds);
void batch_add_between(struct batch *batch, uint32_t name, double seconds);

/* -- baseline.c: track_baseline and track_phases of run.h -- */

/* -- flagged.c -- */
void run_add_flagged(struct run *run, const struct track *track, const struct batch *batch);
/* A person's flag: model_flag. */
bool run_flag(struct run *run, unsigned track, uint64_t ordinal, bool flagged);
void run_release_flagged(struct run *run);
/* Updates the copy of a batch that was flagged before it was complete. */
void run_renew_flagged(struct run *run, const struct track *track, const struct batch *batch);

/* -- figures.c: late figures of batches -- */
/* Notes the track and ordinal of the batch with this number in the run. */
void run_note_number(struct run *run, unsigned track, uint64_t ordinal, uint64_t number);
void run_take_figure(struct run *run, const struct record *record);
/* NULL: not published in that mode. *window: its latest values; `window` may be NULL. */
const struct late_figure *run_late_figure(
	const struct run *run, uint32_t name, uint32_t mode, const struct rolling **window);
void run_note_loss(struct track *track, uint64_t number, double loss);
void run_refresh_loss(struct run *run);
void run_release_figures(struct run *run);

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
/* Call after losses: takes an epoch whose begin was lost from the state. */
void run_reconcile_epochs(struct run *run);
void run_refresh_epochs(struct run *run, int64_t now_ns);

/* -- bins.c -- */
void run_add_bin(struct run *run, uint64_t ordinal, int64_t begin_ns, double step_s);
void run_replace_bins(struct run *run, const struct history_row *rows, size_t count);

/* -- operations.c -- */
void run_refresh_operations(struct run *run, bool with_recent);

/* -- eta.c -- */
void run_refresh_eta(struct run *run, int64_t now_ns);

/* -- published.c: names, meta, gauges, counters, marks and open spans -- */
void run_set_name(struct run *run, uint32_t id, const char *text);
void run_set_meta(struct run *run, const char *key, const char *value);
void run_set_gauge(struct run *run, uint32_t name, int64_t time_ns, double value);
void run_set_counter(struct run *run, uint32_t name, int64_t time_ns, double total);
void run_add_mark(struct run *run, int64_t time_ns, const char *text);
void run_set_open_span(struct run *run, const struct record *record);
void run_clear_open_spans(struct run *run, uint16_t lane);
void run_release_published(struct run *run);

#endif
