/* patterns_cause.h: the phase and the cause that the slow batches of a pattern share. */
#ifndef PMTOP_EXPLAIN_PATTERNS_PATTERNS_CAUSE_H
#define PMTOP_EXPLAIN_PATTERNS_PATTERNS_CAUSE_H

struct compared;
struct pattern;
struct steps;

void describe_period(const struct steps *steps, struct pattern *pattern);
void describe_drift(
	const struct steps *steps, const struct compared *before, const struct compared *after, struct pattern *pattern);
void describe_kinds(
	const struct steps *steps, const struct compared *fast, const struct compared *slow, struct pattern *pattern);

#endif
