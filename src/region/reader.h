/* reader.h: finds, opens and reads regions (pmtop-region(7)). It uses libc only, and nothing else of pmtop.
 *
 * The mapping is untrusted: offsets are checked against the size, counts are bounded, and data is copied before it is
 * checked; only the copy is used. If a region shrinks while it is read, calls return REGION_CUT_SHORT; there is no
 * SIGBUS. A struct region belongs to one thread. Texts are the writer's raw bytes and a length: the caller cleans them.
 * Times are the writer's CLOCK_MONOTONIC; region_clock_offset_ns() converts them to the reader's. */
#ifndef PMTOP_REGION_READER_H
#define PMTOP_REGION_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum region_status {
	REGION_OK = 0,
	REGION_NONE, /* no (further) region */
	REGION_DENIED,
	REGION_NOT_REGULAR,   /* symlink, FIFO, device … */
	REGION_WRONG_OWNER,   /* another uid, or more than one hard link */
	REGION_WRONG_VERSION, /* newer ABI, other endianness or unknown incompatible flag: see the message */
	REGION_DAMAGED,       /* "region header damaged (lane 3)" */
	REGION_CUT_SHORT,     /* truncated while it is read */
	REGION_NO_MEMORY,
	REGION_IO,
	REGION_BUSY, /* being written (or its living writer is stopped during a write): try again later */
};

enum { REGION_MESSAGE_SIZE = 160, REGION_PATH_SIZE = 320, REGION_LANES_MAX = 256 };

/* The path of a region, and how to open it. */
struct region_location {
	/* in /dev/shm, in the process's own /dev/shm (/proc/PID/root), or /proc/PID/fd/N or map_files/… */
	char path[REGION_PATH_SIZE];
	uint64_t device, inode;
	bool is_descriptor_link; /* /proc/PID/fd/N or map_files: O_NOFOLLOW does not apply */
	bool is_memfd;
};

#define REGION_ANYBODY ((uid_t)-1)

struct region_identity {
	uint32_t abi_major, abi_minor;
	uint8_t uuid[16], parent_uuid[16], boot_id[16];
	int32_t pid; /* in the writer's namespace */
	uint32_t uid;
	int64_t start_ns, start_realtime_ns;
	char run_name[128];
	bool is_live;       /* its writer holds the lock */
	int32_t writer_pid; /* in the reader's namespace, 0 = unknown */
};

struct region;

/* `owner`: the uid that the file must have. On failure `message` is the error for a person. */
enum region_status region_open(
	const struct region_location *location, uid_t owner, struct region **out, char message[REGION_MESSAGE_SIZE]);
void region_close(struct region *region);

enum region_status region_identify(struct region *region, struct region_identity *out);
/* The offset from the writer's times to the reader's (time namespaces). `directory_fd`: the writer's /proc/PID; −1 =
 * unknown, the offset is 0 then. */
int64_t region_clock_offset_ns(const struct region *region, int directory_fd);
/* Is the lock held (F_GETLK), or dev:ino still mapped by the process of `directory_fd`? */
bool region_is_live(const struct region *region, int directory_fd);
/* Is the file at the location still this one? Always true for memfds and descriptor links. */
bool region_is_in_place(const struct region *region);
/* The path it was opened by. */
const char *region_path(const struct region *region);

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
	uint32_t refused_for[6]; /* by pmtop_refusal; all 0 if the writer does not publish reasons */
	/* calls that the writer dropped, for all reasons: in a signal handler, full tables, no lane, fork races */
	uint64_t refused;
	uint32_t meta_count, gauge_count, counter_count;
	uint64_t version; /* a hash: changes when the state or its lists change */
};

struct region_total {
	uint32_t kind; /* 0 batch, 1 step, 2 span */
	uint32_t lane, mode, name, parent, depth;
	uint64_t upto, count;
	double total_s, self_s, min_s, max_s, last_s, squares_s2, cpu_s; /* NAN = not recorded */
	double memory_bytes; /* growth of the resident set, summed over the spans that recorded it; NAN if none did */
	bool has_histogram;
	uint32_t histogram[962];
};

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

struct region_event {
	uint32_t type; /* PMTOP_EVENT_… of pmtop.h (with PMTOP_LAYOUT) */
	uint32_t lane;
	uint64_t sequence; /* number of the event in its lane, from 0 */
	int64_t time_ns;
	uint32_t name, length; /* length: bytes of payload; the rest is PMTOP_UNKNOWN */
	uint32_t mode;         /* name id of the current mode */
	uint64_t payload[5];   /* copied; meaning by type, in pmtop.h */
};

struct region_lane_status {
	uint64_t head;     /* events written so far */
	uint64_t position; /* the next event this reader reads */
	uint64_t lost;     /* since it was opened: overwritten before or while they were read */
	uint64_t before;   /* overwritten before it was opened */
	int32_t owner_tid; /* 0 = free */
	bool in_record;    /* an event is being written (or its writer was stopped during that) */
};

struct region_open_span {
	uint32_t name;
	int64_t begin_ns;
};

#endif
