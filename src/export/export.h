/* export.h: writes the model as text and JSON; the screen shows the same model. */
#ifndef PMTOP_EXPORT_EXPORT_H
#define PMTOP_EXPORT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"

/* What was printed about a GPU. */
struct gpu_line {
	int32_t instance;
	bool is_lost;
	enum memory_verdict verdict;
};

/* State of the lines of `pmtop -b`: what was printed already. Only lines.c uses the members. */
struct lines {
	int64_t batch_lines; /* print each of the first `batch_lines` batches */
	int64_t batches_printed;
	uint64_t run_key; /* run and mode of the two times below; 0 = none yet */
	uint64_t next_ordinal;
	int64_t printed_until_ns;           /* end of the last batch or epoch printed */
	int64_t flagged_until_ns;           /* begin of the last flagged batch printed */
	uint64_t next_epoch, next_mark;     /* since the start of the run, dropped ones included */
	uint64_t next_energy;               /* the same, of epochs whose energy is printed */
	enum memory_verdict memory_verdict; /* the last verdict printed */
	char no_steps[512];                 /* the last reason printed */
	uint64_t gpu_happenings;            /* events of GPUs, printed */
	size_t gpu_count;
	struct gpu_line gpus[GPUS_MAX];
	size_t warned_count; /* active warnings that were printed */
	struct {
		const char *rule;
		unsigned run;
		uint32_t subject;
	} warned[ALERTS_MAX];
	size_t pattern_count; /* current patterns that were printed */
	struct {
		int run;
		enum pattern_kind kind;
		int64_t since_ns;
	} patterns[PATTERNS_MAX];
};

#endif
