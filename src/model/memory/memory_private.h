/* memory_private.h: what the memory files keep between refreshes. memory.c reads the tree and samples it;
 * memory_parts.c says what it is made of and who grows; memory_verdict.c judges; memory_limits.c looks ahead;
 * memory_spikes.c watches for what falls back at once. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_PRIVATE_H
#define PMTOP_MODEL_MEMORY_MEMORY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREND_SAMPLES_MAX = 600, GROWTH_POINTS_MAX = 24, BASELINE_POINTS = 32 };

struct memory;
struct model;

/* Views of the same pages are never added up where growth is judged. */
#define MEMORY_PARTS(X) \
	X(ANONYMOUS)  /* of all processes, swapped out or not; of a child, what it has beyond what it was born with: that \
					 is its parent's */ \
	X(FILE)       /* mapped files: the largest view that a single process has */ \
	X(SHARED)     /* likewise */ \
	X(SHARED_SUM) /* the sum of all views: right where each process has its own */ \
	X(SHM) /* of /dev/shm what the run's processes have open or mapped, or had; all that is used where that is not \
			  known */ \
	X(SHM_OTHERS)      /* used of /dev/shm by others */ \
	X(GROUP_ANONYMOUS) /* of the cgroup, where the run owns it; and swapped out */ \
	X(GROUP_FILE)      /* likewise */ \
	X(GROUP_SHARED)    /* of the cgroup, whoever is in it */

enum memory_part {
#define MEMORY_PART_ID(id) PART_##id,
	MEMORY_PARTS(MEMORY_PART_ID)
#undef MEMORY_PART_ID
		PART_COUNT
};

struct memory_sample {
	int64_t time_ns;
	double batches;
	double part[PART_COUNT]; /* NAN = not known */
};

/* Which figures are the tree's memory; renewed with the slope. */
struct memory_basis {
	enum memory_part anonymous, shared, file;
};

/* The tree, at first eight times a second, later once; at most the last ten minutes then. */
struct memory_trend {
	size_t count;
	int64_t interval_ns, renewed_ns;
	int64_t base_for_ns; /* the end of the warm-up that growth_since_ns was found for; −1 = none */
	struct memory_sample base, now;
	struct memory_basis basis;
	struct memory_sample samples[TREND_SAMPLES_MAX];
};

/* What one process has had: thinned to a point every 32 s at most, and then the newest ones. */
struct process_growth {
	bool has_born;
	double born_bytes; /* anonymous, when it was first read; 0 for the target */
	unsigned count;
	int64_t interval_ns;
	struct {
		int64_t time_ns;
		double bytes;
	} points[GROWTH_POINTS_MAX];
};

/* The median of the last readings is what is usual. */
struct memory_spikes {
	struct rolling *baseline;
	int64_t since_ns; /* 0 = not in one */
	double baseline_bytes, high_bytes, peak_bytes;
	int64_t times_ns[16]; /* of the newest, a ring */
	uint64_t count;
};

/* -- memory_parts.c -- */
void memory_take_parts(struct model *model, struct memory_sample *out);
/* Once a second. */
void memory_note_processes(struct model *model);
void memory_choose_basis(struct model *model, size_t from);
/* What growth has to exceed. */
double memory_noticeable(const struct memory *memory);
/* What cannot be taken back by the kernel: anonymous and shared. NAN where a part is not known. */
double memory_retained(const struct memory_sample *sample, struct memory_basis basis);
double memory_cached(const struct memory_sample *sample, struct memory_basis basis);
/* Between the means of the first and of the last eighth of the samples from there on. */
double memory_part_growth(const struct memory_trend *trend, size_t from, enum memory_part part);
/* Who grew the most since the sample; forgets it where nobody did by that much. */
void memory_attribute(struct model *model, size_t from, double noticeable_bytes);

/* -- memory_verdict.c: slope, its interval, the verdict, over the samples from there on -- */
void memory_judge(struct model *model, size_t from);
void memory_forget_slope(struct model *model);

/* -- memory_limits.c -- */
void memory_find_limit(struct model *model);

/* -- memory_spikes.c -- */
void memory_watch_spikes(struct model *model, bool is_warm);

#endif
