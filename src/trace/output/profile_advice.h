/* profile_advice.h: recommendations, by the rules of config/trace.yaml. */
#ifndef PMTOP_TRACE_PROFILE_ADVICE_H
#define PMTOP_TRACE_PROFILE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Which table shows what a rule is about. */
enum profile_section { SECTION_OPERATORS, SECTION_KERNELS, SECTION_COPIES, SECTION_GAPS, SECTION_MEMORY };

struct profile_rule {
	const char *name, *condition, *severity, *message, *meaning, *advice;
	const char *elsewhere; /* the advice for traces of JAX and TensorFlow; NULL: the same */
	enum profile_section see;
};

/* Generated from config/trace.yaml; ends with a name of NULL. */
extern const struct profile_rule profile_rules[];

struct profile_figures;
enum { PROFILE_MESSAGE_SIZE = 512 };

bool profile_rule_is_warning(const struct profile_rule *rule);
/* Whether the rule's condition holds. An unknown figure makes it false, as does a mistake in it. */
bool profile_rule_holds(const struct profile_rule *rule, const struct profile_figures *figures);
/* The advice for the framework that wrote the trace. */
const char *profile_rule_advice(const struct profile_rule *rule, const struct profile_figures *figures);
/* Fills the figures of a text of the rule in; returns `out`. */
const char *profile_rule_say(const char *rule, const struct profile_figures *figures, char out[PROFILE_MESSAGE_SIZE]);

#endif
