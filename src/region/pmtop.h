/* pmtop.h: publishes a training run, so that `pmtop -p PID` can show it live. One header, libc only, C11 and C++17,
 * Linux.
 *
 *     #define PMTOP_IMPLEMENTATION           in exactly one file, before anything else is included
 *     #include <pmtop.h>
 *
 *     struct pmtop *pm = pmtop_open("resnet", NULL);
 *     pmtop_plan(pm, 50, 1000, 32);
 *     for (uint32_t e = 0; e < 50; e++) {
 *             pmtop_epoch_begin(pm, e);
 *             for (uint64_t b = 0; b < 1000; b++) {
 *                     pmtop_batch_begin(pm, b);
 *                     PMTOP_SPAN(pm, "forward") { loss = forward(); }
 *                     PMTOP_SPAN(pm, "backward") { backward(); }
 *                     pmtop_batch_end(pm, loss);
 *             }
 *             pmtop_epoch_end(pm);
 *     }
 *     pmtop_close(pm);
 *
 * All functions accept NULL, return immediately and report no errors: calls that cannot be published are counted. After
 * pmtop_open nothing is allocated and no file is written. All functions are thread-safe. They may be called in a signal
 * handler: if it interrupted another call, its own is refused and counted. A forked child publishes into its own
 * region; a vfork child must not publish. See pmtop.h(3), and pmtop-region(7) for the format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PMTOP_H
#define PMTOP_H

#if defined PMTOP_IMPLEMENTATION && !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pmtop;

/* All zero, or PMTOP_OPTIONS_INIT, is the default. */
struct pmtop_options {
	/* sizeof(struct pmtop_options), so that later versions can add to it; 0 = as of version 1.0 */
	size_t size;
	/* threads that publish at the same time; 0 = 16, at most 255. One more lane is reserved for a thread that begins
	 * batches or epochs */
	uint32_t lanes;
	uint32_t slots; /* events retained per lane; 0 = 1,024; rounded up to a power of two, at most 65,536 */
	/* (lane, mode, span, parent) with full statistics, 4 KiB each; 0 = 256, at most 16,384 */
	uint32_t totals;
	uint32_t names; /* different names; 0 = 1,024, at most 65,536 */
	/* 1: do not read CPU time, faults and waits at the end of a batch (saves about 1.2 us per batch) */
	uint32_t no_evidence;
	uint32_t tell; /* 1: print one line to standard error, once, if publishing is impossible */
	/* a tmpfs; NULL = /dev/shm; "" = no file: the region ends with the process (for helpers such as DataLoader
	 * workers) */
	const char *directory;
	/* bins for the step times of the whole run, 64 bytes each; 0 = 4,096, which is the maximum; rounded up to a power
	 * of two */
	uint32_t history;
	uint32_t epochs; /* epochs retained, 64 bytes each; 0 = 1,024, which is the maximum */
};
#define PMTOP_OPTIONS_INIT \
	{ \
		sizeof(struct pmtop_options), 0, 0, 0, 0, 0, 0, NULL, 0, 0 \
	}

/* Returns NULL if publishing is impossible; all functions accept that. */
struct pmtop *pmtop_open(const char *run_name, const struct pmtop_options *options);
/* Removes the region. No other thread may be inside a call, and no thread may use `pm` afterwards. */
void pmtop_close(struct pmtop *pm);

/* The planned length of the run; 0 = unknown. */
void pmtop_plan(struct pmtop *pm, uint32_t epochs, uint64_t batches_per_epoch, uint64_t samples_per_batch);
/* Publishes a fact about the run ("RANK", "host"). The key "between" names the phase of the time between batches, such
 * as "data". */
void pmtop_meta(struct pmtop *pm, const char *key, const char *value);
/* Sets the mode ("validation", "test", ...) of what follows, and of a batch or an empty epoch in progress. "train" or
 * NULL is training, the default. "inference": each batch is a request, or, if no batches are published, each outermost
 * span ("GET /user/17"; pmtop shows numbers in names as a star, but the region holds few names, so publish "GET /user/"
 * and a star yourself). A span "error" in a request marks it as failed. */
void pmtop_mode(struct pmtop *pm, const char *mode);

void pmtop_epoch_begin(struct pmtop *pm, uint32_t epoch);
void pmtop_epoch_end(struct pmtop *pm);
void pmtop_batch_begin(struct pmtop *pm, uint64_t index);
void pmtop_batch_end(struct pmtop *pm, double loss); /* NAN = none */

/* For the batch in progress, before it ends: its number of samples, if not as planned; and its kind, if there are
 * several ("accumulate", "step"; "long"): batches are compared within their kind. */
void pmtop_batch_samples(struct pmtop *pm, uint64_t samples);
void pmtop_batch_kind(struct pmtop *pm, const char *kind);
/* Publishes a figure of an earlier batch: its "loss", or "gpu.forward_s" measured by a device's clock. `number` is from
 * pmtop_batch_number. */
void pmtop_batch_figure(struct pmtop *pm, uint64_t number, const char *name, double value);
/* The number in the run of the batch in progress, else of the next: from 0, all modes. */
uint64_t pmtop_batch_number(struct pmtop *pm);

/* Spans nest up to 32 deep, separately in each thread. Names longer than 120 bytes are cut. */
void pmtop_span_begin(struct pmtop *pm, const char *name);
void pmtop_span_end(struct pmtop *pm);

/* What a span can measure besides its time. */
#define PMTOP_NOTE_CPU 1u    /* the thread's CPU time; costs about 1.1 us per span */
#define PMTOP_NOTE_MEMORY 2u /* growth of the process's resident set; costs about 2.2 us per span */
void pmtop_span_begin_noting(struct pmtop *pm, const char *name, unsigned notes);
/* Publishes a span after its end, within the innermost open span. Times are in ns of CLOCK_MONOTONIC, as returned by
 * pmtop_now(). */
void pmtop_span_past(struct pmtop *pm, const char *name, uint64_t begin_ns, uint64_t end_ns);
uint64_t pmtop_now(void);
/* A span of a task that shares this thread with others, such as a coroutine. It is published after its end, independent
 * of the thread's open spans. */
struct pmtop_task_span {
	/* parent: name of the enclosing span; NULL or "" = none, or, with depth > 0, the thread's open span above that
	 * depth */
	const char *name, *parent;
	uint64_t begin_ns, end_ns;
	uint64_t inner_ns; /* time in its direct children */
	uint32_t depth;    /* number of enclosing spans */
};
void pmtop_span_of_task(struct pmtop *pm, const struct pmtop_task_span *span);

void pmtop_gauge(struct pmtop *pm, const char *name, double value); /* sets the current value */
void pmtop_count(struct pmtop *pm, const char *name, uint64_t add); /* adds to a total */
void pmtop_mark(struct pmtop *pm, const char *text);                /* "checkpoint saved" */

/* Statistics of the program's own run: completed batches and epochs of all modes. Times in seconds, NAN = none yet. */
struct pmtop_statistics {
	double total_epoch_time, avg_epoch_time;
	double total_batch_time, avg_batch_time, min_batch_time, max_batch_time;
	uint64_t num_batches, num_epochs;
};
void pmtop_get_statistics(struct pmtop *pm, struct pmtop_statistics *out);
/* Total time of all completed outermost spans, in seconds. */
double pmtop_get_total_time(struct pmtop *pm);
/* Total time of all completed spans of this name, in seconds; NAN = none. */
double pmtop_get_operation_time(struct pmtop *pm, const char *name);

/* PMTOP_SPAN(pm, "forward") { ... } publishes a span for the block, which may be left by break, return or a C++
 * exception. The name must be a literal; it is looked up once per call site. */
#define PMTOP_SPAN(pm, name) PMTOP_I_SPAN(pm, name, 0u, __COUNTER__)
#define PMTOP_SPAN_CPU(pm, name) PMTOP_I_SPAN(pm, name, PMTOP_NOTE_CPU, __COUNTER__)
#define PMTOP_SPAN_MEMORY(pm, name) PMTOP_I_SPAN(pm, name, PMTOP_NOTE_MEMORY, __COUNTER__)
#define PMTOP_SPAN_NOTING(pm, name, notes) PMTOP_I_SPAN(pm, name, notes, __COUNTER__)
#define PMTOP_GAUGE(pm, name, value) pmtop_gauge_at(pm, PMTOP_I_SITE, "" name, value)
#define PMTOP_COUNT(pm, name, add) pmtop_count_at(pm, PMTOP_I_SITE, "" name, add)

/* Used by the macros: a call site caches the number of its name, and the name table it belongs to. */
struct pmtop_site {
	uint64_t known;
};
struct pmtop_scope {
	struct pmtop *pm;
	int is_inside;
};
struct pmtop_scope pmtop_scope_begin(struct pmtop *pm, struct pmtop_site *site, const char *name, unsigned notes);
void pmtop_scope_end(struct pmtop_scope *scope);
void pmtop_gauge_at(struct pmtop *pm, struct pmtop_site *site, const char *name, double value);
void pmtop_count_at(struct pmtop *pm, struct pmtop_site *site, const char *name, uint64_t add);

#define PMTOP_I_SITE \
	(__extension__({ \
		static struct pmtop_site pmtop_i_site; \
		&pmtop_i_site; \
	}))
#define PMTOP_I_SPAN(pm, name, notes, number) PMTOP_I_SPAN_2(pm, name, notes, number)
#define PMTOP_I_SPAN_2(pm, name, notes, number) \
	for (struct pmtop_scope pmtop_i_scope_##number \
		 __attribute__((cleanup(pmtop_scope_end))) = pmtop_scope_begin(pm, PMTOP_I_SITE, "" name, notes); \
		 pmtop_i_scope_##number.is_inside; pmtop_i_scope_##number.is_inside = 0)

#ifdef __cplusplus
}
#endif
#endif /* PMTOP_H */

/* ---- The format of the region: pmtop-region(7)
 * ------------------------------------------------------------------------------- */
#if (defined PMTOP_LAYOUT || defined PMTOP_IMPLEMENTATION) && !defined PMTOP_LAYOUT_H
#define PMTOP_LAYOUT_H

/* Little-endian, fixed width, every field naturally aligned, no padding. Times are nanoseconds of CLOCK_MONOTONIC;
 * "bits" are those of an IEEE 754 double. Fields that change are stored by single aligned stores of their width. A
 * "sequence" is a seqlock: odd while the data it covers is written. Readers load it (acquire), copy, fence (acquire)
 * and load it again; the copy is valid if both loads are equal and even. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pmtop: the region is little-endian"
#endif
#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2 || __GCC_ATOMIC_INT_LOCK_FREE != 2
#error "pmtop: 64-bit atomics must be lock-free"
#endif
#ifndef __SIZEOF_INT128__
#error "pmtop: 64-bit machines only"
#endif

#define PMTOP_MAGIC "pmtop\r\n\x1a"
#define PMTOP_ABI_MAJOR 1u
#define PMTOP_ABI_MINOR 0u
#define PMTOP_ENDIAN 0x01020304u
#define PMTOP_CLOCK_MONOTONIC 1u
#define PMTOP_HEADER_SIZE 4096u
#define PMTOP_SECTIONS_MAX 100u
#define PMTOP_OPEN_SPANS 32u
#define PMTOP_NAME_LENGTH 120u /* maximum, without the NUL */
#define PMTOP_BINS 4096u
#define PMTOP_EPOCHS 1024u
#define PMTOP_METAS 64u
#define PMTOP_VALUES 256u /* gauges, and as many counters */
#define PMTOP_TALLIES 1024u
#define PMTOP_BUCKETS 962u
#define PMTOP_UNKNOWN UINT64_MAX /* in event payloads: unknown */

/* Readers skip unknown types. A section has `count` entries of `entry_size` bytes at `offset`; entries may be longer
 * than in this version. */
enum pmtop_section_type {
	PMTOP_SECTION_LANES = 1,  /* struct pmtop_lane, one per producing thread */
	PMTOP_SECTION_SLOTS,      /* struct pmtop_slot; count = lanes x a power of two, a lane's slots side by side */
	PMTOP_SECTION_NAMES,      /* struct pmtop_name; name n (from 1) is entry n - 1 */
	PMTOP_SECTION_NAME_BYTES, /* bytes; append-only */
	PMTOP_SECTION_STATE,      /* one struct pmtop_state */
	PMTOP_SECTION_META,       /* struct pmtop_meta_entry */
	PMTOP_SECTION_GAUGES,     /* struct pmtop_value: bits */
	PMTOP_SECTION_COUNTERS,   /* struct pmtop_value: a total */
	PMTOP_SECTION_TOTALS,     /* struct pmtop_total */
	PMTOP_SECTION_TALLIES,    /* struct pmtop_tally: keys that found no free total */
	PMTOP_SECTION_HISTORY,    /* struct pmtop_bin */
	PMTOP_SECTION_EPOCHS,     /* struct pmtop_epoch: the k-th epoch begun (from 1) is entry (k - 1) % count */
	PMTOP_SECTION_TYPES
};

struct pmtop_section {
	uint32_t type, entry_size;
	uint64_t offset, size, count;
};

/* Page 0: written once, before the region becomes visible. */
struct pmtop_header {
	char magic[8];
	uint32_t abi_major, abi_minor;
	uint32_t endian, header_size;
	uint64_t file_size;
	uint64_t compat_flags, incompat_flags; /* readers reject unknown incompatible flags */
	uint8_t uuid[16], parent_uuid[16], boot_id[16];
	int32_t pid; /* in the writer's pid namespace */
	uint32_t uid;
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0 = unknown */
	uint32_t clock_id, section_count;
	uint64_t start_ns, start_realtime_ns, start_boottime_ns; /* creation of the region, by three clocks read together */
	uint8_t reserved[96];
	struct pmtop_section sections[PMTOP_SECTIONS_MAX];
	uint8_t reserved_too[652];
	uint32_t crc; /* CRC32C (Castagnoli) of all bytes of the page before it */
};

/* Open spans, outermost first. */
struct pmtop_open {
	uint64_t begin_ns;
	uint32_t name, reserved;
};

/* Why a call was refused. Each refused call counts in pmtop_state.refused, and by reason in the first lane. */
enum pmtop_refusal {
	PMTOP_REFUSED_NO_LANE, /* more threads than lanes */
	PMTOP_REFUSED_DEEP,    /* more than PMTOP_OPEN_SPANS spans open */
	PMTOP_REFUSED_SIGNAL,  /* from a signal handler that interrupted another call */
	PMTOP_REFUSED_FULL,    /* no room for another name, value, fact or total */
	PMTOP_REFUSED_ORDER,   /* an end without its begin, a batch that never ended */
	PMTOP_REFUSED_BUSY,    /* another thread held a lock for too long */
	PMTOP_REFUSALS
};

struct pmtop_lane {
	uint64_t head;                      /* events written so far: the next has number `head` and slot head % slots */
	uint32_t owner_tid;                 /* 0 = free */
	uint32_t open_sequence, open_count; /* the sequence covers the begin of a span; its end only decrements the count */
	uint32_t refused[PMTOP_REFUSALS];   /* first lane only: of the whole region, by reason */
	uint8_t reserved[20];
	struct pmtop_open open[PMTOP_OPEN_SPANS];
};

/* A slot contains event number i if sequence == (uint32_t)(2 * i + 2); 2 * i + 1: it is being written. */
struct pmtop_slot {
	uint32_t sequence;
	/* type | bytes of payload << 16; words beyond them are PMTOP_UNKNOWN */
	uint32_t type_length;
	uint64_t time_ns;
	uint64_t name_mode; /* name | current mode << 32: a name, 0 = training */
	uint64_t payload[5];
};

/* The payload's words, by type; readers skip unknown types. time_ns is the time of the event; for a span, of its
 * end. */
enum pmtop_event_type {
	PMTOP_EVENT_EPOCH_BEGIN = 1, /* index as published | ordinal (1...) << 32 */
	PMTOP_EVENT_EPOCH_END,       /* the same; begin_ns */
	/* index as published; epoch index | epoch ordinal << 32; number of the batch in the run */
	PMTOP_EVENT_BATCH_BEGIN,
	/* (name: its kind, 0 = default) index; epoch index | epoch ordinal << 32; number of the batch in the run; loss
	 * (bits); begin_ns */
	PMTOP_EVENT_BATCH_END,
	PMTOP_EVENT_EVIDENCE, /* CPU ns; minor | major faults << 32; voluntary | involuntary switches << 32; run-queue wait
							 ns or PMTOP_UNKNOWN; blocks read | samples in the batch << 32 (0 = unknown) */
	PMTOP_EVENT_SPAN,     /* duration ns; self ns; parent | depth << 32; CPU ns or PMTOP_UNKNOWN;
							 growth of the resident set in bytes (signed) or PMTOP_UNKNOWN */
	PMTOP_EVENT_GAUGE,    /* value (bits) */
	PMTOP_EVENT_MARK,     /* name 0: `length` bytes of text; else the text is that name */
	PMTOP_EVENT_MODE,     /* (name: the new mode, 0 = training) */
	PMTOP_EVENT_FIGURE    /* (name: the figure) of an earlier batch: value (bits); number of the batch in the run */
};

struct pmtop_name {
	uint32_t offset, length;
}; /* offset in the name bytes; a NUL follows */

enum { PMTOP_IN_EPOCH = 1, PMTOP_IN_BATCH = 2, PMTOP_ENDED = 4 };

struct pmtop_state {
	/* under the sequence */
	uint32_t sequence, flags;
	uint32_t mode, epochs_planned;
	uint64_t batches_per_epoch, samples_per_batch;
	uint32_t epoch_index, epochs_begun;
	uint64_t epoch_begin_ns;
	uint64_t batch_index, batch_begin_ns; /* of the last one that began */
	uint64_t batches_in_epoch;            /* completed, of the epoch's mode */
	uint64_t batches;                     /* completed in the run, all modes */
	uint64_t loss_bits;                   /* of the last batch with a loss; NAN = none */
	char run_name[128];
	/* independent of each other; entries below a count are complete */
	uint32_t name_count, meta_count, gauge_count, counter_count, total_count, tally_count;
	uint32_t history_sequence, bin_count; /* the sequence covers a merge of adjacent bins */
	/* calls that could not be published: from a signal handler, no free lane, no room … */
	uint64_t refused;
};

struct pmtop_meta_entry {
	uint32_t sequence;
	uint16_t key_length, value_length;
	char key[56], value[192];
};

struct pmtop_value {
	uint32_t name, reserved;
	uint64_t value;
};

enum { PMTOP_TOTAL_BATCH, PMTOP_TOTAL_STEP, PMTOP_TOTAL_SPAN };

/* Totals since the start of the run, including the lane's events with numbers below `upto`. */
struct pmtop_total {
	uint32_t sequence;
	uint16_t lane, kind;
	uint32_t mode, name, parent, depth; /* depth: minimum seen */
	uint64_t upto, count, total_ns, self_ns, min_ns, max_ns, last_ns;
	uint64_t squares_low, squares_high;  /* sum of squared nanoseconds, 128 bits */
	uint64_t cpu_ns, cpu_count;          /* of the spans that measured it */
	uint64_t memory_bytes, memory_count; /* signed sum */
	uint32_t buckets[PMTOP_BUCKETS];     /* see pmtop_bucket */
};

struct pmtop_tally {
	uint32_t sequence;
	uint16_t lane, kind;
	uint32_t mode, name, parent, depth;
	uint64_t upto, count;
};

/* Step times of adjacent batches of the run, all modes. */
struct pmtop_bin {
	uint32_t sequence, reserved;
	uint64_t first, count, sum_ns, min_ns, max_ns, begin_ns, reserved_too;
};

struct pmtop_epoch {
	uint32_t sequence, ordinal;
	uint32_t index, mode;
	uint64_t begin_ns, end_ns;                /* end 0 = not yet */
	uint64_t batches, sum_ns, min_ns, max_ns; /* completed, of its mode: batch times */
};

#ifdef __cplusplus
#define PMTOP_I_HOLDS static_assert
#else
#define PMTOP_I_HOLDS _Static_assert
#endif
PMTOP_I_HOLDS(
	sizeof(struct pmtop_header) == PMTOP_HEADER_SIZE && offsetof(struct pmtop_header, sections) == 240, "header");
PMTOP_I_HOLDS(sizeof(struct pmtop_lane) == 576 && sizeof(struct pmtop_slot) == 64 && sizeof(struct pmtop_state) == 256,
	"lane, slot, state");
PMTOP_I_HOLDS(
	sizeof(struct pmtop_total) == 3976 && sizeof(struct pmtop_tally) == 40 && sizeof(struct pmtop_meta_entry) == 256,
	"totals, meta");
PMTOP_I_HOLDS(sizeof(struct pmtop_bin) == 64 && sizeof(struct pmtop_epoch) == 64 && sizeof(struct pmtop_value) == 16,
	"history, values");

static inline uint32_t pmtop_crc32c(const void *bytes, size_t length)
{
	const unsigned char *p = (const unsigned char *)bytes;
	uint32_t crc = ~0u;
	while (length--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1u)));
	}
	return ~crc;
}

/* Bucket 0: below 1,000 ns; bucket i: from 1000 * 2^((i-1)/32) up to, not including, 1000 * 2^(i/32); the last: all
 * above. */
static inline uint32_t pmtop_bucket(uint64_t duration_ns)
{
	/* ceil(1000 * 2^29 * 2^(j/32)); the three after the octave's end are never reached, but are compared with */
	static const uint64_t bound[36] = {
		UINT64_C(536870912000),
		UINT64_C(548626854169),
		UINT64_C(560640217950),
		UINT64_C(572916640144),
		UINT64_C(585461880980),
		UINT64_C(598281826819),
		UINT64_C(611382492918),
		UINT64_C(624770026249),
		UINT64_C(638450708389),
		UINT64_C(652430958459),
		UINT64_C(666717336143),
		UINT64_C(681316544762),
		UINT64_C(696235434424),
		UINT64_C(711481005229),
		UINT64_C(727060410566),
		UINT64_C(742980960456),
		UINT64_C(759250124995),
		UINT64_C(775875537847),
		UINT64_C(792864999836),
		UINT64_C(810226482601),
		UINT64_C(827968132334),
		UINT64_C(846098273608),
		UINT64_C(864625413281),
		UINT64_C(883558244486),
		UINT64_C(902905650710),
		UINT64_C(922676709964),
		UINT64_C(942880699042),
		UINT64_C(963527097872),
		UINT64_C(984625593966),
		UINT64_C(1006186086966),
		UINT64_C(1028218693286),
		UINT64_C(1050733750862),
		UINT64_C(1073741824000),
		UINT64_C(1097253708337),
		UINT64_C(1121280435899),
		UINT64_C(1145833280287),
	};
	if (duration_ns < 1000)
		return 0;
	if (duration_ns >= UINT64_C(1000) << 30)
		return PMTOP_BUCKETS - 1;
	uint32_t octave = 63u - (uint32_t)__builtin_clzll(duration_ns) - 9u;
	octave -= duration_ns < UINT64_C(1000) << octave;
	uint64_t scaled = duration_ns << (29u - octave);
	/* A straight line through the octave's ends is at most three buckets below the logarithm. */
	uint32_t j = (uint32_t)(scaled / (UINT64_C(1000) << 24)) - 32u;
	j += (uint32_t)(scaled >= bound[j + 1]) + (uint32_t)(scaled >= bound[j + 2]) + (uint32_t)(scaled >= bound[j + 3]);
	return 1u + 32u * octave + j;
}

#endif /* PMTOP_LAYOUT_H */

/* ---- The publisher
 * ----------------------------------------------------------------------------------------------------------- */
#if defined PMTOP_IMPLEMENTATION && !defined PMTOP_IMPLEMENTATION_H
#define PMTOP_IMPLEMENTATION_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#if !defined O_TMPFILE || !defined RUSAGE_THREAD
#error "pmtop.h: include it before everything else where PMTOP_IMPLEMENTATION is defined, or compile with -D_GNU_SOURCE"
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Tests start lanes at another number, to test the wrap of sequences; the benchmark measures evidence of short batches.
 */
#ifndef PMTOP_I_FIRST_EVENT
#define PMTOP_I_FIRST_EVENT 0
#endif
#ifndef PMTOP_I_EVIDENCE_NS
#define PMTOP_I_EVIDENCE_NS 50000u /* shorter batches have none */
#endif

#define PMTOP_I_TOUCH_NS UINT64_C(60000000000) /* interval of the updates of the file's mtime, the sign of life */
#define PMTOP_I_STALE_S 86400
#define PMTOP_I_DEAD 16u       /* maximum of retained regions of dead processes */
#define PMTOP_I_FILES_LEFT 32u /* minimum of free inodes to create a region */
#define PMTOP_I_HALVINGS 4u    /* how often a region is halved if space is short */
#define PMTOP_I_TMPFS 0x01021994
#define PMTOP_I_WIPED_SIZE 65536u /* maximum page size */
#define PMTOP_I_ENTRIES 512u
#define PMTOP_I_CACHE 64u
#define PMTOP_I_TOO_MANY 1u /* the name used when the table is full */

#define PMTOP_I_GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define PMTOP_I_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define PMTOP_I_PUBLISH(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

/* A descriptor of pmtop. The program may close it and reuse its number for another file. */
struct pmtop_i_file {
	int fd;
	dev_t device;
	ino_t inode;
};

struct pmtop_i_frame {
	uint64_t begin_ns, inner_ns, cpu_ns;
	int64_t memory_bytes;
	uint32_t name, notes;
};

struct pmtop_i_usage {
	uint64_t cpu_ns, wait_ns;
	uint32_t minor, major, voluntary, involuntary, blocks;
};

/* The total or tally of a key in this lane; both NULL: none. */
struct pmtop_i_entry {
	uint64_t key;
	struct pmtop_total *total;
	struct pmtop_tally *tally;
};

/* Private to a lane's owner. Indexes are never read from the region, because other processes can write to it. */
struct pmtop_i_lane {
	struct pmtop *pm;
	struct pmtop_lane *shared;
	struct pmtop_slot *slots;
	uint64_t head, mask;
	uint32_t index, depth;
	/* spans ended by the end of the last batch: their own ends may still follow */
	uint32_t unwound;
	uint32_t owner;     /* the tid; claimed by compare-and-swap */
	const void *thread; /* address of the owner's thread-local storage */
	struct pmtop_i_file schedstat;
	int has_usage;
	struct pmtop_i_usage usage;
	struct pmtop_i_frame frames[PMTOP_OPEN_SPANS];
	struct {
		const char *text, *interned;
		uint32_t name;
	} cache[PMTOP_I_CACHE];
	struct pmtop_i_entry entries[PMTOP_I_ENTRIES];
};

/* MADV_WIPEONFORK: the kernel zeroes this in a forked child. Generation 0 = this process has no region yet. */
struct pmtop_i_wiped {
	uint64_t generation;
	uint32_t making, state_lock, names_lock, totals_lock;
};

struct pmtop {
	struct pmtop_i_wiped wiped;
	char fill[PMTOP_I_WIPED_SIZE - sizeof(struct pmtop_i_wiped)];
	/* the region's parts */
	struct pmtop_state *state;
	struct pmtop_value *gauges, *counters;
	struct pmtop_total *totals;
	struct pmtop_tally *tallies;
	struct pmtop_bin *bins;
	struct pmtop_epoch *epochs;
	struct pmtop_name *names;
	char *name_bytes;
	struct pmtop_meta_entry *metas;
	struct pmtop_lane *shared_lanes;
	struct pmtop_slot *slots;
	/* beside it */
	struct pmtop_i_lane *lanes;
	uint32_t *name_table;            /* open addressing; numbers of names, 0 = free */
	uint16_t *gauge_of, *counter_of; /* by name: 0 = none yet, else index + 1 */
	struct pmtop_options options;
	uint32_t name_table_mask, names_generation;
	uint32_t name_count, name_used, gauge_count, counter_count, total_count, tally_count;
	uint32_t mode;
	/* protected by the state lock */
	uint32_t flags, epochs_begun, epoch_mode, epoch_index, meta_count;
	int epoch_has_batches;
	uint64_t epoch_begin_ns, samples_per_batch, batches, touched_ns, neighbour_bytes;
	/* the last batch; its step may end after it */
	struct {
		uint64_t begin_ns, end_ns, index, samples;
		uint32_t mode, kind;
		int has_open_step;
	} batch;
	uint64_t bin_count, per_bin;
	uint64_t epochs_ended, epochs_ns;
	/* the file */
	char *base;
	uint64_t size, total_size; /* sizes of the region; of this struct and the data behind it */
	struct pmtop_i_file file, statm;
	pthread_key_t key;
	int has_key;
	uint8_t uuid[16], parent_uuid[16];
	char run_name[128], directory[160], path[224];
};

/* `state`: the generation of `lane`, or one of these two values, which are no generations. */
#define PMTOP_I_NO_LANE UINT64_MAX
#define PMTOP_I_INSIDE (UINT64_MAX - 1) /* inside a call: another one comes from a signal handler */
struct pmtop_i_thread {
	uint64_t state, generation;
	struct pmtop_i_lane *lane;
	uint32_t has_batches;
};
static __thread struct pmtop_i_thread pmtop_i_this = { PMTOP_I_NO_LANE, PMTOP_I_NO_LANE, NULL, 0 };
static uint64_t pmtop_i_generations;

static inline uint64_t pmtop_i_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Saturates at 0: two threads may acquire a lock in another order than they read the clock. */
static inline uint64_t pmtop_i_since(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

static inline uint64_t pmtop_i_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* Begin and end of a write. The sequence becomes odd even if a thread was cancelled during a write before. */
static inline uint32_t pmtop_i_write_begin(uint32_t *sequence)
{
	uint32_t odd = PMTOP_I_GET(*sequence) | 1u;
	PMTOP_I_SET(*sequence, odd);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return odd;
}

static inline void pmtop_i_write_end(uint32_t *sequence, uint32_t odd) { PMTOP_I_PUBLISH(*sequence, odd + 1); }

/* A lock held for less than a microsecond. Gives up instead of waiting for a holder that never returns. */
static int pmtop_i_lock(uint32_t *lock)
{
	for (int i = 0; i < 2000; i++) {
		if (!__atomic_exchange_n(lock, 1u, __ATOMIC_ACQUIRE))
			return 1;
		if (i >= 50)
			sched_yield();
	}
	return 0;
}

static inline void pmtop_i_unlock(uint32_t *lock) { PMTOP_I_PUBLISH(*lock, 0u); }

static void pmtop_i_refuse(struct pmtop *pm, enum pmtop_refusal why)
{
	if (!PMTOP_I_GET(pm->wiped.generation))
		return;
	__atomic_fetch_add(&pm->shared_lanes[0].refused[why], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&pm->state->refused, 1, __ATOMIC_RELAXED);
}

static struct pmtop_i_file pmtop_i_file_open(const char *path)
{
	struct pmtop_i_file file = { open(path, O_RDONLY | O_CLOEXEC), 0, 0 };
	struct stat status;
	if (file.fd >= 0 && !fstat(file.fd, &status)) {
		file.device = status.st_dev;
		file.inode = status.st_ino;
	}
	return file;
}

static void pmtop_i_file_close(struct pmtop_i_file *file)
{
	struct stat status;
	if (file->fd >= 0 && !fstat(file->fd, &status) && status.st_dev == file->device && status.st_ino == file->inode)
		close(file->fd);
	file->fd = -1;
}

/* -- lanes -- */

static struct pmtop_i_lane *pmtop_i_find_lane(struct pmtop *pm);

static inline void pmtop_i_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	PMTOP_I_SET(pmtop_i_this.state, pmtop_i_this.generation);
}

/* Enters the calling thread's lane, which the caller must leave again. NULL: publishing is impossible, and the call is
 * counted. One comparison detects another instance, a thread's first call, a forked child and a call from a signal
 * handler. */
static inline struct pmtop_i_lane *pmtop_i_enter(struct pmtop *pm)
{
	if (!pm)
		return NULL;
	if (__builtin_expect(PMTOP_I_GET(pmtop_i_this.state) != PMTOP_I_GET(pm->wiped.generation), 0))
		return pmtop_i_find_lane(pm);
	PMTOP_I_SET(pmtop_i_this.state, PMTOP_I_INSIDE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return pmtop_i_this.lane;
}

static void pmtop_i_lane_take(struct pmtop_i_lane *lane, uint32_t tid)
{
	lane->thread = &pmtop_i_this;
	lane->depth = lane->unwound = 0;
	lane->has_usage = 0;
	pmtop_i_file_close(&lane->schedstat);
	PMTOP_I_PUBLISH(lane->shared->open_count, 0u);
	PMTOP_I_SET(lane->shared->owner_tid, tid);
	if (lane->pm->has_key)
		pthread_setspecific(lane->pm->key, lane);
}

/* Called at a thread's end. (Threads that end without it are detected by their tid when lanes are short.) */
static void pmtop_i_thread_ended(void *argument)
{
	struct pmtop_i_lane *lane = (struct pmtop_i_lane *)argument;
	if (!PMTOP_I_GET(lane->pm->wiped.generation) || lane->thread != &pmtop_i_this || !PMTOP_I_GET(lane->owner))
		return;
	if (pmtop_i_this.lane == lane)
		pmtop_i_this.state = pmtop_i_this.generation = PMTOP_I_NO_LANE;
	pmtop_i_file_close(&lane->schedstat);
	lane->thread = NULL;
	PMTOP_I_PUBLISH(lane->shared->open_count, 0u);
	PMTOP_I_SET(lane->shared->owner_tid, 0u);
	PMTOP_I_PUBLISH(lane->owner, 0u);
}

static int pmtop_i_is_gone(uint32_t tid) { return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH; }

static struct pmtop_i_lane *pmtop_i_claim_lane(struct pmtop *pm, uint32_t tid)
{
	for (uint32_t i = 0; i < pm->options.lanes; i++)
		if (PMTOP_I_GET(pm->lanes[i].owner) == tid && pm->lanes[i].thread == &pmtop_i_this)
			return &pm->lanes[i];
	/* The last lane is reserved for the thread that publishes batches. */
	uint32_t count = pm->options.lanes - !pmtop_i_this.has_batches;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < count; i++) {
			uint32_t owner = PMTOP_I_GET(pm->lanes[i].owner);
			if (owner && (!pass || (owner != tid && !pmtop_i_is_gone(owner))))
				continue;
			if (!__atomic_compare_exchange_n(&pm->lanes[i].owner, &owner, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				continue;
			pmtop_i_lane_take(&pm->lanes[i], tid);
			return &pm->lanes[i];
		}
	}
	return NULL;
}

static int pmtop_i_become_child(struct pmtop *pm);

static struct pmtop_i_lane *pmtop_i_find_lane(struct pmtop *pm)
{
	struct pmtop_i_lane *lane = NULL;
	if (PMTOP_I_GET(pmtop_i_this.state) == PMTOP_I_INSIDE) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_SIGNAL);
		return NULL;
	}
	int saved_errno = errno;
	PMTOP_I_SET(pmtop_i_this.state, PMTOP_I_INSIDE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (PMTOP_I_GET(pm->wiped.generation) || pmtop_i_become_child(pm)) {
		lane = pmtop_i_claim_lane(pm, (uint32_t)syscall(SYS_gettid));
		if (!lane)
			pmtop_i_refuse(pm, PMTOP_REFUSED_NO_LANE);
	}
	pmtop_i_this.lane = lane;
	pmtop_i_this.generation = lane ? PMTOP_I_GET(pm->wiped.generation) : PMTOP_I_NO_LANE;
	if (!lane)
		pmtop_i_leave();
	errno = saved_errno;
	return lane;
}

static inline struct pmtop_slot *pmtop_i_record(
	struct pmtop_i_lane *lane, unsigned type, uint32_t name, uint64_t time_ns, size_t length)
{
	struct pmtop_slot *slot = &lane->slots[lane->head & lane->mask];
	PMTOP_I_SET(slot->sequence, (uint32_t)(2 * lane->head + 1));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	PMTOP_I_SET(slot->type_length, type | (uint32_t)length << 16);
	PMTOP_I_SET(slot->time_ns, time_ns);
	PMTOP_I_SET(slot->name_mode, name | (uint64_t)PMTOP_I_GET(lane->pm->mode) << 32);
	return slot;
}

static inline void pmtop_i_recorded(struct pmtop_i_lane *lane, struct pmtop_slot *slot)
{
	PMTOP_I_PUBLISH(slot->sequence, (uint32_t)(2 * lane->head + 2));
	PMTOP_I_PUBLISH(lane->shared->head, ++lane->head);
}

static inline void pmtop_i_put(
	struct pmtop_i_lane *lane, unsigned type, uint32_t name, uint64_t time_ns, const uint64_t *words, size_t count)
{
	struct pmtop_slot *slot = pmtop_i_record(lane, type, name, time_ns, count * sizeof words[0]);
	for (size_t i = 0; i < count; i++)
		PMTOP_I_SET(slot->payload[i], words[i]);
	pmtop_i_recorded(lane, slot);
}

/* -- names -- */

static size_t pmtop_i_fit(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);
	if (length <= most)
		return length;
	for (length = most; length && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
		;
	return length;
}

static uint32_t *pmtop_i_name_entry(struct pmtop *pm, const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	for (uint32_t at = (uint32_t)(hash ^ hash >> 32);; at++) {
		uint32_t *entry = &pm->name_table[at & pm->name_table_mask];
		uint32_t name = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
		if (!name ||
			(pm->names[name - 1].length == length &&
				!memcmp(pm->name_bytes + pm->names[name - 1].offset, text, length)))
			return entry;
	}
}

static uint32_t pmtop_i_name_add(struct pmtop *pm, const char *text, size_t length)
{
	uint32_t name = PMTOP_I_TOO_MANY;
	if (!pmtop_i_lock(&pm->wiped.names_lock)) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_BUSY);
		return name;
	}
	uint32_t *entry = pmtop_i_name_entry(pm, text, length);
	if (PMTOP_I_GET(*entry)) {
		name = PMTOP_I_GET(*entry);
	} else if (pm->name_count == pm->options.names || pm->name_used + length + 1 > pm->options.names * 64u) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_FULL);
	} else {
		memcpy(pm->name_bytes + pm->name_used, text, length);
		pm->names[pm->name_count].offset = pm->name_used;
		pm->names[pm->name_count].length = (uint32_t)length;
		pm->name_used += (uint32_t)length + 1;
		name = ++pm->name_count;
		PMTOP_I_PUBLISH(pm->state->name_count, name);
		PMTOP_I_PUBLISH(*entry, name);
	}
	pmtop_i_unlock(&pm->wiped.names_lock);
	return name;
}

static uint32_t pmtop_i_intern(struct pmtop *pm, const char *text, size_t length)
{
	uint32_t name = PMTOP_I_GET(*pmtop_i_name_entry(pm, text, length));
	return name ? name : pmtop_i_name_add(pm, text, length);
}

/* The number of a name. Equal pointers usually have equal text, and comparing is cheaper than hashing. */
static uint32_t pmtop_i_name(struct pmtop_i_lane *lane, const char *text)
{
	if (!text || !*text)
		text = "(unnamed)";
	uintptr_t address = (uintptr_t)text;
	size_t at = (size_t)(address ^ address >> 7) % PMTOP_I_CACHE;
	if (lane->cache[at].text == text && !strcmp(lane->cache[at].interned, text))
		return lane->cache[at].name;
	uint32_t name = pmtop_i_intern(lane->pm, text, pmtop_i_fit(text, PMTOP_NAME_LENGTH));
	lane->cache[at].text = text;
	lane->cache[at].interned = lane->pm->name_bytes + lane->pm->names[name - 1].offset;
	lane->cache[at].name = name;
	return name;
}

static inline uint32_t pmtop_i_site_name(struct pmtop_i_lane *lane, struct pmtop_site *site, const char *text)
{
	uint64_t known = PMTOP_I_GET(site->known);
	if (__builtin_expect(known >> 32 == lane->pm->names_generation, 1))
		return (uint32_t)known;
	uint32_t name = pmtop_i_name(lane, text);
	PMTOP_I_SET(site->known, (uint64_t)lane->pm->names_generation << 32 | name);
	return name;
}

/* -- totals -- */

/* Four per total, to keep small regions small. */
static uint32_t pmtop_i_tallies(const struct pmtop_options *options)
{
	return options->totals * 4 < PMTOP_TALLIES ? options->totals * 4 : PMTOP_TALLIES;
}

static void pmtop_i_claim_total(struct pmtop_i_lane *lane, struct pmtop_i_entry *entry, uint64_t key, uint32_t kind,
	uint32_t mode, uint32_t name, uint32_t parent, uint32_t depth)
{
	struct pmtop *pm = lane->pm;
	if (!pmtop_i_lock(&pm->wiped.totals_lock))
		return;
	entry->key = key;
	if (pm->total_count < pm->options.totals) {
		struct pmtop_total *total = entry->total = &pm->totals[pm->total_count++];
		total->lane = (uint16_t)lane->index;
		total->kind = (uint16_t)kind;
		total->mode = mode;
		total->name = name;
		total->parent = parent;
		total->depth = depth;
		total->min_ns = UINT64_MAX;
		PMTOP_I_PUBLISH(pm->state->total_count, pm->total_count);
	} else if (pm->tally_count < pmtop_i_tallies(&pm->options)) {
		struct pmtop_tally *tally = entry->tally = &pm->tallies[pm->tally_count++];
		tally->lane = (uint16_t)lane->index;
		tally->kind = (uint16_t)kind;
		tally->mode = mode;
		tally->name = name;
		tally->parent = parent;
		tally->depth = depth;
		PMTOP_I_PUBLISH(pm->state->tally_count, pm->tally_count);
	}
	pmtop_i_unlock(&pm->wiped.totals_lock);
}

static inline struct pmtop_i_entry *pmtop_i_find_entry(
	struct pmtop_i_lane *lane, uint32_t kind, uint32_t mode, uint32_t name, uint32_t parent, uint32_t depth)
{
	uint64_t key = (uint64_t)(kind + 1) | (uint64_t)mode << 4 | (uint64_t)name << 24 | (uint64_t)parent << 44;
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 55);
	for (uint32_t tried = 0; tried < PMTOP_I_ENTRIES; tried++, at++) {
		struct pmtop_i_entry *entry = &lane->entries[at % PMTOP_I_ENTRIES];
		if (__builtin_expect(entry->key == key, 1))
			return entry;
		if (entry->key)
			continue;
		pmtop_i_claim_total(lane, entry, key, kind, mode, name, parent, depth);
		return entry->key ? entry : NULL;
	}
	return NULL;
}

__extension__ typedef unsigned __int128 pmtop_i_u128;
struct pmtop_i_sample {
	uint64_t duration_ns, self_ns, cpu_ns, memory_bytes, upto;
};

static __attribute__((noinline)) void pmtop_i_total_note(struct pmtop_total *total, const struct pmtop_i_sample *sample)
{
	if (sample->cpu_ns != PMTOP_UNKNOWN) {
		PMTOP_I_SET(total->cpu_ns, total->cpu_ns + sample->cpu_ns);
		PMTOP_I_SET(total->cpu_count, total->cpu_count + 1);
	}
	if (sample->memory_bytes != PMTOP_UNKNOWN) {
		PMTOP_I_SET(total->memory_bytes, total->memory_bytes + sample->memory_bytes);
		PMTOP_I_SET(total->memory_count, total->memory_count + 1);
	}
}

/* Inlined, and rare paths get a copy, so that the sample stays in registers. */
static inline __attribute__((always_inline)) void pmtop_i_total_add(
	struct pmtop_total *total, const struct pmtop_i_sample *sample, uint32_t depth)
{
	uint32_t *bucket = &total->buckets[pmtop_bucket(sample->duration_ns)];
	/* Integers are exact, and a floating-point sum would delay the next clock reading. */
	pmtop_i_u128 squares = ((pmtop_i_u128)total->squares_high << 64 | total->squares_low) +
		(pmtop_i_u128)sample->duration_ns * sample->duration_ns;
	uint32_t odd = pmtop_i_write_begin(&total->sequence);
	PMTOP_I_SET(total->upto, sample->upto);
	PMTOP_I_SET(total->count, total->count + 1);
	PMTOP_I_SET(total->total_ns, total->total_ns + sample->duration_ns);
	PMTOP_I_SET(total->self_ns, total->self_ns + sample->self_ns);
	PMTOP_I_SET(total->last_ns, sample->duration_ns);
	PMTOP_I_SET(total->squares_low, (uint64_t)squares);
	PMTOP_I_SET(total->squares_high, (uint64_t)(squares >> 64));
	if (sample->duration_ns < total->min_ns)
		PMTOP_I_SET(total->min_ns, sample->duration_ns);
	if (sample->duration_ns > total->max_ns)
		PMTOP_I_SET(total->max_ns, sample->duration_ns);
	if (depth < total->depth)
		PMTOP_I_SET(total->depth, depth);
	if (__builtin_expect((sample->cpu_ns & sample->memory_bytes) != PMTOP_UNKNOWN, 0)) {
		const struct pmtop_i_sample noted = *sample;
		pmtop_i_total_note(total, &noted);
	}
	PMTOP_I_SET(*bucket, *bucket + 1);
	pmtop_i_write_end(&total->sequence, odd);
}

static inline __attribute__((always_inline)) void pmtop_i_add(struct pmtop_i_lane *lane, uint32_t kind, uint32_t mode,
	uint32_t name, uint32_t parent, uint32_t depth, const struct pmtop_i_sample *sample)
{
	struct pmtop_i_entry *entry = pmtop_i_find_entry(lane, kind, mode, name, parent, depth);
	if (__builtin_expect(entry && entry->total, 1)) {
		pmtop_i_total_add(entry->total, sample, depth);
	} else if (entry && entry->tally) {
		struct pmtop_tally *tally = entry->tally;
		uint32_t odd = pmtop_i_write_begin(&tally->sequence);
		PMTOP_I_SET(tally->upto, sample->upto);
		PMTOP_I_SET(tally->count, tally->count + 1);
		pmtop_i_write_end(&tally->sequence, odd);
	} else {
		pmtop_i_refuse(lane->pm, PMTOP_REFUSED_FULL);
	}
}

/* -- state, epochs, batches: protected by the state lock -- */

static inline void pmtop_i_unwind(struct pmtop_i_lane *lane, uint64_t since_ns, uint64_t now);

/* Updates the file's mtime as a sign of life: stores through a mapping do not. */
static __attribute__((noinline)) void pmtop_i_touch(struct pmtop *pm, uint64_t now)
{
	struct stat status;
	if (pmtop_i_since(PMTOP_I_GET(pm->touched_ns), now) < PMTOP_I_TOUCH_NS)
		return;
	PMTOP_I_SET(pm->touched_ns, now);
	int saved_errno = errno;
	if (pm->path[0] && !lstat(pm->path, &status) && status.st_dev == pm->file.device && status.st_ino == pm->file.inode)
		utimensat(AT_FDCWD, pm->path, NULL, AT_SYMLINK_NOFOLLOW);
	errno = saved_errno;
}

/* Reads *now before taking the lock, so that pending stores drain meanwhile. */
static struct pmtop_i_lane *pmtop_i_enter_state(struct pmtop *pm, uint64_t *now)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return NULL;
	*now = pmtop_i_clock(CLOCK_MONOTONIC);
	if (!pmtop_i_lock(&pm->wiped.state_lock)) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_BUSY);
		pmtop_i_leave();
		return NULL;
	}
	pmtop_i_write_begin(&pm->state->sequence);
	return lane;
}

static void pmtop_i_leave_state(struct pmtop *pm)
{
	PMTOP_I_SET(pm->state->flags, pm->flags);
	pmtop_i_write_end(&pm->state->sequence, PMTOP_I_GET(pm->state->sequence));
	pmtop_i_unlock(&pm->wiped.state_lock);
}

static void pmtop_i_merge_bins(struct pmtop *pm)
{
	uint32_t merge_odd = pmtop_i_write_begin(&pm->state->history_sequence);
	for (uint32_t i = 0; i < pm->options.history / 2; i++) {
		const struct pmtop_bin a = pm->bins[2 * i], b = pm->bins[2 * i + 1];
		struct pmtop_bin *to = &pm->bins[i];
		uint32_t odd = pmtop_i_write_begin(&to->sequence);
		PMTOP_I_SET(to->first, a.first);
		PMTOP_I_SET(to->count, a.count + b.count);
		PMTOP_I_SET(to->sum_ns, a.sum_ns + b.sum_ns);
		PMTOP_I_SET(to->min_ns, a.min_ns < b.min_ns ? a.min_ns : b.min_ns);
		PMTOP_I_SET(to->max_ns, a.max_ns > b.max_ns ? a.max_ns : b.max_ns);
		PMTOP_I_SET(to->begin_ns, a.begin_ns);
		pmtop_i_write_end(&to->sequence, odd);
	}
	pm->bin_count = pm->options.history / 2;
	pm->per_bin *= 2;
	PMTOP_I_SET(pm->state->bin_count, (uint32_t)pm->bin_count);
	pmtop_i_write_end(&pm->state->history_sequence, merge_odd);
}

static void pmtop_i_history_add(struct pmtop *pm, uint64_t number, uint64_t begin_ns, uint64_t duration_ns)
{
	struct pmtop_bin *bin = pm->bin_count ? &pm->bins[pm->bin_count - 1] : NULL;
	int is_new = !bin || bin->count >= pm->per_bin;
	if (is_new) {
		if (pm->bin_count == pm->options.history)
			pmtop_i_merge_bins(pm);
		bin = &pm->bins[pm->bin_count++];
	}
	uint32_t odd = pmtop_i_write_begin(&bin->sequence);
	PMTOP_I_SET(bin->count, is_new ? 1 : bin->count + 1);
	PMTOP_I_SET(bin->sum_ns, is_new ? duration_ns : bin->sum_ns + duration_ns);
	if (is_new || duration_ns < bin->min_ns)
		PMTOP_I_SET(bin->min_ns, duration_ns);
	if (is_new || duration_ns > bin->max_ns)
		PMTOP_I_SET(bin->max_ns, duration_ns);
	if (is_new) {
		PMTOP_I_SET(bin->first, number);
		PMTOP_I_SET(bin->begin_ns, begin_ns);
	}
	pmtop_i_write_end(&bin->sequence, odd);
	if (is_new)
		PMTOP_I_PUBLISH(pm->state->bin_count, (uint32_t)pm->bin_count);
}

/* Ends the last batch's step: at the next batch's begin, or at its own end. `upto`: see pmtop_total. */
static void pmtop_i_end_step(struct pmtop_i_lane *lane, uint64_t end_ns, uint64_t upto)
{
	struct pmtop *pm = lane->pm;
	if (!pm->batch.has_open_step)
		return;
	uint64_t duration = pmtop_i_since(pm->batch.begin_ns, end_ns);
	struct pmtop_i_sample sample = { duration, duration, PMTOP_UNKNOWN, PMTOP_UNKNOWN, upto };
	pmtop_i_add(lane, PMTOP_TOTAL_STEP, pm->batch.mode, 0, 0, 0, &sample);
	pmtop_i_history_add(pm, pm->batches - 1, pm->batch.begin_ns, duration);
	pm->batch.has_open_step = 0;
}

static struct pmtop_epoch *pmtop_i_epoch(struct pmtop *pm)
{
	return &pm->epochs[(pm->epochs_begun - 1) % pm->options.epochs];
}

static void pmtop_i_end_epoch(struct pmtop_i_lane *lane, uint64_t now)
{
	struct pmtop *pm = lane->pm;
	pmtop_i_end_step(lane, pm->batch.end_ns, lane->head + 1);
	if (pm->flags & PMTOP_IN_BATCH) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_ORDER);
		pmtop_i_unwind(lane, pm->batch.begin_ns, now);
	}
	struct pmtop_epoch *epoch = pmtop_i_epoch(pm);
	uint32_t odd = pmtop_i_write_begin(&epoch->sequence);
	PMTOP_I_SET(epoch->end_ns, now);
	pmtop_i_write_end(&epoch->sequence, odd);
	pm->epochs_ended++;
	pm->epochs_ns += pmtop_i_since(pm->epoch_begin_ns, now);
	pm->flags &= ~(uint32_t)(PMTOP_IN_EPOCH | PMTOP_IN_BATCH);
	uint64_t words[2] = { pm->epoch_index | (uint64_t)pm->epochs_begun << 32, pm->epoch_begin_ns };
	pmtop_i_put(lane, PMTOP_EVENT_EPOCH_END, 0, now, words, 2);
}

/* Touches the file: the next writer uses its mtime to find out whether the region of a dead run is stale. */
void pmtop_epoch_begin(struct pmtop *pm, uint32_t index)
{
	uint64_t now;
	pmtop_i_this.has_batches = 1;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	if (pm->flags & PMTOP_IN_EPOCH)
		pmtop_i_end_epoch(lane, now);
	else
		pmtop_i_end_step(lane, pm->batch.end_ns, lane->head + 1);
	pm->flags |= PMTOP_IN_EPOCH;
	pm->epochs_begun++;
	pm->epoch_index = index;
	pm->epoch_begin_ns = now;
	pm->epoch_mode = PMTOP_I_GET(pm->mode);
	pm->epoch_has_batches = 0;
	struct pmtop_epoch *epoch = pmtop_i_epoch(pm);
	uint32_t odd = pmtop_i_write_begin(&epoch->sequence);
	PMTOP_I_SET(epoch->ordinal, pm->epochs_begun);
	PMTOP_I_SET(epoch->index, index);
	PMTOP_I_SET(epoch->mode, pm->epoch_mode);
	PMTOP_I_SET(epoch->begin_ns, now);
	PMTOP_I_SET(epoch->end_ns, UINT64_C(0));
	PMTOP_I_SET(epoch->batches, UINT64_C(0));
	PMTOP_I_SET(epoch->sum_ns, UINT64_C(0));
	PMTOP_I_SET(epoch->min_ns, UINT64_C(0));
	PMTOP_I_SET(epoch->max_ns, UINT64_C(0));
	pmtop_i_write_end(&epoch->sequence, odd);
	PMTOP_I_SET(pm->state->epoch_index, index);
	PMTOP_I_SET(pm->state->epochs_begun, pm->epochs_begun);
	PMTOP_I_SET(pm->state->epoch_begin_ns, now);
	PMTOP_I_SET(pm->state->batches_in_epoch, UINT64_C(0));
	uint64_t words[1] = { index | (uint64_t)pm->epochs_begun << 32 };
	pmtop_i_put(lane, PMTOP_EVENT_EPOCH_BEGIN, 0, now, words, 1);
	pmtop_i_touch(pm, now);
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

void pmtop_epoch_end(struct pmtop *pm)
{
	uint64_t now;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	if (pm->flags & PMTOP_IN_EPOCH)
		pmtop_i_end_epoch(lane, now);
	else
		pmtop_i_refuse(pm, PMTOP_REFUSED_ORDER);
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

void pmtop_batch_begin(struct pmtop *pm, uint64_t index)
{
	uint64_t now;
	pmtop_i_this.has_batches = 1;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	if (pm->flags & PMTOP_IN_BATCH) {
		pmtop_i_refuse(pm, PMTOP_REFUSED_ORDER); /* the previous batch never ended */
		pmtop_i_unwind(lane, pm->batch.begin_ns, now);
	}
	pmtop_i_end_step(lane, now, lane->head + 1);
	pm->flags |= PMTOP_IN_BATCH;
	pm->batch.begin_ns = now;
	pm->batch.index = index;
	pm->batch.samples = pm->samples_per_batch;
	pm->batch.kind = 0;
	pm->batch.mode = PMTOP_I_GET(pm->mode);
	PMTOP_I_SET(pm->state->batch_index, index);
	PMTOP_I_SET(pm->state->batch_begin_ns, now);
	uint64_t words[3] = { index, pm->epoch_index | (uint64_t)pm->epochs_begun << 32, pm->batches };
	pmtop_i_put(lane, PMTOP_EVENT_BATCH_BEGIN, 0, now, words, 3);
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

static void pmtop_i_epoch_add(struct pmtop *pm, uint64_t duration)
{
	struct pmtop_epoch *epoch = pmtop_i_epoch(pm);
	uint32_t odd = pmtop_i_write_begin(&epoch->sequence);
	PMTOP_I_SET(epoch->sum_ns, epoch->sum_ns + duration);
	if (!epoch->batches || duration < epoch->min_ns)
		PMTOP_I_SET(epoch->min_ns, duration);
	if (duration > epoch->max_ns)
		PMTOP_I_SET(epoch->max_ns, duration);
	PMTOP_I_SET(epoch->batches, epoch->batches + 1);
	pmtop_i_write_end(&epoch->sequence, odd);
	PMTOP_I_SET(pm->state->batches_in_epoch, epoch->batches);
}

static uint64_t pmtop_i_run_queue_wait(struct pmtop_i_lane *lane)
{
	char text[96];
	if (lane->schedstat.fd < 0)
		lane->schedstat = pmtop_i_file_open("/proc/thread-self/schedstat");
	ssize_t length = lane->schedstat.fd < 0 ? -1 : pread(lane->schedstat.fd, text, sizeof text, 0);
	ssize_t at = 0;
	while (at < length && text[at] != ' ')
		at++;
	uint64_t wait_ns = 0;
	for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++)
		wait_ns = wait_ns * 10 + (uint64_t)(text[at] - '0');
	return at < length && text[at] == ' ' ? wait_ns : PMTOP_UNKNOWN; /* "ran_ns waited_ns times" */
}

static uint64_t pmtop_i_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Differences since the lane's last reading; the first reading only sets the start. */
static void pmtop_i_evidence(struct pmtop_i_lane *lane, uint64_t now)
{
	struct rusage r;
	int saved_errno = errno;
	struct pmtop_i_usage is, was = lane->usage;
	if (getrusage(RUSAGE_THREAD, &r))
		goto out;
	is.cpu_ns = (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * UINT64_C(1000000000) +
		(uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
	is.minor = (uint32_t)r.ru_minflt;
	is.major = (uint32_t)r.ru_majflt;
	is.voluntary = (uint32_t)r.ru_nvcsw;
	is.involuntary = (uint32_t)r.ru_nivcsw;
	is.blocks = (uint32_t)r.ru_inblock;
	/* A thread that has run without a switch has not waited: most of the cost is reading the wait. */
	is.wait_ns = lane->has_usage && is.voluntary == was.voluntary && is.involuntary == was.involuntary
		? was.wait_ns
		: pmtop_i_run_queue_wait(lane);
	lane->usage = is;
	if (lane->has_usage) {
		uint64_t samples = lane->pm->batch.samples;
		uint64_t words[5] = {
			is.cpu_ns - was.cpu_ns,
			pmtop_i_pair(is.minor - was.minor, is.major - was.major),
			pmtop_i_pair(is.voluntary - was.voluntary, is.involuntary - was.involuntary),
			is.wait_ns == PMTOP_UNKNOWN || was.wait_ns == PMTOP_UNKNOWN ? PMTOP_UNKNOWN : is.wait_ns - was.wait_ns,
			pmtop_i_pair(is.blocks - was.blocks, samples > UINT32_MAX ? 0 : (uint32_t)samples),
		};
		pmtop_i_put(lane, PMTOP_EVENT_EVIDENCE, 0, now, words, 5);
	}
	lane->has_usage = 1;
out:
	errno = saved_errno;
}

static void pmtop_i_end_batch(struct pmtop_i_lane *lane, uint64_t now, double loss)
{
	struct pmtop *pm = lane->pm;
	uint64_t duration = pmtop_i_since(pm->batch.begin_ns, now);
	struct pmtop_i_sample sample = { duration, duration, PMTOP_UNKNOWN, PMTOP_UNKNOWN, lane->head + 1 };
	pmtop_i_add(lane, PMTOP_TOTAL_BATCH, pm->batch.mode, 0, 0, 0, &sample);
	pm->flags &= ~(uint32_t)PMTOP_IN_BATCH;
	pm->epoch_has_batches = 1;
	if (pm->flags & PMTOP_IN_EPOCH && pm->batch.mode == pm->epoch_mode)
		pmtop_i_epoch_add(pm, duration);
	uint64_t words[5] = { pm->batch.index, pm->epoch_index | (uint64_t)pm->epochs_begun << 32, pm->batches,
		pmtop_i_bits(loss), pm->batch.begin_ns };
	pm->batch.end_ns = now;
	pm->batch.has_open_step = 1;
	PMTOP_I_SET(pm->state->batches, ++pm->batches);
	if (loss == loss)
		PMTOP_I_SET(pm->state->loss_bits, words[3]);
	pmtop_i_put(lane, PMTOP_EVENT_BATCH_END, pm->batch.kind, now, words, 5);
}

void pmtop_batch_end(struct pmtop *pm, double loss)
{
	uint64_t now, duration = 0;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	if (pm->flags & PMTOP_IN_BATCH) {
		duration = pmtop_i_since(pm->batch.begin_ns, now);
		pmtop_i_unwind(lane, pm->batch.begin_ns, now);
		pmtop_i_end_batch(lane, now, loss);
	} else {
		pmtop_i_refuse(pm, PMTOP_REFUSED_ORDER);
	}
	pmtop_i_leave_state(pm);
	if (duration >= PMTOP_I_EVIDENCE_NS && !pm->options.no_evidence)
		pmtop_i_evidence(lane, now);
	pmtop_i_touch(pm, now);
	pmtop_i_leave();
}

void pmtop_batch_samples(struct pmtop *pm, uint64_t samples)
{
	uint64_t now;
	if (!pmtop_i_enter_state(pm, &now))
		return;
	pm->batch.samples = samples;
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

void pmtop_batch_kind(struct pmtop *pm, const char *kind)
{
	uint64_t now;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	pm->batch.kind = kind && *kind ? pmtop_i_name(lane, kind) : 0;
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

void pmtop_batch_figure(struct pmtop *pm, uint64_t number, const char *name, double value)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	uint64_t words[2] = { pmtop_i_bits(value), number };
	pmtop_i_put(lane, PMTOP_EVENT_FIGURE, pmtop_i_name(lane, name), pmtop_i_clock(CLOCK_MONOTONIC), words, 2);
	pmtop_i_leave();
}

void pmtop_plan(struct pmtop *pm, uint32_t epochs, uint64_t batches_per_epoch, uint64_t samples_per_batch)
{
	uint64_t now;
	if (!pmtop_i_enter_state(pm, &now))
		return;
	pm->samples_per_batch = samples_per_batch;
	PMTOP_I_SET(pm->state->epochs_planned, epochs);
	PMTOP_I_SET(pm->state->batches_per_epoch, batches_per_epoch);
	PMTOP_I_SET(pm->state->samples_per_batch, samples_per_batch);
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

void pmtop_mode(struct pmtop *pm, const char *mode)
{
	uint64_t now;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (!lane)
		return;
	uint32_t name = mode && *mode && strcmp(mode, "train") ? pmtop_i_name(lane, mode) : 0;
	PMTOP_I_SET(pm->mode, name);
	PMTOP_I_SET(pm->state->mode, name);
	if (pm->flags & PMTOP_IN_BATCH)
		pm->batch.mode = name;
	if (pm->flags & PMTOP_IN_EPOCH && !pm->epoch_has_batches) {
		struct pmtop_epoch *epoch = pmtop_i_epoch(pm);
		pm->epoch_mode = name;
		uint32_t odd = pmtop_i_write_begin(&epoch->sequence);
		PMTOP_I_SET(epoch->mode, name);
		pmtop_i_write_end(&epoch->sequence, odd);
	}
	pmtop_i_put(lane, PMTOP_EVENT_MODE, name, now, NULL, 0);
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

static void pmtop_i_copy_text(char *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		PMTOP_I_SET(to[i], text[i]);
}

void pmtop_meta(struct pmtop *pm, const char *key, const char *value)
{
	uint64_t now;
	if (!key || !value || !pmtop_i_enter_state(pm, &now))
		return;
	struct pmtop_meta_entry *entry = NULL;
	size_t key_length = pmtop_i_fit(key, sizeof entry->key), value_length = pmtop_i_fit(value, sizeof entry->value);
	uint32_t i;
	for (i = 0; i < pm->meta_count; i++)
		if (pm->metas[i].key_length == key_length && !memcmp(pm->metas[i].key, key, key_length))
			break;
	if (i < PMTOP_METAS) {
		entry = &pm->metas[i];
		uint32_t odd = pmtop_i_write_begin(&entry->sequence);
		PMTOP_I_SET(entry->key_length, (uint16_t)key_length);
		PMTOP_I_SET(entry->value_length, (uint16_t)value_length);
		pmtop_i_copy_text(entry->key, key, key_length);
		pmtop_i_copy_text(entry->value, value, value_length);
		pmtop_i_write_end(&entry->sequence, odd);
		if (i == pm->meta_count)
			PMTOP_I_PUBLISH(pm->state->meta_count, ++pm->meta_count);
	} else {
		pmtop_i_refuse(pm, PMTOP_REFUSED_FULL);
	}
	pmtop_i_leave_state(pm);
	pmtop_i_leave();
}

/* -- spans -- */

static int64_t pmtop_i_resident_bytes(struct pmtop *pm)
{
	char text[128];
	int saved_errno = errno;
	if (PMTOP_I_GET(pm->statm.fd) < 0 && pmtop_i_lock(&pm->wiped.names_lock)) {
		if (pm->statm.fd < 0)
			pm->statm = pmtop_i_file_open("/proc/self/statm");
		pmtop_i_unlock(&pm->wiped.names_lock);
	}
	int fd = PMTOP_I_GET(pm->statm.fd);
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	errno = saved_errno;
	if (length <= 0)
		return -1;
	text[length] = '\0';
	const char *pages = strchr(text, ' ');
	return pages ? (int64_t)strtoll(pages, NULL, 10) * (int64_t)sysconf(_SC_PAGESIZE) : -1;
}

/* Flag of a frame: begun by a function call, so an error may leave it open; scopes always end. */
#define PMTOP_I_BY_CALL 0x80000000u
#define PMTOP_I_NOTES (PMTOP_NOTE_CPU | PMTOP_NOTE_MEMORY)

static inline void pmtop_i_span_begin(struct pmtop_i_lane *lane, uint32_t name, unsigned notes)
{
	uint32_t depth = lane->depth++;
	if (__builtin_expect(depth >= PMTOP_OPEN_SPANS, 0)) {
		pmtop_i_refuse(lane->pm, PMTOP_REFUSED_DEEP);
		return;
	}
	struct pmtop_i_frame *frame = &lane->frames[depth];
	struct pmtop_lane *shared = lane->shared;
	frame->name = name;
	frame->inner_ns = 0;
	frame->notes = notes;
	if (__builtin_expect((notes & PMTOP_I_NOTES) != 0, 0)) {
		frame->memory_bytes = notes & PMTOP_NOTE_MEMORY ? pmtop_i_resident_bytes(lane->pm) : -1;
		frame->cpu_ns = notes & PMTOP_NOTE_CPU ? pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID) : 0;
	}
	uint64_t now = frame->begin_ns = pmtop_i_clock(CLOCK_MONOTONIC);
	uint32_t odd = pmtop_i_write_begin(&shared->open_sequence);
	PMTOP_I_SET(shared->open[depth].begin_ns, now);
	PMTOP_I_SET(shared->open[depth].name, name);
	PMTOP_I_SET(shared->open_count, depth + 1);
	pmtop_i_write_end(&shared->open_sequence, odd);
}

/* Adds and records a completed span; `depth`: number of open spans around it. */
static inline __attribute__((always_inline)) void pmtop_i_span_put(struct pmtop_i_lane *lane, uint32_t name,
	uint32_t parent, uint32_t depth, uint64_t now, unsigned notes, const struct pmtop_i_sample *sample)
{
	pmtop_i_add(lane, PMTOP_TOTAL_SPAN, PMTOP_I_GET(lane->pm->mode), name, parent, depth, sample);
	struct pmtop_slot *slot = pmtop_i_record(lane, PMTOP_EVENT_SPAN, name, now, notes ? 40 : 24);
	PMTOP_I_SET(slot->payload[0], sample->duration_ns);
	PMTOP_I_SET(slot->payload[1], sample->self_ns);
	PMTOP_I_SET(slot->payload[2], pmtop_i_pair(parent, depth));
	if (__builtin_expect(notes != 0, 0)) {
		PMTOP_I_SET(slot->payload[3], sample->cpu_ns);
		PMTOP_I_SET(slot->payload[4], sample->memory_bytes);
	}
	pmtop_i_recorded(lane, slot);
}

/* The same within the thread's innermost open span. */
static inline __attribute__((always_inline)) void pmtop_i_span_note(struct pmtop_i_lane *lane, uint32_t name,
	uint32_t depth, uint64_t now, unsigned notes, const struct pmtop_i_sample *sample)
{
	uint32_t parent = 0;
	if (depth) {
		lane->frames[depth - 1].inner_ns += sample->duration_ns;
		parent = lane->frames[depth - 1].name;
	}
	pmtop_i_span_put(lane, name, parent, depth, now, notes, sample);
}

/* Ends the innermost span on the stack, which must exist. */
static inline __attribute__((always_inline)) void pmtop_i_pop(struct pmtop_i_lane *lane, uint64_t now)
{
	uint32_t depth = lane->depth - 1;
	struct pmtop_i_frame *frame = &lane->frames[depth];
	struct pmtop_i_sample sample = { pmtop_i_since(frame->begin_ns, now), 0, PMTOP_UNKNOWN, PMTOP_UNKNOWN,
		lane->head + 1 };
	unsigned notes = frame->notes & PMTOP_I_NOTES;
	sample.self_ns = pmtop_i_since(frame->inner_ns, sample.duration_ns);
	if (__builtin_expect(notes != 0, 0)) {
		if (notes & PMTOP_NOTE_CPU)
			sample.cpu_ns = pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID) - frame->cpu_ns;
		int64_t resident = frame->memory_bytes < 0 ? -1 : pmtop_i_resident_bytes(lane->pm);
		if (resident >= 0)
			sample.memory_bytes = (uint64_t)(resident - frame->memory_bytes);
	}
	lane->depth = depth;
	PMTOP_I_PUBLISH(lane->shared->open_count, depth); /* no sequence needed: the entries below do not change */
	pmtop_i_span_note(lane, frame->name, depth, now, notes, &sample);
	if (!depth && __builtin_expect(pmtop_i_since(PMTOP_I_GET(lane->pm->touched_ns), now) >= PMTOP_I_TOUCH_NS, 0))
		pmtop_i_touch(lane->pm, now);
}

static __attribute__((noinline)) void pmtop_i_pop_more(struct pmtop_i_lane *lane, uint64_t now)
{
	pmtop_i_pop(lane, now);
}

/* No span is open, or the innermost one exceeded the stack. */
static __attribute__((noinline)) void pmtop_i_end_unnoted(struct pmtop_i_lane *lane)
{
	if (lane->depth)
		lane->depth--;
	else if (lane->unwound)
		lane->unwound--;
	else
		pmtop_i_refuse(lane->pm, PMTOP_REFUSED_ORDER);
}

/* span_end(): if the batch's end has already ended its span, it must not end an enclosing scope. */
static inline __attribute__((always_inline)) void pmtop_i_span_end(struct pmtop_i_lane *lane)
{
	uint32_t depth = lane->depth - 1;
	if (__builtin_expect(depth >= PMTOP_OPEN_SPANS, 0)) {
		pmtop_i_end_unnoted(lane);
		return;
	}
	if (__builtin_expect(lane->unwound != 0, 0) && !(lane->frames[depth].notes & PMTOP_I_BY_CALL)) {
		lane->unwound--;
		return;
	}
	pmtop_i_pop(lane, pmtop_i_clock(CLOCK_MONOTONIC));
}

/* Ends the spans left open in the innermost scope. */
static __attribute__((noinline)) void pmtop_i_end_left_open(struct pmtop_i_lane *lane)
{
	uint64_t now = pmtop_i_clock(CLOCK_MONOTONIC);
	uint32_t scope = lane->depth - 1;
	while (scope && lane->frames[scope].notes & PMTOP_I_BY_CALL)
		scope--;
	while (!(lane->frames[scope].notes & PMTOP_I_BY_CALL) && lane->depth - 1 > scope)
		pmtop_i_pop_more(lane, now);
}

/* Ends a scope, and the spans left open in it. */
static inline __attribute__((always_inline)) void pmtop_i_scope_end(struct pmtop_i_lane *lane)
{
	uint32_t depth = lane->depth - 1;
	if (__builtin_expect(depth >= PMTOP_OPEN_SPANS, 0)) {
		pmtop_i_end_unnoted(lane);
		return;
	}
	if (__builtin_expect((lane->frames[depth].notes & PMTOP_I_BY_CALL) != 0, 0))
		pmtop_i_end_left_open(lane);
	pmtop_i_pop(lane, pmtop_i_clock(CLOCK_MONOTONIC));
}

/* Ends the spans begun by span_begin() since `since_ns` that are still open because an error skipped their ends. */
static __attribute__((noinline)) void pmtop_i_unwind_more(struct pmtop_i_lane *lane, uint64_t since_ns, uint64_t now)
{
	lane->depth = lane->depth < PMTOP_OPEN_SPANS ? lane->depth : PMTOP_OPEN_SPANS;
	for (; lane->depth; lane->unwound++) {
		const struct pmtop_i_frame *frame = &lane->frames[lane->depth - 1];
		if (!(frame->notes & PMTOP_I_BY_CALL) || frame->begin_ns < since_ns)
			return;
		pmtop_i_pop_more(lane, now);
	}
}

static inline void pmtop_i_unwind(struct pmtop_i_lane *lane, uint64_t since_ns, uint64_t now)
{
	lane->unwound = 0;
	if (__builtin_expect(lane->depth != 0, 0))
		pmtop_i_unwind_more(lane, since_ns, now);
}

uint64_t pmtop_now(void) { return pmtop_i_clock(CLOCK_MONOTONIC); }

/* Cuts a span that ends in the future or begins before its enclosing span. */
void pmtop_span_past(struct pmtop *pm, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	uint64_t now = pmtop_i_clock(CLOCK_MONOTONIC);
	uint32_t depth = lane->depth < PMTOP_OPEN_SPANS ? lane->depth : PMTOP_OPEN_SPANS;
	end_ns = end_ns < now ? end_ns : now;
	if (depth && begin_ns < lane->frames[depth - 1].begin_ns)
		begin_ns = lane->frames[depth - 1].begin_ns;
	uint64_t duration = pmtop_i_since(begin_ns, end_ns);
	struct pmtop_i_sample sample = { duration, duration, PMTOP_UNKNOWN, PMTOP_UNKNOWN, lane->head + 1 };
	pmtop_i_span_note(lane, pmtop_i_name(lane, name), depth, end_ns, 0, &sample);
	pmtop_i_leave();
}

void pmtop_span_of_task(struct pmtop *pm, const struct pmtop_task_span *span)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	uint64_t now = pmtop_i_clock(CLOCK_MONOTONIC);
	uint64_t end_ns = span->end_ns < now ? span->end_ns : now, duration = pmtop_i_since(span->begin_ns, end_ns);
	struct pmtop_i_sample sample = { duration, pmtop_i_since(span->inner_ns, duration), PMTOP_UNKNOWN, PMTOP_UNKNOWN,
		lane->head + 1 };
	uint32_t name = pmtop_i_name(lane, span->name),
			 parent = span->parent && *span->parent ? pmtop_i_name(lane, span->parent) : 0;
	if (!parent && span->depth && span->depth <= lane->depth && span->depth <= PMTOP_OPEN_SPANS) {
		parent = lane->frames[span->depth - 1].name;
		lane->frames[span->depth - 1].inner_ns += duration;
	}
	pmtop_i_span_put(lane, name, parent, span->depth, end_ns, 0, &sample);
	pmtop_i_leave();
}

void pmtop_span_begin_noting(struct pmtop *pm, const char *name, unsigned notes)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	pmtop_i_span_begin(lane, pmtop_i_name(lane, name), (notes & PMTOP_I_NOTES) | PMTOP_I_BY_CALL);
	pmtop_i_leave();
}

void pmtop_span_begin(struct pmtop *pm, const char *name) { pmtop_span_begin_noting(pm, name, 0); }

void pmtop_span_end(struct pmtop *pm)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	pmtop_i_span_end(lane);
	pmtop_i_leave();
}

struct pmtop_scope pmtop_scope_begin(struct pmtop *pm, struct pmtop_site *site, const char *name, unsigned notes)
{
	struct pmtop_scope scope = { NULL, 1 };
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (lane) {
		scope.pm = pm;
		pmtop_i_span_begin(lane, pmtop_i_site_name(lane, site, name), notes & PMTOP_I_NOTES);
		pmtop_i_leave();
	}
	return scope;
}

void pmtop_scope_end(struct pmtop_scope *scope)
{
	struct pmtop_i_lane *lane = scope->pm ? pmtop_i_enter(scope->pm) : NULL;
	if (!lane)
		return;
	pmtop_i_scope_end(lane);
	pmtop_i_leave();
}

/* -- gauges, counters, marks -- */

/* A name's entry in one of the two tables; NULL: the table is full. */
static struct pmtop_value *pmtop_i_value(struct pmtop *pm, uint32_t name, int is_gauge)
{
	uint16_t *index = is_gauge ? &pm->gauge_of[name] : &pm->counter_of[name];
	struct pmtop_value *values = is_gauge ? pm->gauges : pm->counters;
	uint32_t *count = is_gauge ? &pm->gauge_count : &pm->counter_count;
	if (!__atomic_load_n(index, __ATOMIC_ACQUIRE) && pmtop_i_lock(&pm->wiped.names_lock)) {
		if (!*index && *count < PMTOP_VALUES) {
			PMTOP_I_SET(values[*count].name, name);
			++*count;
			PMTOP_I_PUBLISH(*(is_gauge ? &pm->state->gauge_count : &pm->state->counter_count), *count);
			PMTOP_I_PUBLISH(*index, (uint16_t)*count);
		}
		pmtop_i_unlock(&pm->wiped.names_lock);
	}
	uint16_t at = PMTOP_I_GET(*index);
	if (at)
		return &values[at - 1];
	pmtop_i_refuse(pm, PMTOP_REFUSED_FULL);
	return NULL;
}

static inline void pmtop_i_gauge(struct pmtop_i_lane *lane, uint32_t name, uint64_t now, double value)
{
	struct pmtop_slot *slot = pmtop_i_record(lane, PMTOP_EVENT_GAUGE, name, now, 8);
	uint16_t at = __atomic_load_n(&lane->pm->gauge_of[name], __ATOMIC_ACQUIRE);
	PMTOP_I_SET(slot->payload[0], pmtop_i_bits(value));
	pmtop_i_recorded(lane, slot);
	struct pmtop_value *entry =
		__builtin_expect(at != 0, 1) ? &lane->pm->gauges[at - 1] : pmtop_i_value(lane->pm, name, 1);
	if (entry)
		PMTOP_I_SET(entry->value, pmtop_i_bits(value));
}

static inline void pmtop_i_count(struct pmtop_i_lane *lane, uint32_t name, uint64_t add)
{
	struct pmtop_value *value = pmtop_i_value(lane->pm, name, 0);
	if (value)
		__atomic_fetch_add(&value->value, add, __ATOMIC_RELAXED);
}

void pmtop_gauge(struct pmtop *pm, const char *name, double value)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	uint64_t now = pmtop_i_clock(CLOCK_MONOTONIC);
	pmtop_i_gauge(lane, pmtop_i_name(lane, name), now, value);
	pmtop_i_leave();
}

void pmtop_gauge_at(struct pmtop *pm, struct pmtop_site *site, const char *name, double value)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	/* read first: the rest overlaps with the program's next instructions */
	uint64_t now = pmtop_i_clock(CLOCK_MONOTONIC);
	pmtop_i_gauge(lane, pmtop_i_site_name(lane, site, name), now, value);
	pmtop_i_leave();
}

void pmtop_count(struct pmtop *pm, const char *name, uint64_t add)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	pmtop_i_count(lane, pmtop_i_name(lane, name), add);
	pmtop_i_leave();
}

void pmtop_count_at(struct pmtop *pm, struct pmtop_site *site, const char *name, uint64_t add)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	if (!lane)
		return;
	pmtop_i_count(lane, pmtop_i_site_name(lane, site, name), add);
	pmtop_i_leave();
}

/* A short text is stored in the event; only longer ones use the name table. */
void pmtop_mark(struct pmtop *pm, const char *text)
{
	struct pmtop_i_lane *lane = text ? pmtop_i_enter(pm) : NULL;
	if (!lane)
		return;
	uint64_t words[5] = { 0, 0, 0, 0, 0 };
	size_t length = pmtop_i_fit(text, sizeof words);
	uint32_t name = text[length] ? pmtop_i_name(lane, text) : 0;
	if (name == PMTOP_I_TOO_MANY)
		name = 0;
	memcpy(words, text, length);
	struct pmtop_slot *slot = pmtop_i_record(lane, PMTOP_EVENT_MARK, name, pmtop_i_clock(CLOCK_MONOTONIC), length);
	for (int i = 0; i < 5; i++)
		PMTOP_I_SET(slot->payload[i], words[i]);
	pmtop_i_recorded(lane, slot);
	pmtop_i_leave();
}

/* -- reading back -- */

static int pmtop_i_is_own(struct pmtop *pm) { return pm && PMTOP_I_GET(pm->wiped.generation); }

uint64_t pmtop_batch_number(struct pmtop *pm) { return pmtop_i_is_own(pm) ? PMTOP_I_GET(pm->batches) : 0; }

/* Batch times of all lanes and modes; unknown if some found no total. */
static void pmtop_i_batch_figures(struct pmtop *pm, struct pmtop_statistics *out)
{
	uint64_t count = 0, sum_ns = 0, min_ns = UINT64_MAX, max_ns = 0;
	for (uint32_t i = 0; i < pm->total_count; i++) {
		const struct pmtop_total *total = &pm->totals[i];
		if (total->kind != PMTOP_TOTAL_BATCH)
			continue;
		count += total->count;
		sum_ns += total->total_ns;
		min_ns = total->min_ns < min_ns ? total->min_ns : min_ns;
		max_ns = total->max_ns > max_ns ? total->max_ns : max_ns;
	}
	if (!count || count != out->num_batches)
		return;
	out->total_batch_time = (double)sum_ns * 1e-9;
	out->avg_batch_time = out->total_batch_time / (double)count;
	out->min_batch_time = (double)min_ns * 1e-9;
	out->max_batch_time = (double)max_ns * 1e-9;
}

void pmtop_get_statistics(struct pmtop *pm, struct pmtop_statistics *out)
{
	if (!out)
		return;
	const double nothing = __builtin_nan("");
	out->total_epoch_time = out->avg_epoch_time = out->total_batch_time = out->avg_batch_time = nothing;
	out->min_batch_time = out->max_batch_time = nothing;
	out->num_batches = out->num_epochs = 0;
	if (!pmtop_i_is_own(pm) || !pmtop_i_lock(&pm->wiped.state_lock))
		return;
	out->num_batches = pm->batches;
	out->num_epochs = pm->epochs_ended;
	if (pm->epochs_ended) {
		out->total_epoch_time = (double)pm->epochs_ns * 1e-9;
		out->avg_epoch_time = out->total_epoch_time / (double)pm->epochs_ended;
	}
	pmtop_i_batch_figures(pm, out);
	pmtop_i_unlock(&pm->wiped.state_lock);
}

/* Sums up spans by name, or the outermost ones if name is 0. */
static double pmtop_i_span_seconds(struct pmtop *pm, uint32_t name)
{
	uint64_t sum_ns = 0, found = 0;
	uint32_t count = __atomic_load_n(&pm->state->total_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < pm->options.totals; i++) {
		const struct pmtop_total *total = &pm->totals[i];
		if (total->kind != PMTOP_TOTAL_SPAN || (name ? total->name != name : total->parent != 0))
			continue;
		sum_ns += PMTOP_I_GET(total->total_ns);
		found += PMTOP_I_GET(total->count);
	}
	return found ? (double)sum_ns * 1e-9 : __builtin_nan("");
}

double pmtop_get_total_time(struct pmtop *pm)
{
	return pmtop_i_is_own(pm) ? pmtop_i_span_seconds(pm, 0) : __builtin_nan("");
}

double pmtop_get_operation_time(struct pmtop *pm, const char *name)
{
	if (!pmtop_i_is_own(pm) || !name)
		return __builtin_nan("");
	uint32_t number = PMTOP_I_GET(*pmtop_i_name_entry(pm, name, pmtop_i_fit(name, PMTOP_NAME_LENGTH)));
	return number ? pmtop_i_span_seconds(pm, number) : __builtin_nan("");
}

/* -- making and removing a region -- */

static void pmtop_i_random(void *out, size_t size)
{
	if (syscall(SYS_getrandom, out, size, 1u) == (long)size)
		return;
	uint64_t x = pmtop_i_clock(CLOCK_MONOTONIC) ^ (uint64_t)getpid() << 40 ^ (uintptr_t)out;
	for (size_t i = 0; i < size; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		((unsigned char *)out)[i] = (unsigned char)(x >> 56);
	}
}

static void pmtop_i_boot_id(uint8_t out[16])
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0, digits = 0; i < length && digits < 32; i++) {
		int c = text[i], digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
		if (digit < 0)
			continue;
		out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | digit);
		digits++;
	}
}

/* Computes the layout of the sections; returns the region's size. */
static uint64_t pmtop_i_layout(const struct pmtop_options *options, struct pmtop_section sections[PMTOP_SECTION_TYPES])
{
	const struct {
		uint32_t type;
		size_t entry_size;
		uint64_t count;
	} rows[] = {
		{ PMTOP_SECTION_STATE, sizeof(struct pmtop_state), 1 },
		{ PMTOP_SECTION_LANES, sizeof(struct pmtop_lane), options->lanes },
		{ PMTOP_SECTION_GAUGES, sizeof(struct pmtop_value), PMTOP_VALUES },
		{ PMTOP_SECTION_COUNTERS, sizeof(struct pmtop_value), PMTOP_VALUES },
		{ PMTOP_SECTION_META, sizeof(struct pmtop_meta_entry), PMTOP_METAS },
		{ PMTOP_SECTION_NAMES, sizeof(struct pmtop_name), options->names },
		{ PMTOP_SECTION_NAME_BYTES, 1, options->names * UINT64_C(64) },
		{ PMTOP_SECTION_EPOCHS, sizeof(struct pmtop_epoch), options->epochs },
		{ PMTOP_SECTION_TALLIES, sizeof(struct pmtop_tally), pmtop_i_tallies(options) },
		{ PMTOP_SECTION_HISTORY, sizeof(struct pmtop_bin), options->history },
		{ PMTOP_SECTION_TOTALS, sizeof(struct pmtop_total), options->totals },
		{ PMTOP_SECTION_SLOTS, sizeof(struct pmtop_slot), (uint64_t)options->lanes * options->slots },
	};
	uint64_t offset = PMTOP_HEADER_SIZE;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct pmtop_section *section = &sections[rows[i].type];
		section->type = rows[i].type;
		section->entry_size = (uint32_t)rows[i].entry_size;
		section->count = rows[i].count;
		section->size = rows[i].entry_size * rows[i].count;
		section->offset = offset;
		offset = (offset + section->size + 63) & ~UINT64_C(63);
	}
	return (offset + 4095) & ~UINT64_C(4095);
}

static void pmtop_i_write_header(struct pmtop *pm, const struct pmtop_section sections[PMTOP_SECTION_TYPES])
{
	struct pmtop_header *header = (struct pmtop_header *)(void *)pm->base;
	struct stat status;
	memcpy(header->magic, PMTOP_MAGIC, sizeof header->magic);
	header->abi_major = PMTOP_ABI_MAJOR;
	header->abi_minor = PMTOP_ABI_MINOR;
	header->endian = PMTOP_ENDIAN;
	header->header_size = PMTOP_HEADER_SIZE;
	header->file_size = pm->size;
	memcpy(header->uuid, pm->uuid, 16);
	memcpy(header->parent_uuid, pm->parent_uuid, 16);
	pmtop_i_boot_id(header->boot_id);
	header->pid = (int32_t)getpid();
	header->uid = (uint32_t)geteuid();
	header->pid_namespace = stat("/proc/self/ns/pid", &status) ? 0 : (uint64_t)status.st_ino;
	header->clock_id = PMTOP_CLOCK_MONOTONIC;
	header->section_count = PMTOP_SECTION_TYPES - 1;
	header->start_ns = pmtop_i_clock(CLOCK_MONOTONIC);
	header->start_realtime_ns = pmtop_i_clock(CLOCK_REALTIME);
	header->start_boottime_ns = pmtop_i_clock(CLOCK_BOOTTIME);
	memcpy(header->sections, sections + 1, (PMTOP_SECTION_TYPES - 1) * sizeof sections[0]);
	header->crc = pmtop_crc32c(header, offsetof(struct pmtop_header, crc));
}

static void pmtop_i_find_parts(struct pmtop *pm, const struct pmtop_section sections[PMTOP_SECTION_TYPES])
{
#define PMTOP_I_PART(type, section) ((type *)(void *)(pm->base + sections[section].offset))
	pm->state = PMTOP_I_PART(struct pmtop_state, PMTOP_SECTION_STATE);
	pm->shared_lanes = PMTOP_I_PART(struct pmtop_lane, PMTOP_SECTION_LANES);
	pm->slots = PMTOP_I_PART(struct pmtop_slot, PMTOP_SECTION_SLOTS);
	pm->gauges = PMTOP_I_PART(struct pmtop_value, PMTOP_SECTION_GAUGES);
	pm->counters = PMTOP_I_PART(struct pmtop_value, PMTOP_SECTION_COUNTERS);
	pm->metas = PMTOP_I_PART(struct pmtop_meta_entry, PMTOP_SECTION_META);
	pm->names = PMTOP_I_PART(struct pmtop_name, PMTOP_SECTION_NAMES);
	pm->name_bytes = PMTOP_I_PART(char, PMTOP_SECTION_NAME_BYTES);
	pm->epochs = PMTOP_I_PART(struct pmtop_epoch, PMTOP_SECTION_EPOCHS);
	pm->tallies = PMTOP_I_PART(struct pmtop_tally, PMTOP_SECTION_TALLIES);
	pm->bins = PMTOP_I_PART(struct pmtop_bin, PMTOP_SECTION_HISTORY);
	pm->totals = PMTOP_I_PART(struct pmtop_total, PMTOP_SECTION_TOTALS);
#undef PMTOP_I_PART
}

struct pmtop_i_names {
	const struct pmtop_name *names;
	const char *bytes;
	uint32_t count;
};

/* Names keep their numbers in a child, so that the caches of call sites stay valid. */
static void pmtop_i_fill_names(struct pmtop *pm, const struct pmtop_i_names *parents)
{
	memset(pm->name_table, 0, (pm->name_table_mask + 1u) * sizeof pm->name_table[0]);
	pm->name_count = pm->name_used = 0;
	if (!parents)
		pmtop_i_name_add(pm, "(too many names)", 16);
	for (uint32_t i = 0; parents && i < parents->count; i++)
		pmtop_i_name_add(pm, parents->bytes + parents->names[i].offset, parents->names[i].length);
}

/* Resets all state that belongs to one region. */
static void pmtop_i_reset(struct pmtop *pm)
{
	memset(pm->lanes, 0, pm->options.lanes * sizeof pm->lanes[0]);
	for (uint32_t i = 0; i < pm->options.lanes; i++) {
		struct pmtop_i_lane *lane = &pm->lanes[i];
		lane->pm = pm;
		lane->index = i;
		lane->shared = &pm->shared_lanes[i];
		lane->slots = pm->slots + (size_t)i * pm->options.slots;
		lane->mask = pm->options.slots - 1;
		lane->head = lane->shared->head = PMTOP_I_FIRST_EVENT;
		lane->schedstat.fd = -1;
	}
	memset(pm->gauge_of, 0, (pm->options.names + 1) * sizeof pm->gauge_of[0]);
	memset(pm->counter_of, 0, (pm->options.names + 1) * sizeof pm->counter_of[0]);
	memset(&pm->batch, 0, sizeof pm->batch);
	pm->epochs_ended = pm->epochs_ns = 0;
	pm->gauge_count = pm->counter_count = pm->total_count = pm->tally_count = pm->meta_count = 0;
	pm->mode = pm->flags = pm->epochs_begun = pm->epoch_index = pm->epoch_mode = 0;
	pm->epoch_begin_ns = pm->samples_per_batch = pm->batches = pm->bin_count = 0;
	pm->per_bin = 1;
	pm->touched_ns = pmtop_i_clock(CLOCK_MONOTONIC);
	pm->statm.fd = -1;
	pm->state->loss_bits = pmtop_i_bits(__builtin_nan(""));
	memcpy(pm->state->run_name, pm->run_name, sizeof pm->run_name);
}

/* Allocates all blocks: on a full tmpfs only posix_fallocate fails, and later stores would raise SIGBUS. */
static int pmtop_i_allocate(struct pmtop *pm, int fd)
{
	if (fd < 0 || (errno = posix_fallocate(fd, 0, (off_t)pm->size)))
		return 0;
	struct stat status;
	if (fstat(fd, &status))
		return 0;
	void *base = mmap(NULL, pm->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (base == MAP_FAILED)
		return 0;
	pm->base = (char *)base;
	pm->file.fd = fd;
	pm->file.device = status.st_dev;
	pm->file.inode = status.st_ino;
	return 1;
}

static int pmtop_i_open_named(struct pmtop *pm)
{
	struct statfs system;
	int fd = open(pm->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pm->path[0] = '\0';
	if (fd >= 0 && !fstatfs(fd, &system) && (unsigned long)system.f_type == PMTOP_I_TMPFS && !fchmod(fd, 0600) &&
		pmtop_i_allocate(pm, fd))
		return 1;
	if (fd >= 0)
		close(fd);
	return 0;
}

static int pmtop_i_open_memfd(struct pmtop *pm)
{
	int fd = (int)syscall(SYS_memfd_create, "pmtop", 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
	pm->path[0] = '\0';
	if (fd >= 0 && pmtop_i_allocate(pm, fd))
		return 1;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Makes a complete region visible. */
static int pmtop_i_show_named(struct pmtop *pm)
{
	char link[64];
	uint64_t random;
	pmtop_i_random(&random, sizeof random);
	snprintf(link, sizeof link, "/proc/self/fd/%d", pm->file.fd);
	int length = snprintf(pm->path, sizeof pm->path, "%s/pmtop.%u.%d.%016llx", pm->directory, (unsigned)geteuid(),
		(int)getpid(), (unsigned long long)random);
	if (length > 0 && (size_t)length < sizeof pm->path &&
		!linkat(AT_FDCWD, link, AT_FDCWD, pm->path, AT_SYMLINK_FOLLOW))
		return 1;
	pm->path[0] = '\0';
	return 0;
}

static int pmtop_i_show_memfd(struct pmtop *pm)
{
	return !fcntl(pm->file.fd, 1033 /* F_ADD_SEALS */, 7 /* F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW */);
}

static void pmtop_i_drop_region(struct pmtop *pm)
{
	munmap(pm->base, pm->size);
	pmtop_i_file_close(&pm->file);
	pm->base = NULL;
}

/* Limits a region to an eighth of the free space, and all regions of a user to a quarter of the file system, because
 * other programs need /dev/shm too. Reduces the ring and the totals first. False: impossible. */
static int pmtop_i_shrink(struct pmtop *pm, struct pmtop_section sections[PMTOP_SECTION_TYPES])
{
	struct statfs system;
	struct pmtop_options *options = &pm->options, asked = pm->options;
	if (statfs(pm->directory, &system))
		return 1; /* the open will report the error */
	if (!system.f_blocks)
		return 1; /* a tmpfs without a limit */
	uint64_t most = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize / 8,
			 quarter = (uint64_t)system.f_blocks * (uint64_t)system.f_bsize / 4;
	quarter = quarter > pm->neighbour_bytes ? quarter - pm->neighbour_bytes : 0;
	most = most < quarter ? most : quarter;
	if (system.f_files && system.f_ffree < PMTOP_I_FILES_LEFT)
		most = 0;
	for (unsigned i = 0; pm->size > most && i < PMTOP_I_HALVINGS; i++) {
		options->slots = options->slots > 64 ? options->slots / 2 : options->slots;
		options->totals = options->totals > 32 ? options->totals / 2 : options->totals;
		options->epochs = options->epochs > 64 ? options->epochs / 2 : options->epochs;
		options->history = options->history > 256 ? options->history / 2 : options->history;
		pm->size = pmtop_i_layout(options, sections);
	}
	if (pm->size <= most)
		return 1;
	*options = asked;
	pm->size = pmtop_i_layout(options, sections);
	return 0;
}

/* Creates the process's region; false: impossible. `parents`: the parent's names, in a child. */
static int pmtop_i_make(struct pmtop *pm, const struct pmtop_i_names *parents)
{
	struct pmtop_section sections[PMTOP_SECTION_TYPES];
	struct flock lock;
	struct rlimit limit;
	memset(sections, 0, sizeof sections);
	memset(&lock, 0, sizeof lock);
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	pm->size = pmtop_i_layout(&pm->options, sections);
	int has_room = !pm->directory[0] || pmtop_i_shrink(pm, sections);
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < pm->size) {
		errno = EFBIG; /* allocating would raise SIGXFSZ */
		return 0;
	}
	pmtop_i_random(pm->uuid, sizeof pm->uuid);
	pm->uuid[6] = (uint8_t)((pm->uuid[6] & 0x0f) | 0x40);
	pm->uuid[8] = (uint8_t)((pm->uuid[8] & 0x3f) | 0x80);
	for (int is_memfd = !pm->directory[0] || !has_room; is_memfd < 2; is_memfd++) {
		if (!(is_memfd ? pmtop_i_open_memfd(pm) : pmtop_i_open_named(pm)))
			continue;
		pmtop_i_find_parts(pm, sections);
		pmtop_i_reset(pm);
		pmtop_i_fill_names(pm, parents);
		pmtop_i_write_header(pm, sections);
		if (!fcntl(pm->file.fd, F_SETLK, &lock) && !flock(pm->file.fd, LOCK_EX | LOCK_NB) &&
			(is_memfd ? pmtop_i_show_memfd(pm) : pmtop_i_show_named(pm))) {
			PMTOP_I_PUBLISH(pm->wiped.generation, __atomic_add_fetch(&pmtop_i_generations, 1, __ATOMIC_RELAXED));
			return 1;
		}
		pmtop_i_drop_region(pm);
	}
	return 0;
}

/* Blocks signals: one would restart posix_fallocate, and its handler may publish. */
static int pmtop_i_make_undisturbed(struct pmtop *pm, const struct pmtop_i_names *parents)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int made = pmtop_i_make(pm, parents);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return made;
}

/* A region of this user without a writer. Its time is that of the last sign of life, accurate to a minute. */
struct pmtop_i_dead {
	struct timespec time;
	uint64_t bytes;
	int is_child;
	char name[64];
};

/* A writer holds a POSIX lock, which is lost when its program closes any descriptor of the file. It also holds a
 * flock(2) lock, which lasts as long as the mapping, even in children that outlive it; writers with the first header of
 * ABI 1.0 do not hold it. */
static int pmtop_i_is_dead(int folder, const char *name, int fd, struct pmtop_i_dead *out)
{
	static const uint8_t none[16] = { 0 };
	uint8_t parent[16];
	struct stat before, after;
	struct flock lock;
	memset(&lock, 0, sizeof lock);
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	if (fstat(fd, &before) || !S_ISREG(before.st_mode) || before.st_uid != geteuid() || fcntl(fd, F_SETLK, &lock) ||
		flock(fd, LOCK_EX | LOCK_NB) || fstatat(folder, name, &after, AT_SYMLINK_NOFOLLOW) ||
		after.st_dev != before.st_dev || after.st_ino != before.st_ino)
		return 0;
	out->time = before.st_mtim;
	out->is_child =
		pread(fd, parent, sizeof parent, offsetof(struct pmtop_header, parent_uuid)) == (ssize_t)sizeof parent &&
		memcmp(parent, none, sizeof none) != 0;
	out->bytes = (uint64_t)before.st_blocks * 512u;
	memcpy(out->name, name, strlen(name) + 1);
	return 1;
}

/* Describes the named region in *out if its writer is dead; with `remove`, also removes it while locked. Adds the size
 * of a live one to *live. */
static int pmtop_i_look_at_dead(int folder, const char *name, struct pmtop_i_dead *out, int remove, uint64_t *live)
{
	struct stat status;
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int is_dead = fd >= 0 && pmtop_i_is_dead(folder, name, fd, out);
	if (fd >= 0 && !is_dead && live && !fstat(fd, &status) && status.st_uid == geteuid())
		*live += (uint64_t)status.st_blocks * 512u;
	if (is_dead && remove)
		unlinkat(folder, name, 0);
	if (fd >= 0)
		close(fd);
	return is_dead;
}

/* Does this process map a file with this inode, on any file system? /proc/PID/maps is "addresses rights offset device
 * inode path". */
static int pmtop_i_is_mapped(uint64_t inode)
{
	char text[4096];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), field = 0, found = fd < 0;
	uint64_t number = 0;
	ssize_t length;
	while (!found && (length = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < length && !found; i++) {
			if (field == 4 && text[i] >= '0' && text[i] <= '9') {
				number = number * 10 + (uint64_t)(text[i] - '0');
			} else if (text[i] == ' ' || text[i] == '\n') {
				found = field == 4 && number == inode;
				field = text[i] == '\n' ? 0 : field + 1;
				number = 0;
			}
		}
	if (fd >= 0)
		close(fd);
	return found;
}

/* Is it a region of this user that this process does not have open? Closing an own one would drop its lock. Another pid
 * namespace may have the same pids. */
static int pmtop_i_is_others(int folder, const char *name)
{
	struct stat status;
	unsigned uid;
	int pid, end = 0;
	return strlen(name) < sizeof((struct pmtop_i_dead *)0)->name &&
		sscanf(name, "pmtop.%u.%d.%n", &uid, &pid, &end) == 2 && end && uid == (unsigned)geteuid() &&
		(pid != (int)getpid() ||
			(!fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) && !pmtop_i_is_mapped((uint64_t)status.st_ino)));
}

/* The order of removal: forked children before runs, older before newer. */
static int pmtop_i_is_less(const struct pmtop_i_dead *a, const struct pmtop_i_dead *b)
{
	if (a->is_child != b->is_child)
		return a->is_child;
	return a->time.tv_sec != b->time.tv_sec ? a->time.tv_sec < b->time.tv_sec : a->time.tv_nsec < b->time.tv_nsec;
}

/* Inserts into the sorted list of the PMTOP_I_DEAD regions to retain; the one that does not fit is removed. */
static void pmtop_i_sort_in(int folder, struct pmtop_i_dead *newest, unsigned *count, const struct pmtop_i_dead *dead)
{
	struct pmtop_i_dead ignored;
	unsigned at = *count;
	while (at > 0 && pmtop_i_is_less(&newest[at - 1], dead))
		at--;
	if (*count == PMTOP_I_DEAD)
		pmtop_i_look_at_dead(folder, at == PMTOP_I_DEAD ? dead->name : newest[--*count].name, &ignored, 1, NULL);
	if (at == PMTOP_I_DEAD)
		return;
	memmove(&newest[at + 1], &newest[at], (*count - at) * sizeof *newest);
	newest[at] = *dead;
	++*count;
}

/* Removes old regions of this user's dead processes. Retains the newest for a day, runs before their children, as long
 * as they take at most a tenth of the file system together with live regions and the new one of `size`; the newest run
 * is always retained. Also called in a forked child, so only async-signal-safe functions are allowed: no opendir.
 * pm->neighbour_bytes is the total size of dead and live regions. */
static void pmtop_i_clean(struct pmtop *pm, uint64_t size)
{
	struct pmtop_i_dead newest[PMTOP_I_DEAD], dead;
	struct statfs system;
	struct timespec now;
	unsigned count = 0;
	uint64_t bytes = size, room;
	long length;
	char entries[4096];
	int folder = pm->directory[0] ? open(pm->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	pm->neighbour_bytes = 0;
	if (folder < 0)
		return;
	while ((length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
		for (long at = 0; at < length;) {
			uint16_t step; /* struct linux_dirent64: inode, offset (8 bytes each), size, type, name */
			memcpy(&step, entries + at + 16, sizeof step);
			const char *name = entries + at + 19;
			if (pmtop_i_is_others(folder, name) && pmtop_i_look_at_dead(folder, name, &dead, 0, &bytes))
				pmtop_i_sort_in(folder, newest, &count, &dead);
			at += step;
		}
	clock_gettime(CLOCK_REALTIME, &now);
	room = fstatfs(folder, &system) ? 0
		: system.f_blocks           ? (uint64_t)system.f_blocks * (uint64_t)system.f_bsize / 10
									: UINT64_MAX;
	pm->neighbour_bytes = bytes - size;
	for (unsigned i = 0; i < count; i++) {
		int is_kept = i == 0 && !newest[i].is_child && newest[i].bytes <= room;
		bytes += newest[i].bytes;
		if ((bytes > room && !is_kept) || now.tv_sec - newest[i].time.tv_sec > PMTOP_I_STALE_S)
			pmtop_i_look_at_dead(folder, newest[i].name, &dead, 1, NULL);
		else
			pm->neighbour_bytes += newest[i].bytes;
	}
	close(folder);
}

/* The first call in a forked child: reads the parent's region and releases it. */
static int pmtop_i_become_child(struct pmtop *pm)
{
	if (__atomic_exchange_n(&pm->wiped.making, 1u, __ATOMIC_ACQUIRE))
		return 0; /* another thread is creating the region, or it was impossible */
	struct pmtop_i_names parents = { pm->names, pm->name_bytes,
		__atomic_load_n(&pm->state->name_count, __ATOMIC_ACQUIRE) };
	char *base = pm->base;
	for (uint32_t i = 0; i < pm->options.lanes; i++)
		pmtop_i_file_close(&pm->lanes[i].schedstat);
	pmtop_i_file_close(&pm->statm);
	pmtop_i_file_close(&pm->file);
	pm->base = NULL;
	memcpy(pm->parent_uuid, pm->uuid, sizeof pm->uuid);
	uint64_t size = pm->size;
	pmtop_i_clean(pm, size);
	int made = pmtop_i_make_undisturbed(pm, &parents);
	munmap(base, size);
	return made;
}

static uint32_t pmtop_i_within(uint32_t value, uint32_t otherwise, uint32_t most)
{
	return !value ? otherwise : value > most ? most : value;
}

static struct pmtop_options pmtop_i_options(const struct pmtop_options *given)
{
	struct pmtop_options options;
	uint32_t slots = 16;
	memset(&options, 0, sizeof options);
	if (given)
		memcpy(&options, given, given->size && given->size < sizeof options ? given->size : sizeof options);
	options.lanes = pmtop_i_within(options.lanes, 16, 255) + 1; /* the last one is reserved for batches */
	options.slots = pmtop_i_within(options.slots, 1024, 65536);
	options.totals = pmtop_i_within(options.totals, 256, 16384);
	options.names = pmtop_i_within(options.names, 1024, 65536);
	while (slots < options.slots)
		slots *= 2;
	options.slots = slots;
	options.epochs = pmtop_i_within(options.epochs, PMTOP_EPOCHS, PMTOP_EPOCHS);
	for (slots = 16; slots < PMTOP_BINS && options.history && slots < options.history;)
		slots *= 2;
	options.history = options.history ? slots : PMTOP_BINS;
	return options;
}

/* One private mapping holds all private data, so that nothing is allocated later. */
static struct pmtop *pmtop_i_new(const struct pmtop_options *options)
{
	uint32_t table_size = 16;
	while (table_size < 2 * (options->names + 1))
		table_size *= 2;
	size_t lanes_at = (sizeof(struct pmtop) + 63) & ~(size_t)63;
	size_t table_at = lanes_at + options->lanes * sizeof(struct pmtop_i_lane);
	size_t gauges_at = table_at + table_size * sizeof(uint32_t);
	size_t counters_at = gauges_at + (options->names + 1) * sizeof(uint16_t);
	size_t size = counters_at + (options->names + 1) * sizeof(uint16_t);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, PMTOP_I_WIPED_SIZE, MADV_WIPEONFORK)) {
		munmap(memory, size);
		return NULL;
	}
	char *bytes = (char *)memory;
	struct pmtop *pm = (struct pmtop *)memory;
	pm->total_size = size;
	pm->lanes = (struct pmtop_i_lane *)(void *)(bytes + lanes_at);
	pm->name_table = (uint32_t *)(void *)(bytes + table_at);
	pm->name_table_mask = table_size - 1;
	pm->gauge_of = (uint16_t *)(void *)(bytes + gauges_at);
	pm->counter_of = (uint16_t *)(void *)(bytes + counters_at);
	pm->options = *options;
	pm->file.fd = pm->statm.fd = -1;
	return pm;
}

struct pmtop *pmtop_open(const char *run_name, const struct pmtop_options *given)
{
	int saved_errno = errno;
	struct pmtop_options options = pmtop_i_options(given);
	const char *directory = options.directory ? options.directory : "/dev/shm";
	struct pmtop_section sections[PMTOP_SECTION_TYPES];
	struct pmtop *pm = pmtop_i_new(&options);
	if (!pm)
		goto failed;
	if (!run_name || !*run_name)
		run_name = "run";
	memcpy(pm->run_name, run_name, pmtop_i_fit(run_name, sizeof pm->run_name - 1));
	if (strlen(directory) < sizeof pm->directory)
		memcpy(pm->directory, directory, strlen(directory));
	pm->options.directory = NULL;
	pm->names_generation = (uint32_t)__atomic_add_fetch(&pmtop_i_generations, 1, __ATOMIC_RELAXED);
	pm->has_key = !pthread_key_create(&pm->key, pmtop_i_thread_ended);
	memset(sections, 0, sizeof sections);
	pmtop_i_clean(pm, pmtop_i_layout(&pm->options, sections));
	if (pmtop_i_make_undisturbed(pm, NULL)) {
		errno = saved_errno;
		return pm;
	}
	if (pm->has_key)
		pthread_key_delete(pm->key);
	munmap(pm, pm->total_size);
failed:
	if (options.tell)
		dprintf(STDERR_FILENO, "pmtop: not publishing: no room in %s and no memfd (%s)\n", directory,
			errno == EFBIG ? "the limit on file sizes, ulimit -f, is too small" : strerror(errno));
	errno = saved_errno;
	return NULL;
}

static void pmtop_i_end_run(struct pmtop *pm)
{
	uint64_t now;
	struct stat status;
	struct pmtop_i_lane *lane = pmtop_i_enter_state(pm, &now);
	if (lane) {
		pmtop_i_end_step(lane, pm->batch.end_ns, lane->head);
		pm->flags |= PMTOP_ENDED;
		pmtop_i_leave_state(pm);
		pmtop_i_leave();
	}
	if (pm->path[0] && !lstat(pm->path, &status) && status.st_dev == pm->file.device && status.st_ino == pm->file.inode)
		unlink(pm->path);
}

void pmtop_close(struct pmtop *pm)
{
	int saved_errno = errno;
	if (!pm)
		return;
	if (pmtop_i_is_own(pm))
		pmtop_i_end_run(pm);
	if (pm->has_key)
		pthread_key_delete(pm->key);
	for (uint32_t i = 0; i < pm->options.lanes; i++)
		pmtop_i_file_close(&pm->lanes[i].schedstat);
	pmtop_i_file_close(&pm->statm);
	if (pm->base)
		pmtop_i_drop_region(pm);
	munmap(pm, pm->total_size);
	errno = saved_errno;
}

#ifdef __cplusplus
}
#endif
#endif /* PMTOP_IMPLEMENTATION_H */
