#include "src/compare/check/judged.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct judged_figure *judged_add(struct judgement *judgement, const char *name)
{
	if (judgement->count == JUDGED_MAX)
		return NULL;
	struct judged_figure *figure = &judgement->figures[judgement->count++];
	*figure = (struct judged_figure){
		.outcome = OUTCOME_PASSED, .now = NAN, .baseline = NAN, .limit = NAN, .change = { NAN, NAN, NAN }
	};
	snprintf(figure->name, sizeof figure->name, "%s", name);
	return figure;
}

void judged_settle(struct judged_figure *figure, enum outcome outcome, const char *format, ...)
{
	va_list arguments;
	figure->outcome = outcome;
	va_start(arguments, format);
	vsnprintf(figure->text, sizeof figure->text, format, arguments);
	va_end(arguments);
}

bool judged_has_few(struct judged_figure *figure, const struct summary *of, const char *whose)
{
	if (of->seen >= CONTRAST_MIN)
		return false;
	judged_settle(figure, OUTCOME_INCONCLUSIVE, "too few batches: %s has %llu after %llu of warm-up, %d are required",
		whose, (unsigned long long)of->seen, (unsigned long long)of->warmup, CONTRAST_MIN);
	return true;
}

void judged_warn(struct judgement *judgement, const char *format, ...)
{
	if (judgement->warning_count == WARNINGS_MAX)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(judgement->warnings[judgement->warning_count++], sizeof judgement->warnings[0], format, arguments);
	va_end(arguments);
}
