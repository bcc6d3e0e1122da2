#include "src/sources/inferred/steps/stacks_loops_fetch.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_private.h"

/* A function may take a single batch of a loader, for each step. */
enum { BATCHES_MIN = 3 };

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

static bool is_noted(const struct stacks_loops *loops, uint64_t code, int line, unsigned depth)
{
	for (size_t i = 0; i < loops->around_count; i++)
		if (loops->around[i].code == code && loops->around[i].line == line && loops->around[i].depth == depth)
			return true;
	return false;
}

/* `inner`: how many of the innermost loops around the instruction are not meant. */
static void note_around(struct stacks_loops *loops, uint64_t code, uint64_t ip, size_t inner)
{
	const struct py_site site = { .code = code, .ip = ip };
	int lines[STACKS_DEPTH_MAX] = { 0 };
	size_t count = code && ip ? py_loops_around(loops->reader, &site, lines, STACKS_DEPTH_MAX) : 0;
	for (unsigned depth = 0; depth + inner < count && loops->around_count < STACKS_AROUND_MAX; depth++) {
		if (is_noted(loops, code, lines[depth], depth))
			continue;
		loops->around[loops->around_count].code = code;
		loops->around[loops->around_count].line = lines[depth];
		loops->around[loops->around_count++].depth = depth;
	}
}

void stacks_loops_note_loader(struct stacks_loops *loops, const struct py_counted *counted)
{
	if (!loops || counted->yielded < BATCHES_MIN || stacks_loops_calls_next(loops, counted))
		return;
	note_around(loops, counted->code, counted->ip, 1);
	note_around(loops, counted->caller_code, counted->caller_ip, 0);
	if (loops->steps && !loops->is_running && !loops->wanted && stacks_loop_has_loader_within(loops, loops->steps))
		loops->steps = NULL;
}
