#include "src/sources/inferred/steps/stacks_loops_changes.h"

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_why.h"

/* Polls are 20 to 50 ms apart (stacks_steps.c): a step must last some of them. Of faster ones two polls, one after the
 * other, often find changes. */
#define STEP_MIN_NS (80 * NS_PER_MS)
#define BRIEF_NS (50 * NS_PER_MS)
#define PASSED_MAX_NS (4 * STEP_MIN_NS) /* what is between two passes is no step */
#define CLOSE_NS (60 * NS_PER_MS)
#define TRIAL_NS (6 * NS_PER_S)
#define TRIAL_MIN_NS (2 * NS_PER_S)
/* So few of the changes may be brief, of the newest ones. Many trials would cost too much. */
enum { TRIALS_MAX = 8, CLOSE_PERCENT = 80, BRIEF_RATIO = 8, BRIEF_MIN = 6, CHANGES_MIN = 12, CHANGES_MAX = 64 };

bool stacks_loops_changes_is_tried(const struct stacks_loops *loops)
{
	const struct stacks_changes *changes = &loops->changes;
	return changes->line > 0 && !changes->is_refused && !changes->is_known &&
		loops->read_ns - changes->since_ns < TRIAL_NS;
}

static const struct seen *find_seen(const struct stacks_loops *loops, const struct py_loop *loop)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.kind == PY_LOOP_CHANGES && seen->loop.code == loop->code && seen->loop.line == loop->line)
			return seen;
	return NULL;
}

/* -- the trial -- */

static void note_change(struct stacks_changes *changes, int64_t now_ns)
{
	int64_t passed_ns = now_ns - changes->changed_ns;
	if (changes->changed_ns > 0) {
		changes->brief += passed_ns < BRIEF_NS;
		changes->passed_ns += passed_ns < PASSED_MAX_NS ? passed_ns : PASSED_MAX_NS;
		changes->changes++;
	}
	if (changes->changes == CHANGES_MAX) {
		changes->changes /= 2;
		changes->brief /= 2;
		changes->passed_ns /= 2;
	}
	changes->changed_ns = now_ns;
}

/* Their steps are too short. */
static bool is_brief(const struct stacks_changes *changes)
{
	return changes->changes >= BRIEF_MIN &&
		(BRIEF_RATIO * changes->brief >= changes->changes || changes->passed_ns < STEP_MIN_NS * changes->changes);
}

static void note_reading(struct stacks_changes *changes, int64_t now_ns)
{
	bool is_trial = now_ns - changes->since_ns <= TRIAL_NS;
	changes->reads += is_trial;
	changes->close_reads += is_trial && now_ns - changes->read_ns <= CLOSE_NS;
	changes->read_ns = now_ns;
}

static void begin(struct stacks_loops *loops, uint64_t code, int line, int64_t now_ns)
{
	unsigned trials = loops->changes.trials + 1;
	loops->changes = (struct stacks_changes){ .trials = trials };
	if (trials > TRIALS_MAX)
		return;
	loops->changes.code = code;
	loops->changes.line = line;
	loops->changes.since_ns = now_ns;
	loops->close_until_ns = now_ns + TRIAL_NS;
}

/* Readings far apart do not show how short the steps are: on a busy machine the trial is repeated. */
static void judge(struct stacks_loops *loops, int64_t now_ns)
{
	struct stacks_changes *changes = &loops->changes;
	bool is_close = CLOSE_PERCENT * changes->reads <= 100 * changes->close_reads;
	int64_t tried_ns = now_ns - changes->since_ns;
	bool is_over = tried_ns >= TRIAL_NS || (tried_ns >= TRIAL_MIN_NS && changes->changes >= CHANGES_MIN);
	changes->is_refused |= is_brief(changes);
	changes->is_known &= !changes->is_refused;
	if (changes->is_known || changes->is_refused || !is_over)
		return;
	if (is_close)
		changes->is_known = changes->changed_ns > 0;
	else
		begin(loops, changes->code, changes->line, now_ns);
}

static void try(struct stacks_loops *loops, const struct py_sample *sample, uint64_t code, int line, int64_t now_ns)
{
	struct py_loop loop;
	bool is_other = loops->changes.code != code || loops->changes.line != line;
	if (is_other && loops->changes.trials <= TRIALS_MAX &&
		py_loops_read_changes(loops->reader, sample, code, line, &loop))
		begin(loops, code, line, now_ns);
}

/* Of a loop that a person chose and nothing counts. */
static void try_wanted(struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns)
{
	int lines[STACKS_DEPTH_MAX];
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		size_t depth = py_loops_around(loops->reader, site, lines, STACKS_DEPTH_MAX);
		while (depth-- > 0)
			if (stacks_loops_wants(loops, site->known->code.file, lines[depth])) {
				try(loops, sample, site->code, lines[depth], now_ns);
				return;
			}
	}
}

void stacks_loops_changes_try(struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns)
{
	uint64_t code;
	int line;
	if (loops->wanted && !stacks_loops_find_steps(loops))
		try_wanted(loops, sample, now_ns);
	else if (!loops->wanted && stacks_loops_why_unreadable(loops, sample, &code, &line))
		try(loops, sample, code, line, now_ns);
}

/* -- the count -- */

bool stacks_loops_changes_read(
	struct stacks_loops *loops, const struct py_sample *sample, struct py_loop *out, int64_t now_ns)
{
	struct stacks_changes *changes = &loops->changes;
	bool is_counted = loops->steps && loops->steps->loop.kind != PY_LOOP_CHANGES;
	if (!changes->line || changes->is_refused || is_counted ||
		!py_loops_read_changes(loops->reader, sample, changes->code, changes->line, out))
		return false;
	const struct seen *seen = find_seen(loops, out);
	bool is_changed = seen && out->guards.source && out->guards.source != seen->loop.guards.source;
	/* The iterator of the next pass may have the address of this one. In it the first iteration is in progress, once it
	 * has assigned the variable. */
	bool is_same_pass = seen && seen->loop.frame == out->frame && seen->loop.object == out->object &&
		(seen != loops->steps || loops->is_running);
	out->position = is_changed + (is_same_pass ? seen->loop.position : 0);
	if (is_changed)
		note_change(changes, now_ns);
	note_reading(changes, now_ns);
	judge(loops, now_ns);
	out->has_position = changes->is_known;
	return true;
}

void stacks_loops_changes_inherit(const struct stacks_loops *loops, struct seen *seen)
{
	seen->reads = loops->reads;
	seen->trained = loops->trained;
	seen->optimized = loops->optimized;
}

bool stacks_loops_changes_are_too_short(const struct stacks_loops *loops)
{
	return loops->changes.is_refused && loops->steps->loop.kind == PY_LOOP_CHANGES;
}

bool stacks_loops_changes_go_on(struct stacks_loops *loops, int64_t now_ns)
{
	note_change(&loops->changes, now_ns);
	judge(loops, now_ns);
	return !loops->changes.is_refused;
}
