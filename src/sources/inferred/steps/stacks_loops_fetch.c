#include "src/sources/inferred/steps/stacks_loops_fetch.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_private.h"

/* A function may take a single batch of a loader, for each step. */
enum { BATCHES_MIN = 3, AHEAD_MAX = 4 };

/* Of a library's loops pmtop knows that their batches are steps. */
static bool is_own(const char *file) { return !strstr(file, "/site-packages/") && !strstr(file, "/dist-packages/"); }

bool stacks_loops_is_recut(struct stacks_loops *loops, const struct py_counted *counted)
{
	return loops && counted->ip && !is_own(counted->file) &&
		py_loops_yields_in_for(loops->reader, counted->code, counted->ip);
}

/* Of the innermost loop around the place where the batches are fetched; 0 = unknown. */
static int innermost_line(struct stacks_loops *loops, uint64_t code, uint64_t ip)
{
	int lines[STACKS_DEPTH_MAX];
	size_t count = code && ip
		? py_loops_around(loops->reader, &(struct py_site){ .code = code, .ip = ip }, lines, STACKS_DEPTH_MAX)
		: 0;
	return count > 0 ? lines[count - 1] : 0;
}

/* `while self.iteration < self.iterations: batch = next(self.batches)`: what the loop compares counts the steps. Where
 * the batches are fetched may not be known yet, but that a variable holds what fetches them. */
static bool is_in_counted_while(struct stacks_loops *loops, const struct py_counted *counted)
{
	int line = innermost_line(loops, counted->code, counted->ip);
	bool is_for = counted->ip ? py_loops_asks(loops->reader, counted->code, counted->ip) : counted->is_looped;
	for (const struct seen *seen = loops->seen; !is_for && seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.kind == PY_LOOP_INT && seen->loop.is_compared && seen->loop.code == counted->code &&
			(!counted->ip || seen->loop.loop_line == line))
			return true;
	return false;
}

/* A generator of the program, not tqdm's, may gather batches. */
static bool may_gather(struct stacks_loops *loops, const struct py_counted *counted)
{
	const char *function, *file;
	bool hands_on = counted->generators == 1 && py_loops_yields_each(loops->reader, counted->generator);
	return !counted->ip && counted->generator && !hands_on &&
		py_loops_source(loops->reader, &(struct py_loop){ .code = counted->generator }, &function, &file) &&
		is_own(file);
}

/* `batches = iter(loader)`, `for x in batches:`; `bar = tqdm(enumerate(loader))`, `for i, x in bar:`. A loop that was
 * read before the pass was found may be over: of another iterator, which had this one's address. */
static bool is_iterated(const struct stacks_loops *loops, const struct py_counted *counted)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.loader && seen->loop.loader == counted->iterator && seen->loop.code == counted->code &&
			seen->read_ns >= counted->found_ns)
			return true;
	return false;
}

/* `batch = next(self.batches)`, or one that gathers several of them, in the function that calls this generator. */
static bool is_generator_of_next(struct stacks_loops *loops, const struct py_counted *counted)
{
	return py_loops_is_generator(loops->reader, counted->code) && counted->caller_code &&
		(!py_loops_asks(loops->reader, counted->caller_code, counted->caller_ip) ||
			py_loops_gathers(loops->reader, counted->caller_code, counted->caller_ip));
}

/* The loop over the loader may be that of a generator, whose items next() fetches, or which makes one batch of several.
 */
bool stacks_loops_calls_next(struct stacks_loops *loops, const struct py_counted *counted)
{
	if (loops && !counted->code)
		return true;
	if (!loops || (counted->callee && !py_loops_is_generator(loops->reader, counted->callee)))
		return false;
	/* Where it is fetched may not be known yet. */
	if (!is_own(counted->file))
		return stacks_loops_is_recut(loops, counted) || is_in_counted_while(loops, counted) ||
			is_generator_of_next(loops, counted) || (!counted->ip && strstr(counted->file, "/ultralytics/"));
	if (counted->ip ? !py_loops_asks(loops->reader, counted->code, counted->ip)
					: !counted->is_looped && !is_iterated(loops, counted))
		return true;
	if (may_gather(loops, counted) || py_loops_gathers(loops->reader, counted->code, counted->ip))
		return true;
	return is_generator_of_next(loops, counted);
}

bool stacks_loops_fetches(const struct stacks_loops *loops, const struct py_counted *counted)
{
	const struct seen *steps = stacks_loops_is_running(loops) ? loops->steps : NULL;
	return steps && counted->code && (steps->loop.code == counted->code || steps->loop.code == counted->caller_code);
}

static bool is_noted(const struct stacks_loops *loops, uint64_t code, int line, unsigned depth)
{
	for (size_t i = 0; i < loops->around_count; i++)
		if (loops->around[i].code == code && loops->around[i].line == line && loops->around[i].depth == depth)
			return true;
	return false;
}

static void note_around(struct stacks_loops *loops, const struct py_site *site)
{
	int lines[STACKS_DEPTH_MAX] = { 0 };
	size_t count = py_loops_around(loops->reader, site, lines, STACKS_DEPTH_MAX);
	for (unsigned depth = 0; depth < count && loops->around_count < STACKS_AROUND_MAX; depth++) {
		if (is_noted(loops, site->code, lines[depth], depth))
			continue;
		loops->around[loops->around_count].code = site->code;
		loops->around[loops->around_count].line = lines[depth];
		loops->around[loops->around_count++].depth = depth;
	}
}

bool stacks_loops_is_behind(struct stacks_loops *loops, const struct py_counted *counted)
{
	int line = innermost_line(loops, counted->code, counted->ip),
		caller_line = innermost_line(loops, counted->caller_code, counted->caller_ip);
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		struct py_loop loop = seen->loop;
		bool is_its = (loop.code == counted->code && loop.line == line) ||
			(loop.code == counted->caller_code && loop.line == caller_line);
		if (is_its && loop.line > 0 && loop.kind == PY_LOOP_ENUMERATE && loop.loader && !loop.is_relative &&
			py_loop_poll(loops->reader, &loop) == PY_LOOP_GOOD && loop.has_position &&
			loop.position + AHEAD_MAX < counted->yielded - counted->base)
			return true;
	}
	return false;
}

void stacks_loops_forget_loader(struct stacks_loops *loops) { loops->around_count = 0; }

void stacks_loops_note_loader(
	struct stacks_loops *loops, const struct py_counted *counted, const struct py_sample *sample)
{
	size_t at = 0;
	bool calls_next = stacks_loops_calls_next(loops, counted);
	/* What fetches the batches may not have been known before. */
	if (calls_next || stacks_loops_is_recut(loops, counted))
		loops->around_count = 0;
	if (counted->yielded < BATCHES_MIN || (counted->length && counted->yielded >= counted->length) || calls_next)
		return;
	while (at < sample->count && sample->sites[at].code != counted->code)
		at++;
	for (; at < sample->count; at++)
		note_around(loops, &sample->sites[at]);
	if (loops->steps && !loops->is_running && !loops->wanted && stacks_loop_has_loader_within(loops, loops->steps))
		loops->steps = NULL;
}

bool stacks_loops_is_exhausted(
	struct stacks_loops *loops, const struct py_counted *over, const struct py_counted *all, size_t count)
{
	bool has_gone_on = false;
	for (size_t i = 0; i < count; i++)
		has_gone_on |= !all[i].is_over && all[i].yielded > all[i].base && all[i].serial > over->serial;
	return loops && has_gone_on && over->is_over && over->length && over->code &&
		!stacks_loops_calls_next(loops, over) && py_loops_code_lacks_break(loops->reader, over->code);
}

enum stacks_ending stacks_loops_ending(
	const struct stacks_loops *loops, const struct py_counted *counted, uint64_t *length)
{
	for (size_t i = 0; loops && counted->code && i < loops->seen_count; i++) {
		const struct py_loop *loop = &loops->seen[i].loop;
		bool is_its_line =
			counted->line ? loop->line == counted->line : loops->seen[i].read_ns == loops->read_ns && loop->loader;
		if (loop->code != counted->code || !is_its_line || (!loop->is_zipped && !loop->may_end_early))
			continue;
		*length = loop->length;
		return loop->may_end_early ? STACKS_ENDS_EARLY : STACKS_ENDS_WITH_FIRST;
	}
	return STACKS_ENDS_WITH_LOADER;
}
