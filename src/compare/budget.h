/* budget.h: the limits of check --budget: "data:20%,step:0.3s,memory:4GB". */
#ifndef PMTOP_COMPARE_BUDGET_H
#define PMTOP_COMPARE_BUDGET_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/compare/summary/summary.h"

enum { BUDGETS_MAX = 32 };

/* BUDGET(NAME, "word", unit): the figures with limits. Any other word is the name of a phase, with a share or a time.
 */
#define BUDGETS(X) \
	X(STEP, "step", SECONDS) \
	X(MEAN, "mean", SECONDS) \
	X(P95, "p95", SECONDS) \
	X(MEMORY, "memory", BYTES) \
	X(GROWTH, "growth", BYTES) \
	X(GPU_MEMORY, "gpu-memory", BYTES)
enum budget_what {
#define BUDGET_ID(name, word, unit) BUDGET_##name,
	BUDGETS(BUDGET_ID)
#undef BUDGET_ID
		BUDGET_PHASE
};
enum budget_unit { LIMIT_SECONDS, LIMIT_BYTES, LIMIT_RATIO };

struct budget {
	enum budget_what what;
	enum budget_unit unit;
	char name[SUMMARY_NAME]; /* as written */
	double limit;
};

struct budget_list {
	size_t count;
	struct budget budgets[BUDGETS_MAX];
};

/* Parses the option; NULL gives an empty list. STATUS_INVALID: why_not has the faulty part, and examples. */
enum status budget_parse(const char *text, struct budget_list *out, struct reason *why_not);
/* STATUS_INVALID: a budget names a phase that the run does not have; why_not lists its phases. */
enum status budget_check_names(const struct budget_list *list, const struct summary *summary, struct reason *why_not);

#endif
