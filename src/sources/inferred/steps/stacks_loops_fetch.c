#include "src/sources/inferred/steps/stacks_loops_fetch.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Of a library's loops pmtop knows that their batches are steps. */
static bool is_own(const char *file) { return !strstr(file, "/site-packages/") && !strstr(file, "/dist-packages/"); }

/* The loop over the loader may be that of a generator, whose items next() fetches. */
bool stacks_loops_calls_next(struct stacks_loops *loops, const struct py_counted *counted)
{
	if (loops && !counted->code)
		return true;
	if (!loops || !is_own(counted->file))
		return false;
	if (counted->ip ? !py_loops_asks(loops->reader, counted->code, counted->ip) : !counted->is_looped)
		return true;
	return py_loops_is_generator(loops->reader, counted->code) && counted->caller_code &&
		!py_loops_asks(loops->reader, counted->caller_code, counted->caller_ip);
}
