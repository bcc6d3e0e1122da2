#include "src/model/missing.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The first row whose word begins (or, of counters, is in) the figure's name. */
static const struct {
	const char *word;
	bool is_anywhere;
	enum missing_subject subject;
} subjects[] = {
	{ "gpu", false, MISSING_GPU },
	{ "region", false, MISSING_REGION },
	{ "stacks", false, MISSING_STACKS },
	{ "steps", false, MISSING_STEPS },
	{ "counter", true, MISSING_COUNTERS },
	{ "cycles", true, MISSING_COUNTERS },
	{ "instructions", true, MISSING_COUNTERS },
	{ "misses", true, MISSING_COUNTERS },
	{ "stalled", true, MISSING_COUNTERS },
	{ "flops", true, MISSING_COUNTERS },
	{ "memory traffic", true, MISSING_COUNTERS },
	{ "migrations", true, MISSING_COUNTERS },
	{ "perf", true, MISSING_COUNTERS },
};

/* As the region source words it, now and in older recordings. */
static const char *const absences[] = { "nothing is published", "no instrumentation" };

void missing_classify(struct missing *missing)
{
	missing->subject = MISSING_OTHER;
	missing->is_mere_absence = false;
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects && missing->subject == MISSING_OTHER; i++)
		if (subjects[i].is_anywhere ? strcasestr(missing->figure, subjects[i].word) != NULL
									: strncasecmp(missing->figure, subjects[i].word, strlen(subjects[i].word)) == 0)
			missing->subject = subjects[i].subject;
	for (size_t i = 0; i < sizeof absences / sizeof *absences; i++)
		missing->is_mere_absence |= missing->subject == MISSING_REGION && strcmp(missing->text, absences[i]) == 0;
}
