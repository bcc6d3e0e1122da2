#include "src/sources/inferred/steps/stacks_limits.h"

/* A pass may outlive its loop for a while, in which it has no batches. */
enum { OTHERS_MIN = 2, BATCHES_BETWEEN_MIN = 3 };

static uint64_t shorter(uint64_t a, uint64_t b) { return a == 0 || (b > 0 && b < a) ? b : a; }

static struct stacks_limit *limit_of(struct stacks_limits *limits, uint64_t serial)
{
	for (size_t i = 0; i < PY_COUNTED_MAX; i++)
		if (limits->known[i].serial == serial)
			return &limits->known[i];
	struct stacks_limit *limit = &limits->known[limits->next];
	limits->next = (limits->next + 1) % PY_COUNTED_MAX;
	*limit = (struct stacks_limit){ .serial = serial };
	return limit;
}

/* The shortest of the loaders that a loop reads at once; later, some of them may be gone. */
static void note_shortest(
	struct stacks_limit *limit, const struct py_counted *own, const struct py_counted *counted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (counted[i].code == own->code && counted[i].line == own->line && (&counted[i] == own || !counted[i].is_over))
			limit->length = shorter(limit->length, counted[i].length);
}

/* Where its loop is, and so how it ends, may not be known yet, and no longer be known when it is over. */
static struct stacks_limit *note(struct stacks_limits *limits, const struct stacks_loops *loops,
	const struct py_counted *own, const struct py_counted *counted, size_t count)
{
	struct stacks_limit *limit = limit_of(limits, own->serial);
	uint64_t length = 0;
	enum stacks_ending ending = stacks_loops_ending(loops, own, &length);
	limit->ending = ending == STACKS_ENDS_WITH_LOADER ? limit->ending : ending;
	if (ending == STACKS_ENDS_EARLY)
		limit->length = length;
	else if (limit->ending == STACKS_ENDS_WITH_FIRST)
		note_shortest(limit, own, counted, count);
	return limit;
}

void stacks_limits_apply(
	struct stacks_limits *limits, const struct stacks_loops *loops, struct py_counted *counted, size_t count)
{
	const struct stacks_limit *found[PY_COUNTED_MAX];
	for (size_t i = 0; i < count; i++)
		found[i] = note(limits, loops, &counted[i], counted, count);
	for (size_t i = 0; i < count; i++) {
		if (found[i]->ending == STACKS_ENDS_WITH_LOADER)
			continue;
		counted[i].length = found[i]->length;
		if (counted[i].length > 0 && counted[i].yielded > counted[i].length)
			counted[i].yielded = counted[i].length;
	}
}

bool stacks_span_note(struct stacks_span *span, const struct py_counted *counted, uint64_t number, bool is_behind)
{
	if (span->serial != counted->serial)
		*span = (struct stacks_span){ .serial = counted->serial };
	span->number = span->number ? span->number : number;
	bool is_other = is_behind || (number && number != span->number);
	if (is_other && (span->others == 0 || counted->yielded >= span->yielded + BATCHES_BETWEEN_MIN)) {
		span->others++;
		span->yielded = counted->yielded;
	}
	return span->others >= OTHERS_MIN;
}
