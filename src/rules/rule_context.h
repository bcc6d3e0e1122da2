/* rule_context.h: what the figures of rules are computed from, gathered once for each update. */
#ifndef PMTOP_RULES_RULE_CONTEXT_H
#define PMTOP_RULES_RULE_CONTEXT_H

struct common_cause;
struct context;
struct model;
struct patterns;
struct ranks;
struct rule_cache;
struct run;

/* For the whole model (index < 0) or a run. Invalidates the cache. */
void rule_context_init(struct context *context, struct rule_cache *cache, const struct model *model, int index,
	const struct patterns *patterns);
const struct ranks *context_ranks(const struct context *context);
const struct common_cause *context_cause(const struct context *context);

/* The run; for rules of the model the slowest rank, or the first run. NULL = no instrumented run. */
const struct run *context_run(const struct context *context);

#endif
