/* run.h: one published run (a region; a rank): epochs, batches, operations, state. Read by rules, views and reports;
 * written by the model only.
 *
 * Definitions: src/README.md. Seconds are doubles, unknown is NAN, times are pmtop's CLOCK_MONOTONIC. Pointers into a
 * run are valid until the next model_apply. */
#ifndef PMTOP_MODEL_RUN_RUN_H
#define PMTOP_MODEL_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/batch_window/batch_window.h"
#include "src/model/requests/requests.h"
#include "src/model/statistics/series.h"
#include "src/model/statistics/statistics.h"
#include "src/samples/sample_set.h"

enum {
	RUN_PHASES_MAX = 16, /* phases kept per batch; further ones are summed into unattributed time and counted */
	RUN_TRACKS_MAX = 8,
	RUN_KINDS_MAX = 8, /* per track; batches of further kinds count as the usual ones */
	RUN_RECENT = 200,  /* what `recent{}` and the screen's titles cover */
	RUN_FLAGGED_MAX = 1000,
	RUN_BATCH_FIGURES_MAX = 6, /* kept per batch */
	RUN_LATE_FIGURES_MAX = 64,
	RUN_MARKS_MAX = 64,
	COUNTER_POINTS_MAX = 16,
};

/* Name ids of the run's own rows, beside the published ones (1…). As a mode, NAME_NONE is training: nothing published,
 * and "train", are the same. */
#define NAME_NONE 0u
#define NAME_UNATTRIBUTED 0xfffffffeu
#define NAME_BETWEEN 0xfffffffdu

struct phase_time {
	uint32_t name, parent; /* parent NAME_NONE = outermost */
	float seconds;
	float cpu_s;        /* NAN where not published */
	float memory_bytes; /* NAN where not published */
};

/* One batch and its step. Unattributed and between are phases like others (outermost), so a finished step's outermost
 * phases sum to it. A batch of which events were lost has a step of NAN, is not judged, and has the phases that were
 * seen without those two rows. */
struct batch {
	/* What is gone through for hundreds of batches lies together. */
	uint64_t ordinal;                       /* 0… in its track, since the start of the run */
	double step_s;                          /* begin to next begin in the epoch, else batch_s; NAN while not known */
	double samples;                         /* NAN = not known */
	bool is_warmup, is_flagged, is_by_hand; /* by hand: flagged or unflagged by a person; wins over the rule */
	bool has_evidence;
	bool is_paced, is_by_device; /* by device: flagged for what the device took, not the host */
	/* the host had waited for the device in the one before, which so had nothing left to do */
	bool is_after_wait;
	uint32_t kind;                         /* name id, known at its end; NAME_NONE = the usual */
	unsigned phase_count, phases_left_out; /* left out: spans for which there was no row */
	double batch_s;                        /* begin to end; NAN while running */
	/* where is_paced: see batch_pace_s; and how long the host kept the device waiting in it */
	double paced_s, stall_s;
	int64_t begin_ns, end_ns; /* of the batch; end 0 = still running */

	uint64_t number; /* 0… in the run, all modes, as published */
	uint64_t index;  /* as published, in its epoch */
	/* 1… among the batches from one optimizer step to the next, this included; 0 = not known, or not accumulated */
	uint32_t place;
	/* index as published; of a batch between epochs that is not of mode train, the one before */
	uint32_t epoch;
	uint32_t epoch_ordinal; /* 1…; 0 = in no epoch */
	unsigned figure_count;  /* told later; all but the loss */
	double loss;            /* NAN = none */
	double resident_bytes;  /* target's resident set about its end; NAN = not sampled */
	double allocated_bytes; /* by the GPU's allocator about its end; NAN = not published */
	double median_s, mad_s; /* of its kind when it was judged; NAN = not judged */
	struct {
		uint32_t name;
		float value;
	} figures[RUN_BATCH_FIGURES_MAX];
	struct evidence evidence;
	struct phase_time phases[RUN_PHASES_MAX];
};

/* What a batch took of the run's time: its step; where a device works behind the host (the figure gpu.batch_s is
 * published) what the device worked for it and waited for the host, for then one step waits for the work of many.
 * Batches are judged by it. */
static inline double batch_pace_s(const struct batch *batch)
{
	return batch->is_paced ? batch->paced_s : batch->step_s;
}

/* Batches of one kind; they are judged among themselves. */
struct batch_kind {
	uint32_t kind;          /* name id; NAME_NONE = the usual one */
	uint64_t count;         /* finished steps since pmtop attached, or in the ring at attach */
	double median_s, p95_s; /* of the last `flag_window` of them, without the warm-up; NAN */
};

/* What is usual for a batch: medians over the window before it (`flag_window` finished steps of its kind, without it
 * and without the warm-up). A phase that a batch does not have counts as 0 there; phases that fewer than half of them
 * have are not usual and have no row. */
struct baseline {
	size_t batches;         /* how many it is made of; 0 = nothing is known */
	double step_s, batch_s; /* step: the pace (batch_pace_s) */
	unsigned phase_count, figure_count;
	struct phase_time phases[RUN_PHASES_MAX];
	/* of those told later that the batch itself has */
	struct {
		uint32_t name;
		float value;
	} figures[RUN_BATCH_FIGURES_MAX];
	struct evidence evidence; /* NAN where no batch had it */
};

/* A flagged batch, kept beyond the ring with what was usual then. */
struct explanation; /* explanation.h */

struct flagged {
	uint32_t mode;
	struct batch batch;
	struct baseline baseline;
	struct batch_window *batch_window; /* NULL: not known yet, or no sampler saw its window */
	bool is_batch_window_settled;      /* no more will become known */
	/* explain_flagged()'s; NULL until it ran. has_news: what it rests on has changed since. */
	struct explanation *explanation;
	bool has_news;
	uint8_t followers;
};

struct figures { /* count and mean 0/NAN while nothing is there */
	uint64_t count;
	double total_s, mean_s, min_s, max_s, last_s, p50_s, p95_s;
};

struct operation {
	uint32_t name, parent, mode;
	unsigned depth;
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, mean_s;
	double p50_s, p95_s;        /* NAN where the region kept no histogram */
	double cpu_s, memory_bytes; /* NAN where not published; memory: growth of the resident set, summed */
	/* what lies in steps, of their total time of its mode; NAN for lanes that run no batches, and outside of steps */
	double share_ratio;
	/* of those of the last 200 batches that had it, renewed once a second; NAN where it was in none */
	double recent_median_s;
};

/* What the framework's allocator holds on the GPU, as published (gauges cuda.*); NAN = not. */
struct allocator {
	double allocated_bytes, reserved_bytes, peak_bytes;
};

/* What became known of batches only later ("gpu.forward_s", by a clock that is not the host's), since pmtop attached,
 * or in the ring at attach. */
struct late_figure {
	uint32_t name, mode;
	uint64_t count;
	double last, mean, median; /* median: of the last 200 */
};

/* A late figure's name in words, and its unit: "gpu.forward_s" is "forward (GPU clock)", in seconds. */
enum figure_unit { FIGURE_NUMBER, FIGURE_SECONDS, FIGURE_BYTES, FIGURE_RATIO };
enum figure_unit late_figure_label(char *out, size_t size, const char *name);

struct counter {
	uint32_t name;
	double total;
	double rate_per_s;    /* between the oldest and the newest of the points; NAN while there is one */
	unsigned point_count; /* when it was seen to grow, at least a second apart */
	struct {
		int64_t time_ns;
		double total;
	} points[COUNTER_POINTS_MAX];
};

struct epoch {
	uint32_t index, ordinal; /* as published; 1… */
	uint32_t mode;
	int64_t begin_ns, end_ns;    /* end 0 = still running */
	uint64_t batches;            /* finished, of its mode */
	double total_s;              /* begin to end, or to now */
	double mean_s, min_s, max_s; /* of its batch times */
	struct allocator allocator;  /* when it ended */
};

/* All batches of one mode.
 *
 * Warm-up: the run's first batch, and each of its first `warmup_max` that follows without a break among those of its
 * kind and whose step is more than `flag_ratio` times the median of the ten steps of its kind after those. It is
 * decided with the track's step number `warmup_max` + 10. Until then is_warmup and `judged` are provisional (where
 * there are not three steps after those yet, a step is held against the ones after itself), and nothing is flagged.
 * Flagged: see src/README.md; of an inferred run, none where the median step is shorter than RUN_COUNTED_SINGLY_S. */
struct track {
	uint32_t mode;              /* name id, NAME_NONE = nothing published, or "train" */
	uint64_t count;             /* finished since the start of the run */
	struct figures batch, step; /* whole run: counts, means and extremes exact, quantiles within 2 % */
	struct figures judged;      /* steps without the warm-up, since pmtop attached or from the ring */
	struct figures recent;      /* paces, exact, of the last 200 */
	double rate_per_s;          /* batches a second over the last 200 steps; NAN */
	double samples_per_s;
	double loss; /* of its newest batch that has one; NAN */
	/* finished since batches of another mode; pass_before: in the whole pass before, 0 = none was seen from its
	 * begin */
	uint64_t pass_count;
	uint64_t pass_before;
	double slow_first_s;      /* the run's first batch; NAN where it is gone */
	uint32_t slow_first_kind; /* its kind; NAME_BETWEEN (which no kind is) where that is gone */
	unsigned kind_count;      /* the usual one first, whether there are any or not */
	struct batch_kind kinds[RUN_KINDS_MAX];
	uint64_t flagged_count; /* since pmtop attached, or in the ring at attach */
	/* private to the model from here on, read through the calls below */
	struct batch *ring;
	size_t capacity;
	/* ordinals kept: first ≤ ordinal < end; the last may be running; some may be missing (lost) */
	uint64_t first, end;
	struct track_private *private;
};

struct bin {
	uint64_t first, count;
	double sum_s, min_s, max_s;
	int64_t begin_ns;
};

struct open_span {
	uint16_t lane;
	uint32_t name;
	unsigned depth;
	int64_t begin_ns;
};

/* Shorter batches of a counted run have the mean of their neighbours as their time. */
#define RUN_COUNTED_SINGLY_S 0.1

struct run {
	bool is_used, is_live;
	unsigned id; /* as in the records */
	int32_t pid, inner_pid;
	/* it publishes nothing: its batches were counted from outside, and nothing else of them is known */
	bool is_counted;
	char name[128], uuid[33], abi[16];
	char rank[16], world[16]; /* meta RANK / WORLD_SIZE, or empty */
	char ended[96];           /* why it ended; empty while it lives */
	int64_t start_ns;
	struct run_state state;
	double loss,
		loss_trend; /* the main track's last; trend −1, 0, +1 (Theil–Sen's interval below, across or above 0) over the
					 * last 200 batches, renewed once a second; NAN while fewer than 20 of them have a loss */
	unsigned track_count;
	struct track tracks[RUN_TRACKS_MAX];
	unsigned main_track;   /* mode "train", or where that never occurred, the current mode */
	unsigned newest_track; /* of the batch that ended last */
	/* Whole run, from its first batch: merged bins of step times, oldest first. */
	size_t bin_count;
	struct bin *bins;
	size_t epoch_count;
	struct epoch *epochs; /* oldest first; the last may be running */
	uint64_t epochs_dropped;
	size_t operation_count;
	struct operation *operations; /* depth first, children under their parent; unattributed and between as rows */
	size_t flagged_count;
	struct flagged *flagged; /* oldest first, at most RUN_FLAGGED_MAX */
	size_t meta_count;
	struct {
		char *key, *value;
	} * meta;
	size_t gauge_count;
	struct {
		uint32_t name;
		double value;
		struct series *series;
	} * gauges;
	size_t counter_count;
	struct counter *counters;
	size_t late_figure_count;
	struct late_figure late_figures[RUN_LATE_FIGURES_MAX];
	size_t open_span_count;
	struct open_span open_spans[32];
	size_t mark_count; /* the newest ones; marks_dropped: how many there were before them */
	uint64_t marks_dropped;
	struct {
		int64_t time_ns;
		char text[120];
	} marks[RUN_MARKS_MAX];
	uint64_t lost_events, before_attach_events, refused_events;
	uint64_t refused_for[REFUSAL_COUNT]; /* refusals.h */
	struct requests *requests;           /* requests.h; NULL: none was seen */
	/* NAN while unknown; ETA counts validation and checkpoints */
	double epoch_done_ratio, epoch_eta_s, run_done_ratio, run_eta_s;
	/* private */
	struct run_private *private;
};

/* "forward", "unattributed", "between" (or the phase that the meta key `between` names), …; NAME_NONE, which only a
 * mode has: "train". Never NULL. */
const char *run_name(const struct run *run, uint32_t id);
const char *run_meta(const struct run *run, const char *key); /* NULL: not published */
const struct track *run_main(const struct run *run);          /* never NULL; may be empty */
/* Which of the main mode's epochs the one with this ordinal is, or comes after: 1 and up; epochs of other modes do not
 * count. */
uint32_t run_epoch_number(const struct run *run, uint32_t ordinal);
/* NULL: that batch is not flagged. */
const struct flagged *run_find_flagged(const struct run *run, uint32_t mode, uint64_t ordinal);
const struct track *run_track_of(const struct run *run, uint32_t mode); /* NULL: no batch of it was seen */
/* batches an optimizer step, as published (meta `accumulation`); 0 = not, or 1 */
unsigned run_accumulation(const struct run *run);
/* Where a track has batches of several kinds: "accumulate"; of the usual ones "step" where others accumulate gradients,
 * else "usual". NULL where all are of one kind. */
const char *track_kind_name(const struct run *run, const struct track *track, uint32_t kind);
/* The kind's place in track->kinds, 0 where it has none. */
unsigned track_kind(const struct track *track, uint32_t kind);
/* False: never published. `series` may be NULL. */
bool run_gauge(const struct run *run, const char *name, double *value, const struct series **series);
struct allocator run_allocator(const struct run *run);
const struct counter *run_counter(const struct run *run, const char *name); /* NULL: never published */
/* NULL where it is no longer (or not yet) kept. */
const struct batch *track_batch(const struct track *track, uint64_t ordinal);
/* As published with the batch, later; NAN. */
double batch_figure(const struct run *run, const struct batch *batch, const char *name);
/* What was usual for the batch with this ordinal. */
void track_baseline(const struct track *track, uint64_t ordinal, struct baseline *out);

/* Where a step goes, over the newest `last` finished steps (without the warm-up, if there are others), depth first. */
struct phase_row {
	uint32_t name, parent;
	unsigned depth;
	/* median: over batches of the kinds that have it; share: sum of the phase ÷ sum of the steps */
	double median_s, share_ratio;
	double cpu_s; /* median; NAN */
};
size_t track_phases(const struct track *track, size_t last, struct phase_row *out, size_t max, size_t *batches);

#endif
