/* comparison.h: compares two summaries: each figure with its change, the 95 % interval, and the phases that explain it.
 */
#ifndef PMTOP_COMPARE_COMPARISON_H
#define PMTOP_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/compare/contrast.h"
#include "src/compare/summary/summary.h"

/* Repeated runs of one program differ by a few percent, even if the interval is narrower: a smaller change counts as
 * none. */
#define SAME_RATIO 1.03
/* If an interval includes both "no change" and more than this, the verdict is "unclear". */
#define UNCLEAR_RATIO 1.10

/* VERDICT(NAME, "word"); MORE and LESS are for memory, which has no interval. */
#define VERDICTS(X) \
	X(NONE, "") \
	X(SAME, "the same") \
	X(FASTER, "faster") \
	X(SLOWER, "slower") \
	X(UNCLEAR, "unclear") \
	X(MORE, "more") \
	X(LESS, "less")
enum verdict {
#define VERDICT_ID(name, word) VERDICT_##name,
	VERDICTS(VERDICT_ID)
#undef VERDICT_ID
};
const char *verdict_word(enum verdict verdict);

enum row_group { ROW_STEP, ROW_PHASE, ROW_OPERATION, ROW_MEMORY, ROW_REQUEST, ROW_GPU, ROW_ENERGY, ROW_GAUGE };
enum row_unit { ROW_SECONDS, ROW_PER_SECOND, ROW_BYTES, ROW_NUMBER, ROW_RATIO, ROW_JOULES, ROW_FLOPS };

struct comparison_row {
	enum row_group group;
	enum row_unit unit;
	char what[2 * SUMMARY_NAME + 8]; /* "data", "data › wait" */
	double a, b;                     /* NAN: unknown */
	double change;                   /* B ÷ A; of phases B − A (seconds a step) */
	bool has_interval;
	double low, high; /* of the change, 95 % */
	double effect;    /* Cliff's delta; NAN */
	enum verdict verdict;
};

enum { COMPARISON_ROWS_MAX = 256, COMPARISON_NOTES_MAX = 8 };

struct comparison {
	const struct summary *a, *b;
	size_t row_count;
	struct comparison_row rows[COMPARISON_ROWS_MAX];
	bool is_rough;       /* the intervals are rough, because one side is a saved report */
	double difference_s; /* B − A of the mean middle step, the sum of the phases' changes; NAN */
	/* the phases with the largest part of it in its direction, each at least a tenth; NULL after the last */
	const struct comparison_row *explains[3];
	size_t meta_count; /* what both published, and is not the same; or one alone (NULL) */
	struct {
		const char *key, *a, *b;
	} meta[SUMMARY_META_MAX];
	bool is_by_samples; /* batch sizes differ, so the verdict compares samples a second */
	/* the row of the verdict; of runs without steps that of the requests, else of the longest operation that both have;
	 * NULL: nothing could be compared */
	const struct comparison_row *judged;
	size_t note_count;
	char notes[COMPARISON_NOTES_MAX][200];
};

void compare(const struct summary *a, const struct summary *b, struct comparison *out);
/* The verdict on a ratio of times, or of rates with `more_is_better`. */
enum verdict verdict_of_ratio(double ratio, double low, double high, bool more_is_better);
/* The ratio of step times B ÷ A. *is_rough: only quantiles are known. Returns false if it is unknown. */
bool compare_steps(const struct summary *a, const struct summary *b, struct contrast *out, bool *is_rough);
/* The ratio of an operation's times B ÷ A, from its quantiles; false: it was too rare, or they are unknown. */
bool compare_operation(const struct summary_operation *a, const struct summary_operation *b, struct interval *out);
/* The ratio of the requests' 95th percentiles B ÷ A; false: too few. */
bool compare_requests(const struct summary *a, const struct summary *b, struct interval *out);
/* Samples a second, else steps; B ÷ A. */
bool compare_rates(const struct summary *a, const struct summary *b, struct interval *out);

#endif
