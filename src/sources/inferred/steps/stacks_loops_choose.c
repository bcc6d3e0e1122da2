#include "src/sources/inferred/steps/stacks_loops_choose.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_loops_part.h"
#include "src/sources/inferred/sums/stacks_tree.h"

enum { TURNS_MIN = 6, READS_MIN = 8, FORWARD_MIN = 3, OTHER_READS_MIN = 20, TRAINED_MIN = 10, RATE_MAX = 2000 };
/* Of readings at most CLOSE_NS apart, one in so many finds the loop begun anew. */
enum { SHORT_RATIO = 5, FEW_RESTARTS_MIN = 3, UPDATES_MIN = 8, WITHOUT_BACKWARD_MIN = 8, KINDS_MAX = 3 };
/* The share of readings that find it beside. */
#define BESIDE_MIN_RATIO 0.1
#define OPTIMIZER_WAIT_NS (4 * NS_PER_S)
#define TURNS_WATCH_NS (3 * NS_PER_S)
#define OTHER_WATCH_NS (5 * NS_PER_S)
#define STILL_COUNTS_NS (10 * NS_PER_S)
#define ITERATION_WAIT_NS (10 * NS_PER_S)
/* Where a step loop that was alone has ended. */
#define NEXT_WATCH_NS (3 * NS_PER_S / 2)
/* Of a trainer's steps, before they are taken. */
#define TRAINER_WAIT_NS (3 * NS_PER_S / 2)
/* Close readings are taken for at most so long. */
#define CLOSE_WATCH_NS (2 * NS_PER_S)
/* Passes of the step loop that take as long can be followed, however seldom other readings are. */
#define FOLLOWED_NS (100 * NS_PER_MS)

/* Usual names of an int that counts steps, the best first. */
static const char *const counters[] = { "global_step", "iter_num", "iteration", "step", "iter", "it", "i", "n_iter",
	"num_updates", "update", "batch_idx", "idx", "t", "episode", "i_episode" };
/* Behind that of each int. */
enum { COUNTERS = sizeof counters / sizeof *counters, WORST_QUALITY = COUNTERS + 6 };

double stacks_loop_per_second(const struct seen *seen)
{
	double s = (double)(seen->read_ns - seen->since_ns) * 1e-9;
	return s > 0 ? (double)seen->advanced / s : 0;
}

bool stacks_loop_is_of(const struct seen *seen, const struct seen *steps)
{
	return steps && seen->loop.code == steps->loop.code && seen->loop.depth == steps->loop.depth;
}

bool stacks_loop_is_within(const struct seen *seen, const struct seen *outer)
{
	return seen->loop.code == outer->loop.code && seen->loop.depth == outer->loop.depth + 1;
}

bool stacks_loop_has_loader_within(const struct stacks_loops *loops, const struct seen *seen)
{
	for (size_t i = 0; i < loops->around_count; i++)
		if (loops->around[i].code == seen->loop.code && loops->around[i].depth == seen->loop.depth &&
			(stacks_loop_is_variable(&seen->loop) || loops->around[i].line == seen->loop.line))
			return true;
	return false;
}

/* Of a list, a generator expression: until 3.11 functions of their own. */
static bool is_comprehension(const struct seen *seen)
{
	const char *dot = strrchr(seen->function, '.'), *name = dot ? dot + 1 : seen->function;
	return strcmp(name, "<listcomp>") == 0 || strcmp(name, "<genexpr>") == 0 || strcmp(name, "<dictcomp>") == 0 ||
		strcmp(name, "<setcomp>") == 0;
}

/* A few items again and again, within another loop that advances: layers, features, and not batches. */
static bool is_part_of_step(const struct stacks_loops *loops, const struct seen *seen)
{
	if (seen->loop.length == 0 || seen->loop.length > STACKS_SHORT_MAX || seen->restarts < 3)
		return false;
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++)
		if (!outer->is_epoch && !stacks_loop_is_epoch_int(&outer->loop) && outer->advanced > 0 &&
			stacks_loop_is_inside(seen, outer))
			return true;
	return false;
}

bool stacks_loop_is_of_standard_library(const struct seen *seen)
{
	return strstr(seen->file, "/lib/python3") && !strstr(seen->file, "/site-packages/") &&
		!strstr(seen->file, "/dist-packages/");
}

/* A library's list of a few items: the parts of a pipeline or of a model, in each step or while it is built. */
static bool is_list_of_parts(const struct seen *seen)
{
	bool is_list = seen->loop.kind == PY_LOOP_LIST || seen->loop.kind == PY_LOOP_TUPLE;
	return is_list && seen->loop.length <= STACKS_SHORT_MAX && seen->loop.position <= STACKS_SHORT_MAX &&
		!stacks_tree_is_own_file(seen->file);
}

/* A `for` whose position is unknown goes on when an int that it adds the same to does. */
static uint64_t advanced_in(const struct stacks_loops *loops, const struct seen *seen)
{
	uint64_t most = seen->advanced;
	bool is_unknown = !stacks_loop_is_variable(&seen->loop) && !seen->loop.has_position;
	for (const struct seen *sum = loops->seen; is_unknown && sum < loops->seen + loops->seen_count; sum++)
		if (stacks_loop_is_of(sum, seen) && sum->loop.is_sum && sum->loop.is_by_same && !sum->goes_back)
			most = sum->advanced > most ? sum->advanced : most;
	return most;
}

/* Without PyTorch: by the time in it. While the next pass is awaited the readings are more frequent, so the loop with
 * the steps remains it. */
static bool has_time(const struct stacks_loops *loops, const struct seen *seen)
{
	bool is_in_epoch = false;
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++)
		is_in_epoch |= outer->is_epoch && stacks_loop_is_within(seen, outer);
	return advanced_in(loops, seen) > 0 && stacks_loop_per_second(seen) <= RATE_MAX && !is_comprehension(seen) &&
		!is_part_of_step(loops, seen) && !is_list_of_parts(seen) &&
		(stacks_loop_is_of(seen, loops->steps) || 10 * seen->reads >= (is_in_epoch ? 5u : 7u) * loops->reads);
}

/* Of a loop of epochs: another one inside it advances, and may yet be seen to have the steps, or its position is
 * unknown. In a function that it calls that may be any loop, but for the user's own in which most of the time goes. */
static bool may_have_steps_within(const struct stacks_loops *loops, const struct seen *epochs)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_unknown = seen->advanced > 0 || !seen->loop.has_position;
		bool is_called = stacks_loop_is_inside(seen, epochs) && !stacks_loop_is_variable(&seen->loop) &&
			!is_comprehension(seen) && stacks_tree_is_own_file(seen->file) && 10 * seen->reads >= 7 * loops->reads;
		if (is_unknown && (is_called || (stacks_loop_is_within(seen, epochs) && 10 * seen->reads >= 2 * loops->reads)))
			return true;
	}
	return false;
}

/* Without PyTorch: most of the time goes in a `for` inside this one over a generator whose position is unknown: the
 * batches, perhaps. */
static bool has_generator_within(const struct stacks_loops *loops, const struct seen *outer)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.kind == PY_LOOP_GENERATOR && !seen->loop.has_position && seen->advanced == 0 &&
			!is_comprehension(seen) && stacks_loop_is_inside(seen, outer) && 10 * seen->reads >= 7 * loops->reads)
			return true;
	return false;
}

/* "for optimizer in optimizers: optimizer.step()": backward runs elsewhere. The optimizer may run backward itself, in a
 * closure. */
static bool has_optimizer_alone(const struct seen *seen, const struct seen *most)
{
	return seen->trained == seen->optimized &&
		(most->trained > most->optimized || seen->optimized < WITHOUT_BACKWARD_MIN);
}

/* Whether the steps are in this loop, by what was seen to run in it. */
static bool has_training(const struct stacks_loops *loops, const struct seen *seen, const struct seen *most)
{
	if (most->optimized)
		return 10 * seen->optimized >= 8 * most->optimized && !has_optimizer_alone(seen, most);
	if (most->trained)
		return 10 * seen->trained >= 8 * most->trained;
	return !loops->has_torch && has_time(loops, seen);
}

static int name_rank(const char *name)
{
	const char *dot = strrchr(name, '.');
	name = dot ? dot + 1 : name;
	for (int i = 0; i < COUNTERS; i++)
		if (strcmp(name, counters[i]) == 0)
			return i;
	return COUNTERS;
}

/* What a loop assigns is often no count: an action of an agent. Without +=, it must be seen to grow within one pass. */
static bool may_be_none(const struct seen *seen)
{
	return seen->loop.kind == PY_LOOP_INT && !seen->loop.is_sum &&
		(seen->forward < FORWARD_MIN || 2 * seen->anew > seen->reads);
}

int stacks_loop_quality(const struct seen *seen)
{
	const struct py_loop *loop = &seen->loop;
	bool is_other = loop->is_compared ? seen->stride != 1 : loop->is_sum && !loop->is_by_same;
	/* Other things than iterations: tokens, the steps of environments. */
	if (!loop->has_position || seen->goes_back || is_other || loop->is_uneven || may_be_none(seen))
		return -1;
	if (loop->kind == PY_LOOP_PROGRESS)
		return *loop->name && seen->stride != 1 ? -1 : 1 + loop->is_relative; /* a bar may count images */
	if (loop->kind == PY_LOOP_CHANGES)
		return WORST_QUALITY;
	if (!stacks_loop_is_variable(loop))
		return loop->is_relative ? 3 : 0;
	return seen->advanced > 0 ? 4 + name_rank(loop->name) + (loop->guards.divisor > 1) : -1;
}

/* Without the optimizer: a short loop that begins again and again inside a loop that is no epoch's accumulates
 * gradients; not in one over two or three kinds of work, such as training and validation. */
static bool is_accumulation(const struct stacks_loops *loops, const struct seen *seen)
{
	bool is_within_another = false;
	if (seen->loop.length == 0 || seen->loop.length > STACKS_SHORT_MAX || seen->restarts < 3)
		return false;
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++) {
		bool is_directly = outer->loop.code == seen->loop.code && outer->loop.depth + 1 == seen->loop.depth;
		if (is_directly && (outer->is_epoch || (outer->loop.length > 0 && outer->loop.length <= KINDS_MAX)))
			return false;
		is_within_another |= is_directly;
	}
	return is_within_another;
}

static bool is_followed(const struct stacks_loops *loops, const struct seen *seen)
{
	return loops->steps && stacks_loop_is_of(seen, loops->steps) && loops->pass_ns >= FOLLOWED_NS;
}

bool stacks_loop_is_too_short(const struct seen *seen)
{
	if (stacks_loop_is_variable(&seen->loop))
		return false;
	/* Each reading finds it at its only item. */
	if (seen->loop.length == 1)
		return true;
	if (seen->close_reads >= READS_MIN)
		return 2 * seen->close_restarts > seen->close_reads;
	return seen->reads >= READS_MIN / 2 && 2 * seen->restarts > seen->reads;
}

/* Where the length is unknown: so few were seen to pass each time. */
static bool is_few(const struct seen *seen)
{
	if (stacks_loop_is_variable(&seen->loop))
		return false;
	return seen->loop.length > 0 ? seen->loop.length <= STACKS_SHORT_MAX
								 : seen->restarts >= FEW_RESTARTS_MIN && seen->advanced > 0 &&
			seen->advanced <= STACKS_SHORT_MAX * (seen->restarts + UINT64_C(1));
}

/* A loop around this one, of its function or of one that calls it, goes on. */
static const struct seen *goes_on_around(const struct stacks_loops *loops, const struct seen *seen)
{
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++)
		if (stacks_loop_is_inside(seen, outer) && !outer->is_epoch && outer->advanced > 0 &&
			!outer->loop.is_in_generator && !stacks_loop_is_of_standard_library(outer) &&
			!stacks_loops_tries_runs(outer->file))
			return outer;
	return NULL;
}

/* The few passes over these few minibatches, all in an iteration of a loop that goes on (PPO): *outer. NULL: it is
 * none.
 */
static const struct seen *passes_over(
	const struct stacks_loops *loops, const struct seen *minibatches, const struct seen **outer)
{
	for (const struct seen *passes = loops->seen; is_few(minibatches) && passes < loops->seen + loops->seen_count;
		 passes++)
		if (stacks_loop_is_within(minibatches, passes) && is_few(passes) && (*outer = goes_on_around(loops, passes)))
			return passes;
	return NULL;
}

/* On a slow machine readings could follow them, elsewhere not. */
static bool is_minibatches(const struct stacks_loops *loops, const struct seen *seen)
{
	const struct seen *outer;
	bool is_short = stacks_loop_is_too_short(seen) ||
		(seen->close_reads >= READS_MIN && SHORT_RATIO * seen->close_restarts > seen->close_reads);
	return is_short && passes_over(loops, seen, &outer);
}

/* The loop around is partly beside the passes: it collects what they learn from. */
static bool is_of_rollout(const struct stacks_loops *loops, const struct seen *seen)
{
	const struct seen *outer, *passes = passes_over(loops, seen, &outer);
	return passes && (double)passes->reads < (1 - BESIDE_MIN_RATIO) * (double)outer->reads;
}

/* "for t in range(total): if t % 50 == 0: for j in range(50): update()": few iterations of the loop around have it, and
 * that loop's iterations are what the program itself counts. */
static bool is_burst(const struct stacks_loops *loops, const struct seen *seen)
{
	if (seen->loop.kind != PY_LOOP_RANGE || seen->restarts == 0 ||
		(loops->steps && stacks_loop_is_of(seen, loops->steps)))
		return false;
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++)
		if (stacks_loop_is_within(seen, outer) && !stacks_loop_is_variable(&outer->loop) && outer->loop.length > 0 &&
			!outer->is_epoch && stacks_loop_has_seldom(outer, seen))
			return true;
	return false;
}

typedef bool is_part(const struct stacks_loops *loops, const struct seen *seen);

/* These minibatches, or passes over them. */
static bool is_or_has(const struct stacks_loops *loops, const struct seen *seen, is_part *is_it)
{
	bool has_them = is_it(loops, seen);
	for (const struct seen *other = loops->seen; is_few(seen) && other < loops->seen + loops->seen_count; other++)
		has_them |= stacks_loop_is_within(other, seen) && is_it(loops, other);
	return has_them;
}

bool stacks_loop_is_one(const struct stacks_loops *loops, const struct seen *seen)
{
	for (const struct seen *other = loops->seen;
		 stacks_loop_is_variable(&seen->loop) && other < loops->seen + loops->seen_count; other++)
		if (!stacks_loop_is_variable(&other->loop) && other->loop.code == seen->loop.code &&
			other->loop.depth == seen->loop.depth)
			return false;
	return true;
}

/* What a `for` assigns counts its iterations only if it is one int, and no item of itertools: not the i of "for i, j in
 * product(a, b)". */
static bool counts_its_for(const struct stacks_loops *loops, const struct seen *target)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_of_it = stacks_loop_is_of(seen, target) && seen->loop.line == target->loop.line && seen != target;
		if (is_of_it && (seen->is_target || seen->loop.kind == PY_LOOP_ITERTOOLS))
			return false;
	}
	return true;
}

static bool can_count(const struct stacks_loops *loops, const struct seen *seen)
{
	return stacks_loop_quality(seen) >= 0 && (!seen->is_target || counts_its_for(loops, seen));
}

bool stacks_loops_wants(const struct stacks_loops *loops, const char *file, int line)
{
	if (!loops->wanted)
		return false;
	const char *colon = strrchr(loops->wanted, ':');
	size_t length = (size_t)(colon ? colon - loops->wanted : 0), file_length = strlen(file);
	return length > 0 && file_length >= length && strncmp(file + file_length - length, loops->wanted, length) == 0 &&
		(file_length == length || file[file_length - length - 1] == '/') && atoi(colon + 1) == line;
}

bool stacks_loop_is_wanted(const struct stacks_loops *loops, const struct seen *seen)
{
	return stacks_loops_wants(loops, seen->file, seen->loop.line);
}

static struct seen *choose_wanted(struct stacks_loops *loops)
{
	struct seen *best = NULL;
	for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_wanted(loops, seen) && can_count(loops, seen) &&
			(!best || stacks_loop_quality(seen) < stacks_loop_quality(best)))
			best = seen;
	return best;
}

/* A reading may miss the position of what counts this loop: another count of it would begin elsewhere. */
static bool still_counts(const struct stacks_loops *loops, const struct seen *inner)
{
	const struct seen *steps = loops->steps;
	return steps && stacks_loop_is_of(steps, inner) && !stacks_loop_is_variable(&steps->loop) &&
		!steps->loop.has_position && loops->read_ns - steps->moved_ns < STILL_COUNTS_NS;
}

/* What ends the loop may advance by more than its iterations, which another int counts at the end of the first one:
 * "while timesteps < total: timesteps += rollout(); iteration += 1". */
static bool may_be_counted_better(
	const struct stacks_loops *loops, const struct seen *inner, const struct seen *compared)
{
	if (loops->steps || loops->read_ns - loops->since_ns > 2 * ITERATION_WAIT_NS)
		return false;
	if (inner->loop.is_learning)
		return true;
	if (loops->read_ns - loops->trained_ns > ITERATION_WAIT_NS)
		return false;
	/* A `for` that only this reading found between two items. */
	if (stacks_loop_is_variable(&compared->loop) && !stacks_loop_is_variable(&inner->loop) &&
		!inner->loop.has_position && inner->advanced > 0)
		return true;
	if (!compared->loop.is_compared)
		return false;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_of(seen, compared) && seen->loop.is_sum && seen->loop.is_by_same &&
			!seen->loop.is_compared && seen->advanced == 0 && seen->read_ns == compared->read_ns)
			return true;
	return false;
}

/* An iteration in which the optimizer begins again and again has many steps, in a loop that is not seen: C code runs it
 * (list(map(step, batches))), or it cannot be read. Until it has gone on, that may not be known. */
static bool may_hide_steps(const struct stacks_loops *loops, const struct seen *inner)
{
	if (stacks_loop_is_variable(&inner->loop) || !inner->loop.has_position || inner == loops->steps)
		return false;
	return inner->updates_max >= UPDATES_MIN ||
		(inner->optimized && inner->advanced == 0 && loops->read_ns - loops->trained_ns < OTHER_WATCH_NS);
}

/* Of two ints alike the one that has counted for longer: the steps of all episodes, not those of this one. */
static bool counts_better(const struct seen *a, const struct seen *b)
{
	int quality = stacks_loop_quality(a), other = stacks_loop_quality(b);
	bool is_alike = quality == other && stacks_loop_is_variable(&a->loop) && a->loop.kind == b->loop.kind;
	return quality < other || (is_alike && a->loop.position > b->loop.position);
}

/* Whether readings were close for as long as they may be. */
static bool awaited_closely(const struct stacks_loops *loops)
{
	return loops->close_until_ns && loops->read_ns >= loops->close_until_ns;
}

/* The innermost loop with the steps, then what counts it best. NULL: not known (yet). */
static struct seen *choose(struct stacks_loops *loops)
{
	struct seen most = { 0 };
	struct seen *inner = NULL, *best = NULL;
	bool has_short = false, has_long = false, has_burst = false;
	for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		most.trained = seen->trained > most.trained ? seen->trained : most.trained;
		most.optimized = seen->optimized > most.optimized ? seen->optimized : most.optimized;
	}
	for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_candidate = stacks_loop_is_one(loops, seen) && !seen->loop.is_uneven &&
			!stacks_loop_is_of_standard_library(seen) && has_training(loops, seen, &most) &&
			!stacks_loop_has_loader_within(loops, seen);
		bool is_brief =
			!is_followed(loops, seen) && (stacks_loop_is_too_short(seen) || is_or_has(loops, seen, is_minibatches));
		bool is_short = is_candidate && (is_brief || is_or_has(loops, seen, is_of_rollout));
		bool is_in_bursts = is_candidate && is_burst(loops, seen);
		has_short |= is_short;
		has_burst |= is_in_bursts;
		has_long |= is_short && seen->loop.length > STACKS_SHORT_MAX && seen->close_reads < READS_MIN;
		if (is_candidate && !is_short && !is_in_bursts && (!inner || stacks_loop_is_inside(seen, inner)) &&
			(most.optimized || !is_accumulation(loops, seen)))
			inner = seen;
	}
	/* The loop around steps that are too short to follow may be that of the epochs: then the steps remain unknown,
	 * unless close readings can follow them. So may one around many iterations, whatever its name is. */
	if (!inner || (has_short && inner->is_epoch) || (has_long && !awaited_closely(loops))) {
		if (has_short && !loops->close_until_ns)
			loops->close_until_ns = loops->read_ns + CLOSE_WATCH_NS;
		return NULL;
	}
	if (!most.trained &&
		((inner->is_epoch && may_have_steps_within(loops, inner)) || has_generator_within(loops, inner)))
		return NULL;
	/* The loop of the steps may not be seen: C code runs it (functools.reduce), or it cannot be read. */
	if (inner->is_epoch && !loops->wanted && most.trained &&
		(inner->turns_max >= TURNS_MIN || 10 * inner->hidden >= 8 * inner->trained ||
			loops->read_ns - loops->trained_ns < TURNS_WATCH_NS))
		return NULL;
	if (!loops->wanted && !has_burst && may_hide_steps(loops, inner))
		return NULL;
	if (still_counts(loops, inner))
		return loops->steps;
	for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_of_it = seen->loop.code == inner->loop.code && seen->loop.depth == inner->loop.depth &&
			has_training(loops, seen, &most);
		if (is_of_it && can_count(loops, seen) && (!best || counts_better(seen, best)))
			best = seen;
	}
	return best && may_be_counted_better(loops, inner, best) ? NULL : best;
}

/* What Lightning counts are its steps, whatever else the samples show. Its DataLoader is mostly found sooner. */
static bool is_trainer(const struct stacks_loops *loops, const struct seen *seen)
{
	return seen->loop.counts_begun && seen->advanced > 1 && !seen->goes_back && seen->read_ns == loops->read_ns &&
		seen->read_ns - seen->since_ns >= TRAINER_WAIT_NS && !stacks_loop_has_loader_within(loops, seen);
}

static const struct seen *find_trainer(const struct stacks_loops *loops)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (is_trainer(loops, seen))
			return seen;
	return NULL;
}

struct seen *stacks_loops_find_steps(struct stacks_loops *loops)
{
	if (loops->wanted)
		return choose_wanted(loops);
	const struct seen *trainer = find_trainer(loops);
	return trainer ? &loops->seen[trainer - loops->seen] : choose(loops);
}

bool stacks_loops_may_choose(const struct stacks_loops *loops, int64_t now_ns)
{
	bool is_next = loops->steps && loops->is_alone;
	if (loops->wanted || find_trainer(loops))
		return true;
	if (loops->reads < READS_MIN || now_ns - loops->since_ns < NS_PER_S)
		return false;
	if (loops->trained > 0)
		return loops->optimized > 1 ||
			(loops->trained >= TRAINED_MIN &&
				now_ns - loops->trained_ns > (is_next ? NEXT_WATCH_NS : OPTIMIZER_WAIT_NS));
	return !loops->has_torch &&
		(loops->reads >= OTHER_READS_MIN && now_ns - loops->since_ns > (is_next ? NEXT_WATCH_NS : OTHER_WATCH_NS));
}
