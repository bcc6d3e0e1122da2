/* export.h: what leaves pmtop as text. Everything comes out of the same model as the screen. */
#ifndef PMTOP_EXPORT_EXPORT_H
#define PMTOP_EXPORT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"

/* What was told of a GPU. */
struct gpu_line {
	int32_t instance;
	bool is_lost;
	enum memory_verdict verdict;
};

/* The guides' lines, `pmtop -b`. Keeps what was printed already; the members are lines.c's own. */
struct lines {
	int64_t batch_lines; /* print each of the first so many batches seen */
	int64_t batches_printed;
	uint64_t run_key; /* which run and mode the two below count in; 0 = none yet */
	uint64_t next_ordinal;
	int64_t printed_until_ns;           /* end of the last batch or epoch printed */
	int64_t flagged_until_ns;           /* begin of the last flagged batch told of */
	uint64_t next_epoch, next_mark;     /* since the start of the run, dropped ones included */
	uint64_t next_energy;               /* the same, of epochs whose energy is told */
	enum memory_verdict memory_verdict; /* the last that was written */
	uint64_t gpu_happenings;            /* told */
	size_t gpu_count;
	struct gpu_line gpus[GPUS_MAX];
	size_t warned_count; /* warnings that stand and were printed */
	struct {
		const char *rule;
		unsigned run;
		uint32_t subject;
	} warned[ALERTS_MAX];
	size_t pattern_count; /* patterns that stand and were printed */
	struct {
		int run;
		enum pattern_kind kind;
		int64_t since_ns;
	} patterns[PATTERNS_MAX];
};

#endif
