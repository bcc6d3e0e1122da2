/* metric.h: every figure that a source can report, as one list. A new metric is one line here and the source that reads it.
 *
 * METRIC(NAME, "name", UNIT, KIND): a GAUGE is what it is now; a COUNTER only grows, and the model makes rates of it from elapsed time.
 * Process metrics have the pid (as pmtop sees it) as their instance. */
#ifndef PMTOP_SAMPLES_METRIC_H
#define PMTOP_SAMPLES_METRIC_H

enum metric_unit { UNIT_BYTES, UNIT_NANOSECONDS, UNIT_EVENTS, UNIT_ITEMS, UNIT_CODE };
enum metric_kind { KIND_GAUGE, KIND_COUNTER };

#define METRICS(X) \
	X(PROCESS_RESIDENT,         "process.resident",             BYTES,       GAUGE)   /* status: VmRSS */ \
	X(PROCESS_RESIDENT_PEAK,    "process.resident_peak",        BYTES,       GAUGE)   /* status: VmHWM */ \
	X(PROCESS_ANONYMOUS,        "process.anonymous",            BYTES,       GAUGE)   /* status: RssAnon */ \
	X(PROCESS_FILE,             "process.file",                 BYTES,       GAUGE)   /* status: RssFile */ \
	X(PROCESS_SHARED,           "process.shared",               BYTES,       GAUGE)   /* status: RssShmem */ \
	X(PROCESS_SWAP,             "process.swap",                 BYTES,       GAUGE)   /* status: VmSwap */ \
	X(PROCESS_THREADS,          "process.threads",              ITEMS,       GAUGE)   /* status: Threads */ \
	X(PROCESS_STATE,            "process.state",                CODE,        GAUGE)   /* stat: R S D T t Z X I, as its character code */ \
	X(PROCESS_CPU_USER,         "process.cpu_user",             NANOSECONDS, COUNTER) /* stat: utime, all threads */ \
	X(PROCESS_CPU_SYSTEM,       "process.cpu_system",           NANOSECONDS, COUNTER) /* stat: stime */ \
	X(PROCESS_RUN_QUEUE_WAIT,   "process.run_queue_wait",       NANOSECONDS, COUNTER) /* schedstat, main thread only */ \
	X(PROCESS_MINOR_FAULTS,     "process.minor_faults",         EVENTS,      COUNTER) /* stat: minflt */ \
	X(PROCESS_MAJOR_FAULTS,     "process.major_faults",         EVENTS,      COUNTER) /* stat: majflt */ \
	X(PROCESS_SWITCHES_WILLING, "process.voluntary_switches",   EVENTS,      COUNTER) /* status, main thread only */ \
	X(PROCESS_SWITCHES_FORCED,  "process.involuntary_switches", EVENTS,      COUNTER) /* status, main thread only */ \
	X(PROCESS_READ,             "process.read_bytes",           BYTES,       COUNTER) /* io: read_bytes (from storage) */ \
	X(PROCESS_WRITTEN,          "process.write_bytes",          BYTES,       COUNTER) /* io: write_bytes */ \
	X(PROCESS_READ_CALLS,       "process.read_characters",      BYTES,       COUNTER) /* io: rchar, page cache and pipes included */ \
	X(SELF_CPU,                 "pmtop.cpu",                    NANOSECONDS, COUNTER) /* pmtop's own, all threads */ \
	X(SELF_RESIDENT,            "pmtop.resident",               BYTES,       GAUGE)

enum metric {
#define METRIC_ID(id, name, unit, kind) METRIC_##id,
	METRICS(METRIC_ID)
#undef METRIC_ID
	METRIC_COUNT
};

struct metric_info {
	const char *name;
	enum metric_unit unit;
	enum metric_kind kind;
};

extern const struct metric_info metric_table[METRIC_COUNT];

#endif
