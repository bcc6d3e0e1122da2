/* reader.h: finds, opens and reads regions (pmtop-region(7)). Libc only; knows nothing of the rest of pmtop.
 *
 * The mapping is hostile: every offset is checked against the size, every count is bounded, everything is copied before
 * it is looked at, and only the copy is used. A region that shrinks under the reader gives REGION_CUT_SHORT, never a
 * SIGBUS. One reader belongs to one thread. Texts are given as the writer left them (bytes and a length): the caller
 * cleans them. Times are the writer's CLOCK_MONOTONIC; region_clock_offset_ns() says what to add to get the
 * reader's. */
#ifndef PMTOP_REGION_READER_H
#define PMTOP_REGION_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum region_status {
	REGION_OK = 0,
	REGION_NONE, /* there is no (further) region */
	REGION_DENIED,
	REGION_NOT_REGULAR,   /* symlink, FIFO, device … */
	REGION_WRONG_OWNER,   /* another uid, or an extra hard link */
	REGION_WRONG_VERSION, /* newer ABI, other endianness, unknown incompatible flag: named in the message */
	REGION_DAMAGED,       /* "region header damaged (lane 3)" */
	REGION_CUT_SHORT,     /* truncated under the reader */
	REGION_NO_MEMORY,
	REGION_IO,
	REGION_BUSY, /* being written just now (or its living writer stopped in the middle): ask again later */
};

enum { REGION_MESSAGE_SIZE = 160, REGION_PATH_SIZE = 320, REGION_LANES_MAX = 256 };

/* Where a region lies; how to open it again. */
struct region_location {
	/* in /dev/shm, or in what the process has there (its `root` in /proc), or its fd/N or map_files/… */
	char path[REGION_PATH_SIZE];
	uint64_t device, inode;
	bool is_descriptor_link; /* /proc/PID/fd/N or map_files: O_NOFOLLOW does not apply */
	bool is_memfd;
};

/* Regions mapped or held by `pid` (`directory_fd` = its /proc/PID), or none. Fills at most `max`; returns how many.
 * Loader workers inherit their parent's mapping: only a region whose header names `pid` (in its own namespace: NSpid)
 * is its own; others are left out. */
size_t region_find(int directory_fd, pid_t pid, struct region_location *out, size_t max);
/* Named regions of /dev/shm (live and left by the dead), for `pmtop list` and -s. */
/* `owner`: only those of that user; REGION_ANYBODY: all, as far as there is room. */
#define REGION_ANYBODY ((uid_t)-1)
size_t region_list(const char *shm_directory, uid_t owner, struct region_location *out, size_t max);

struct region_identity {
	uint32_t abi_major, abi_minor;
	uint8_t uuid[16], parent_uuid[16], boot_id[16];
	int32_t pid; /* in the writer's namespace */
	uint32_t uid;
	int64_t start_ns, start_realtime_ns;
	char run_name[128];
	bool is_live;       /* lock held or still mapped by its writer */
	int32_t writer_pid; /* as we see it, 0 = unknown */
};

struct region;

/* `owner`: the uid that the file must have. On failure `message` says what is wrong, for a person. */
enum region_status region_open(
	const struct region_location *location, uid_t owner, struct region **out, char message[REGION_MESSAGE_SIZE]);
void region_close(struct region *region);

enum region_status region_identify(struct region *region, struct region_identity *out);
/* To be added to a time of the writer to get ours (time namespaces); `directory_fd` of the writer's /proc/PID, −1 = not
 * known: 0. */
int64_t region_clock_offset_ns(const struct region *region, int directory_fd);
/* CLOCK_REALTIME, by the writer's own clocks: its newest event, or else its start. Never later than now. */
int64_t region_last_sign_ns(struct region *region);
/* Lock held (F_GETLK), or dev:ino still mapped by the process behind `directory_fd`. */
bool region_is_live(const struct region *region, int directory_fd);
/* The file at the location is still this one (row 21). True for memfds. */
bool region_is_in_place(const struct region *region);
/* Where it was opened. */
const char *region_path(const struct region *region);

/* -- what stands in it now; each copies under its sequence, REGION_CUT_SHORT or REGION_DAMAGED otherwise; REGION_BUSY
 * from region_read_total, _meta, _open_spans and the very first region_read_state only -- */

struct region_state {
	uint32_t mode;
	uint32_t epochs_planned;
	uint64_t batches_per_epoch, samples_per_batch;
	bool in_epoch, in_batch, is_ended;
	uint32_t epoch_index, epochs_begun;
	int64_t epoch_begin_ns;
	uint64_t batch_index, batches_in_epoch;
	int64_t batch_begin_ns;
	double loss;
	uint32_t refused_for[6]; /* by pmtop_refusal; all 0 where the writer does not publish reasons */
	/* signal-handler events, full tables, no lane, fork races: all that the writer dropped */
	uint64_t refused;
	uint32_t meta_count, gauge_count, counter_count;
	uint64_t version; /* changes when anything in the state or its lists changes */
};

enum region_status region_read_state(struct region *region, struct region_state *out);
/* One load: as long as it is the same and even, no batch or epoch has begun or ended. */
uint32_t region_state_sequence(const struct region *region);
/* The i-th; `key`/`value` are valid until the next call. */
enum region_status region_read_meta(
	struct region *region, uint32_t i, const char **key, size_t *key_length, const char **value, size_t *value_length);
enum region_status region_read_gauge(struct region *region, uint32_t i, uint32_t *name, double *value);
enum region_status region_read_counter(struct region *region, uint32_t i, uint32_t *name, double *total);
/* Names are numbered from 1 without gaps; *count published so far. */
uint32_t region_name_count(struct region *region);
enum region_status region_read_name(struct region *region, uint32_t id, const char **text, size_t *length);

struct region_total {
	uint32_t kind; /* 0 batch, 1 step, 2 span */
	uint32_t lane, mode, name, parent, depth;
	uint64_t upto, count;
	double total_s, self_s, min_s, max_s, last_s, squares_s2, cpu_s; /* NAN where not kept */
	double memory_bytes; /* growth, summed over the spans that noted it; NAN where none did */
	bool has_histogram;
	uint32_t histogram[962];
};
uint32_t region_total_count(struct region *region); /* entries claimed so far */
enum region_status region_read_total(struct region *region, uint32_t i, struct region_total *out);

struct region_bin {
	uint64_t first, count;
	double sum_s, min_s, max_s;
	int64_t begin_ns;
};
struct region_epoch {
	uint32_t index, mode;
	int64_t begin_ns, end_ns;
	uint64_t batches;
	double sum_s, min_s, max_s;
};
/* Fill at most `max`, oldest first; *count is what was filled. *upto: the batches of the run, of all modes, that are in
 * the epochs. */
enum region_status region_read_history(struct region *region, struct region_bin *out, size_t max, size_t *count);
enum region_status region_read_epochs(
	struct region *region, struct region_epoch *out, size_t max, size_t *count, uint64_t *dropped, uint64_t *upto);

/* -- the lanes' events -- */

struct region_event {
	uint32_t type; /* PMTOP_EVENT_… of pmtop.h (with PMTOP_LAYOUT) */
	uint32_t lane;
	uint64_t sequence; /* number of the event in its lane, from 0 */
	int64_t time_ns;
	uint32_t name, length; /* length: bytes of payload that are there; the rest is all ones: PMTOP_UNKNOWN */
	uint32_t mode;         /* name of the mode that was current */
	uint64_t payload[5];   /* copied; meaning by type, in pmtop.h */
};

struct region_lane_status {
	uint64_t head;     /* events written so far */
	uint64_t position; /* where this reader stands */
	uint64_t lost;     /* overwritten or torn since it was opened, before they were read */
	uint64_t before;   /* already gone when it was opened */
	int32_t owner_tid; /* 0 = free */
	bool in_record;    /* a record is being written (or its writer stopped in the middle) */
};

uint32_t region_lane_count(const struct region *region);
uint64_t region_lane_slots(const struct region *region); /* so many events a lane keeps */
/* One load: events written so far, and how many of them this reader has not come to. */
uint64_t region_lane_head(const struct region *region, uint32_t lane, uint64_t *waiting);
enum region_status region_lane_status(struct region *region, uint32_t lane, struct region_lane_status *out);
/* Up to `max` next events of a lane, in order. *count 0: none now. Losses are counted, never given. */
enum region_status region_read_events(
	struct region *region, uint32_t lane, struct region_event *out, size_t max, size_t *count);

struct region_open_span {
	uint32_t name;
	int64_t begin_ns;
};
/* Outermost first. */
enum region_status region_read_open_spans(
	struct region *region, uint32_t lane, struct region_open_span *out, size_t max, size_t *count);

#endif
