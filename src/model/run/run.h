/* run.h: one published run (a region, which is a rank): epochs, batches, operations, state. Rules, views and reports
 * read it; only the model writes it.
 *
 * src/README.md has the definitions. Seconds are doubles, NAN = unknown, times are pmtop's CLOCK_MONOTONIC. Pointers
 * into a run are valid until the next model_apply. */
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
	RUN_PHASES_MAX = 16, /* phases retained per batch; further ones count as unattributed time, and are counted */
	RUN_TRACKS_MAX = 8,
	RUN_KINDS_MAX = 8, /* per track; batches of further kinds count as the default kind */
	RUN_RECENT = 200,  /* number of batches in `recent{}` and on screens */
	RUN_FLAGGED_MAX = 1000,
	RUN_BATCH_FIGURES_MAX = 6, /* retained per batch */
	RUN_LATE_FIGURES_MAX = 64,
	RUN_MARKS_MAX = 64,
	RUN_EPOCH_NAME_SIZE = 12,
	COUNTER_POINTS_MAX = 16,
};

/* Name ids of pmtop's own rows; published ids start at 1. As a mode, NAME_NONE is training: no mode and "train" are the
 * same. */
#define NAME_NONE 0u
#define NAME_UNATTRIBUTED 0xfffffffeu
#define NAME_BETWEEN 0xfffffffdu
#define NAME_SAMPLED 0xffffff00u /* plus an enum code_phase: a phase known from stack samples */

static inline bool name_is_sampled(uint32_t name) { return name >= NAME_SAMPLED && name < NAME_BETWEEN; }

struct phase_time {
	uint32_t name, parent; /* parent NAME_NONE = outermost */
	float seconds;
	float cpu_s;        /* NAN where not published */
	float memory_bytes; /* NAN where not published */
};

/* One batch and its step. Unattributed and between are outermost phases too, so the outermost phases of a completed
 * step add up to it. If events of a batch were lost, step_s is NAN, the batch is not judged, and it has only the phases
 * that were seen, without these two. */
struct batch {
	/* Members read for hundreds of batches come first, to share cache lines. */
	uint64_t ordinal;                       /* number in its track, from 0 at the start of the run */
	double step_s;                          /* begin to next begin in the epoch, else batch_s; NAN = not known yet */
	double samples;                         /* NAN = unknown */
	bool is_warmup, is_flagged, is_by_hand; /* by_hand: flagged or unflagged by a person, which overrides the rule */
	bool has_evidence;
	bool is_paced, is_by_device; /* by_device: flagged for the device's time, not the host's */
	/* the host waited for the device in the previous batch, so the device's queue was empty */
	bool is_after_wait;
	uint32_t kind;                         /* name id, known at its end; NAME_NONE = the default kind */
	unsigned phase_count, phases_left_out; /* left_out: spans without a free row */
	uint32_t phases_behind;                /* bit i: most of phases[i] lies after the batch's end */
	double batch_s;                        /* begin to end; NAN while running */
	/* only if is_paced: see batch_pace_s; and the time in which the device was idle, waiting for the host */
	double paced_s, stall_s;
	int64_t begin_ns, end_ns; /* of the batch; end 0 = still running */

	uint64_t number; /* number in the run, all modes, from 0, as published */
	uint64_t index;  /* as published, in its epoch */
	/* position in the gradient accumulation, from 1 to the batch with the optimizer step; 0 = unknown, or none */
	uint32_t micro_batch;
	/* index as published, or EPOCH_UNKNOWN; for a batch between epochs with a mode other than train, the previous
	 * epoch's */
	uint32_t epoch;
	uint32_t epoch_ordinal; /* from 1; 0 = in no epoch */
	unsigned figure_count;  /* figures published later, except the loss */
	double loss;            /* NAN = none */
	double resident_bytes;  /* resident set of the run's process near its end; NAN = not sampled */
	double allocated_bytes; /* of the GPU allocator near its end; NAN = not published */
	double median_s, mad_s; /* of its kind, when it was judged; NAN = not judged */
	struct {
		uint32_t name;
		float value;
	} figures[RUN_BATCH_FIGURES_MAX];
	struct evidence evidence;
	struct phase_time phases[RUN_PHASES_MAX];
};

/* The time by which batches are judged: the step. If the device runs asynchronously (the figure gpu.batch_s is
 * published), it is the device's work for the batch plus its idle time, because then one step may wait for the work of
 * many. */
static inline double batch_pace_s(const struct batch *batch)
{
	return batch->is_paced ? batch->paced_s : batch->step_s;
}

/* Batches of one kind, which are judged against each other. */
struct batch_kind {
	uint32_t kind;          /* name id; NAME_NONE = the default kind */
	uint64_t count;         /* completed steps since pmtop attached, including those in the ring at attach */
	double median_s, p95_s; /* over the last `flag_window` of them, without the warm-up; NAN = unknown */
};

/* The baseline of a batch: medians over the `flag_window` completed steps of its kind before it, without the warm-up. A
 * missing phase counts as 0. Phases present in less than half of the batches have no row. */
struct baseline {
	size_t batches;         /* number of batches in it; 0 = unknown */
	double step_s, batch_s; /* step: the pace (batch_pace_s) */
	unsigned phase_count, figure_count;
	struct phase_time phases[RUN_PHASES_MAX];
	/* late figures that the batch itself has */
	struct {
		uint32_t name;
		float value;
	} figures[RUN_BATCH_FIGURES_MAX];
	struct evidence evidence; /* NAN if no batch had it */
};

/* A flagged batch with its baseline, retained after it left the ring. */
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

struct figures { /* count 0 and others NAN while empty */
	uint64_t count;
	double total_s, mean_s, min_s, max_s, last_s, p50_s, p95_s;
};

struct operation {
	uint32_t name, parent, mode;
	unsigned depth;
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, mean_s;
	double p50_s, p95_s;        /* NAN if the region has no histogram */
	double cpu_s, memory_bytes; /* NAN if not published; memory_bytes: growth of the resident set, summed */
	/* share of its time within steps in the total step time of its mode; NAN outside of steps, and in lanes without
	 * batches */
	double share_ratio;
	/* over those of the last 200 batches that had it, renewed once per second; NAN if none had it */
	double recent_median_s;
};

/* GPU memory of the framework's allocator, as published (gauges cuda.*); NAN = not published. */
struct allocator {
	double allocated_bytes, reserved_bytes, peak_bytes;
};

/* A figure of batches that is published later ("gpu.forward_s", measured on the GPU's clock), since pmtop attached,
 * including those in the ring at attach. */
struct late_figure {
	uint32_t name, mode;
	uint64_t count;
	double last, mean, median; /* median: over the last 200 */
};

/* Writes a late figure's label and returns its unit: "gpu.forward_s" is "forward (GPU clock)", in seconds. */
enum figure_unit { FIGURE_NUMBER, FIGURE_SECONDS, FIGURE_BYTES, FIGURE_RATIO };

struct counter {
	uint32_t name;
	double total;
	double rate_per_s;    /* between the oldest and the latest point; NAN with fewer than two */
	unsigned point_count; /* readings at which it had grown, at least one second apart */
	struct {
		int64_t time_ns;
		double total;
	} points[COUNTER_POINTS_MAX];
};

struct epoch {
	uint32_t index, ordinal; /* as published, or EPOCH_UNKNOWN; from 1 */
	uint32_t mode;
	int64_t begin_ns, end_ns;    /* end 0 = still running */
	uint64_t batches;            /* completed, of its mode */
	double total_s;              /* from its begin to its end, or to now */
	double mean_s, min_s, max_s; /* of its batch times */
	struct allocator allocator;  /* when it ended */
	uint64_t planned;            /* batches, when it ended; 0 = unknown */
};

/* All batches of one mode.
 *
 * Warm-up: the run's first batch, and of its first `warmup_max` batches the leading ones of each kind whose step
 * exceeds `flag_ratio` times the median of the ten steps of that kind after the first `warmup_max`. It is final after
 * `warmup_max` + 10 steps of the track. Until then is_warmup and `judged` are provisional (with fewer than three later
 * steps, a step is compared with the steps after itself), and nothing is flagged. Flagging: see src/README.md. Inferred
 * runs with a median step below RUN_COUNTED_SINGLY_S have no flagged batches below RUN_COUNTED_SLOW_S. */
struct track {
	uint32_t mode;              /* name id, NAME_NONE = no mode, or "train" */
	uint64_t count;             /* finished since the start of the run */
	struct figures batch, step; /* whole run: exact, except quantiles, which are within 2 % */
	struct figures judged;      /* steps without the warm-up, since pmtop attached, including the ring */
	struct figures recent;      /* paces of the last 200, exact */
	double rate_per_s;          /* batches/s over the last 200 steps; NAN = unknown */
	double samples_per_s;
	double loss; /* of its latest batch with a loss; NAN = none */
	/* batches completed since the last batch of another mode; pass_before: in the previous complete pass, 0 = none was
	 * seen from its begin */
	uint64_t pass_count;
	uint64_t pass_before;
	double slow_first_s;      /* step of the run's first batch; NAN = no longer known */
	uint32_t slow_first_kind; /* its kind; NAME_BETWEEN (which is no kind) = no longer known */
	unsigned kind_count;      /* the default kind is always first */
	struct batch_kind kinds[RUN_KINDS_MAX];
	uint64_t flagged_count; /* since pmtop attached, or in the ring at attach */
	/* private to the model from here on, read through the functions below */
	struct batch *ring;
	size_t capacity;
	/* retained ordinals: first ≤ ordinal < end. The last may be running; some may be missing (lost) */
	uint64_t first, end;
	struct track_private *priv;
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

/* Shorter batches of an inferred run have the mean of adjacent batches as their time. */
#define RUN_COUNTED_SINGLY_S 0.1
#define RUN_COUNTED_SLOW_S 0.2 /* but one of at least this has its own */

struct run {
	bool is_used, is_live;
	unsigned id; /* as in the records: record.run */
	int32_t pid, inner_pid;
	/* an inferred run: not instrumented, only its batches are known */
	bool is_counted;
	bool has_loop_epochs; /* epochs and lengths are those of a loop in its process: loop_epochs.h */
	char name[128], uuid[33], abi[16];
	char rank[16], world[16]; /* meta RANK / WORLD_SIZE, or empty */
	bool is_rank_guessed;     /* meta rank.certain is "no" */
	bool is_rank_apart;       /* meta rank.apart is "yes": it waits for no other, as far as is known */
	char ended[96];           /* why it ended; empty while it lives */
	bool has_ended_orderly;   /* it said so itself */
	int64_t start_ns;
	struct run_state state;
	double loss,
		loss_trend; /* the main track's last; trend −1, 0, +1 (Theil–Sen's interval below, across or above 0) over the
					 * last 200 batches, renewed once a second; NAN while fewer than 20 of them have a loss */
	unsigned track_count;
	struct track tracks[RUN_TRACKS_MAX];
	unsigned main_track;   /* mode "train", or, if that never occurred, the current mode */
	unsigned newest_track; /* track of the batch that ended last */
	/* Merged bins of step times over the whole run, oldest first. */
	size_t bin_count;
	struct bin *bins;
	size_t epoch_count;
	struct epoch *epochs; /* oldest first; the last may be running */
	uint64_t epochs_dropped;
	size_t operation_count;
	struct operation *operations; /* depth first, children follow their parent; includes unattributed and between */
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
	size_t mark_count; /* the latest ones; marks_dropped: number of earlier ones */
	uint64_t marks_dropped;
	struct {
		int64_t time_ns;
		char text[120];
	} marks[RUN_MARKS_MAX];
	uint64_t lost_events, before_attach_events, refused_events;
	uint64_t refused_for[REFUSAL_COUNT]; /* refusals.h */
	struct requests *requests;           /* requests.h; NULL: no requests */
	/* Batches of an epoch: as planned, or as many as the epoch before had if it ended before its plan did. 0 = unknown.
	 */
	uint64_t epoch_length;
	/* NAN = unknown; the ETA includes validation and checkpoints */
	double epoch_done_ratio, epoch_eta_s, run_done_ratio, run_eta_s;
	/* private */
	struct run_private *priv;
};

/* "forward", "unattributed", "between" (or the phase named by the meta key `between`), …; NAME_NONE is "train", which
 * only a mode can be. Never NULL. */
const char *run_name(const struct run *run, uint32_t id);
const char *run_meta(const struct run *run, const char *key); /* NULL: not published */

/* Of a run without instrumentation: what counts its steps (RUN_BY_LOADER, or the text of a loop), and where. */
#define RUN_BY_LOADER "torch DataLoader"
#define RUN_INFERRED "inferred." /* keys of meta that only run_inferred reads */
struct inferred {
	const char *what, *file; /* NULL: unknown; what: the run publishes its steps */
	unsigned line;           /* 0 = unknown */
	bool is_certain;         /* false: chosen by time, or counted by a variable */
	bool is_chosen;          /* by a person, with --loop or on the screen */
	bool is_at_least;        /* batches may have been missed: the counts are lower bounds */
};
struct inferred run_inferred(const struct run *run);
/* Whether pmtop may have missed batches of this epoch: of such a run, one that has not had all that were planned. */
bool run_epoch_is_at_least(const struct run *run, const struct epoch *epoch);
/* The same of all batches of a mode: where pmtop infers the steps, a short pass that validates may begin and end
 * between two samples. */
bool run_track_is_at_least(const struct run *run, const struct track *track);
const struct track *run_main(const struct run *run); /* never NULL; may be empty */
bool run_has_content(const struct run *run);         /* batches, spans or requests */
/* The number, from 1, of the main mode's epoch with this ordinal, or of the last one before it; epochs of other modes
 * do not count. 0 = unknown: pmtop joined the run in a later epoch, or the loop that numbers passes is awaited. */
uint32_t run_epoch_number(const struct run *run, uint32_t ordinal);
/* The same, also while that loop is awaited. */
uint32_t run_published_number(const struct run *run, uint32_t ordinal);
/* The same, "–" if unknown. */
const char *run_epoch_name(const struct run *run, uint32_t ordinal, char out[RUN_EPOCH_NAME_SIZE]);
/* Whether one has begun, or is planned. */
bool run_has_epochs(const struct run *run);
/* How many batches the run has by what counts its steps beside its epochs, and *before: those before pmtop counted. 0 =
 * unknown. */
uint64_t run_whole(const struct run *run, uint64_t *before);
/* How many batches a run without epochs, or one whose steps are counted to its end, will have; 0 = unknown. */
uint64_t run_batches_planned(const struct run *run);
const struct track *run_track_of(const struct run *run, uint32_t mode); /* NULL: no batch of it was seen */
/* batches an optimizer step, as published (meta `accumulation`); 0 = not, or 1 */
unsigned run_accumulation(const struct run *run);
/* The name of a kind: "accumulate"; the default kind is "step" if others accumulate gradients, else "usual". NULL if
 * all batches are of one kind. */
const char *track_kind_name(const struct run *run, const struct track *track, uint32_t kind);
/* The kind's index in track->kinds; 0 if it is not there. */
unsigned track_kind(const struct track *track, uint32_t kind);
/* False: never published. `series` may be NULL. */
bool run_gauge(const struct run *run, const char *name, double *value, const struct series **series);
struct allocator run_allocator(const struct run *run);
const struct counter *run_counter(const struct run *run, const char *name); /* NULL: never published */
/* A late figure of the batch; NAN = not published. */
double batch_figure(const struct run *run, const struct batch *batch, const char *name);

/* Phases of a step, over the latest `last` completed steps (without the warm-up, if there are others), depth first. */
struct phase_row {
	uint32_t name, parent;
	unsigned depth;
	/* median_s: over batches of the kinds that have the phase; share_ratio: its sum ÷ the sum of the steps */
	double median_s, share_ratio;
	double cpu_s; /* median; NAN */
};

#endif
