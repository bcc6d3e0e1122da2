/* perf_events.h: the events that are counted by default, by CPU, and their roles.
 *
 * An event is the weighted sum of its parts (counters of the CPU). Of several rows with one role, the first is used
 * that fits the CPU, that libpfm4 knows and that the kernel opens. */
#ifndef PMTOP_SOURCES_PERF_PERF_EVENTS_H
#define PMTOP_SOURCES_PERF_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"
#include "src/sources/perf/perf_opener.h"

enum perf_maker { MAKER_ANY, MAKER_INTEL, MAKER_AMD, MAKER_ARM, MAKER_FUJITSU };

/* From /proc/cpuinfo. On ARM the model is the part number. */
struct perf_cpu {
	enum perf_maker maker;
	unsigned family, model;
	bool is_virtual;
};

void perf_cpu_read(const char *proc_root, struct perf_cpu *out);

enum { PERF_PARTS_MAX = 5, PERF_PART_NAMES = 2 };

struct perf_part {
	const char *names[PERF_PART_NAMES]; /* as in libpfm4, alternatives in order; NULL: `code` */
	struct perf_code code;
	double weight;
};

struct perf_default {
	enum perf_role role;
	const char *name;  /* as in perf or libpfm4 */
	unsigned group;    /* events of one group are counted at the same time, if the CPU can */
	bool is_in_kernel; /* it happens in the kernel: counting user space alone would give 0 */
	enum perf_maker maker;
	unsigned family_first, family_last, model; /* 0 = any */
	unsigned part_count;
	struct perf_part parts[PERF_PARTS_MAX];
};

const struct perf_default *perf_default_events(size_t *count);
bool perf_default_fits(const struct perf_default *standard, const struct perf_cpu *cpu);
/* The role of the kernel's own events, whatever their name; PERF_ROLE_OTHER for all others. */
enum perf_role perf_code_role(const struct perf_code *code);
const char *perf_role_words(enum perf_role role);
bool perf_role_is_software(enum perf_role role);

/* "ENOENT" and so on, for the errors of perf_event_open. */
const char *perf_errno_name(int error);

#endif
