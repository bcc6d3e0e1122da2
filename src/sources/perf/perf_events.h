/* perf_events.h: which events are usually counted, by CPU, and what they mean.
 *
 * An event is the sum of its parts (counters of the CPU), each so many times. Of several rows with one role the first
 * that fits the CPU, that libpfm4 knows and that the kernel opens is taken. */
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
	const char *names[PERF_PART_NAMES]; /* as libpfm4 has it, alternatives in order; NULL: `code` */
	struct perf_code code;
	double weight;
};

struct perf_default {
	enum perf_role role;
	const char *name;  /* as perf has it, or libpfm4 */
	unsigned group;    /* those of one are counted at the same time, as far as the CPU can */
	bool is_in_kernel; /* it happens there: user space alone has none of it */
	enum perf_maker maker;
	unsigned family_first, family_last, model; /* 0 = any */
	unsigned part_count;
	struct perf_part parts[PERF_PARTS_MAX];
};

const struct perf_default *perf_default_events(size_t *count);
bool perf_default_fits(const struct perf_default *standard, const struct perf_cpu *cpu);
/* What the kernel's own events mean, however they were named; PERF_ROLE_OTHER for all else. */
enum perf_role perf_code_role(const struct perf_code *code);
const char *perf_role_words(enum perf_role role);
bool perf_role_is_software(enum perf_role role);

#endif
