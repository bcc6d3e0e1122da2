/* verdict.h: what memory does, of the run's processes or of its part of a GPU, and which kind of memory grows. */
#ifndef PMTOP_MODEL_MEMORY_VERDICT_H
#define PMTOP_MODEL_MEMORY_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

/* The words are those of JSON, reports and rule files. */
#define MEMORY_VERDICTS(X) \
	X(NOT_JUDGED, NULL)   /* too few readings */ \
	X(UNKNOWN, "unknown") /* the trend is unclear */ \
	X(PLATEAU, "plateau") \
	X(CACHE, "cache") \
	X(SAWTOOTH, "sawtooth") \
	X(GROWING, "growing") \
	X(LEAK, "leak") \
	X(FRAGMENTATION, "fragmentation")
enum memory_verdict {
#define MEMORY_VERDICT_ID(id, word) MEMORY_##id,
	MEMORY_VERDICTS(MEMORY_VERDICT_ID)
#undef MEMORY_VERDICT_ID
};

#define MEMORY_KINDS(X) \
	X(NONE, NULL) \
	X(ANONYMOUS, "anonymous") \
	X(FILE, "file") \
	X(SHARED, "shared")
enum memory_kind {
#define MEMORY_KIND_ID(id, word) MEMORY_KIND_##id,
	MEMORY_KINDS(MEMORY_KIND_ID)
#undef MEMORY_KIND_ID
};

static inline bool memory_verdict_is_known(enum memory_verdict verdict) { return verdict > MEMORY_UNKNOWN; }

#endif
