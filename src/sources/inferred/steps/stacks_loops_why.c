#include "src/sources/inferred/steps/stacks_loops_why.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_changes.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_training.h"
#include "src/sources/inferred/sums/stacks_tree.h"

/* Most readings, and so many, must show the same. */
#define MAJORITY_RATIO 0.7
#define ASSIGNED_WAIT_NS (3 * NS_PER_S)
#define COUNT_WAIT_NS (10 * NS_PER_S)
enum { READINGS_MIN = 25, CALLS_MIN = 8, PART_RESTARTS_MIN = 3 };

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');
	return slash ? slash + 1 : file;
}

static bool calls_itself(const struct py_sample *sample, uint64_t code)
{
	unsigned count = 0;
	for (size_t i = 0; i < sample->count; i++)
		count += sample->sites[i].code == code;
	return count >= CALLS_MIN;
}

/* A slow loop, or `+=`, has not gone on yet. Other ints that a loop assigns are mostly no counts. */
static bool may_go_on(const struct seen *seen)
{
	bool is_assigned = stacks_loop_is_variable(&seen->loop) && !seen->loop.is_sum;
	return seen->advanced == 0 && (!is_assigned || seen->read_ns - seen->since_ns < ASSIGNED_WAIT_NS);
}

/* What in this loop may count its iterations. NULL: nothing does. */
static const struct seen *find_count(const struct stacks_loops *loops, uint64_t code, unsigned depth)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.code == code && seen->loop.depth == depth && seen->loop.has_position &&
			(may_go_on(seen) || stacks_loop_quality(seen) >= 0))
			return seen;
	return NULL;
}

/* A few items again and again: the layers of a model. The steps are in a loop around it. */
static bool is_part(const struct seen *seen)
{
	return seen->loop.length > 0 && seen->loop.length <= STACKS_SHORT_MAX && seen->restarts >= PART_RESTARTS_MIN;
}

static bool is_of_library(const char *file) { return strstr(file, "/lib/python3") && !strstr(file, "-packages/"); }

/* In a lock, a queue, or a pipe. */
static bool waits(const struct py_sample *sample)
{
	static const char *const files[] = { "/threading.py", "/queue.py", "/selectors.py",
		"/multiprocessing/connection.py", "/multiprocessing/popen_fork.py", "/concurrent/futures/_base.py",
		"/subprocess.py" };
	const char *file = sample->count > 0 ? sample->sites[0].known->code.file : "";
	size_t length = strlen(file);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (is_of_library(file) && length >= strlen(files[i]) &&
			strcmp(file + length - strlen(files[i]), files[i]) == 0)
			return true;
	return false;
}

/* "catboost" of "/usr/lib/python3/dist-packages/catboost/core.py". False: it is in no package. */
static bool package_of(const char *file, char *out, size_t size)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *at = strstr(file, folders[i]);
		if (!at)
			continue;
		at += strlen(folders[i]);
		snprintf(out, size, "%.*s", (int)strcspn(at, "/."), at);
		return true;
	}
	return false;
}

static bool is_importing(const struct py_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		if (strncmp(sample->sites[i].known->code.file, "<frozen importlib", strlen("<frozen importlib")) == 0)
			return true;
	return false;
}

/* The innermost frame of the user's own code; NULL: there is none. */
static const struct py_site *own_frame(const struct py_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		if (stacks_tree_is_own_file(sample->sites[i].known->code.file))
			return &sample->sites[i];
	return NULL;
}

/* Why the innermost loop of these frames, from this one outwards, is not counted; PyTorch's own loops are within a
 * step. `is_own`: only of frames of the user's own code. */
static enum stacks_why find_loop(
	struct stacks_loops *loops, const struct py_sample *sample, size_t from, bool is_own, struct stacks_why_at *at)
{
	int lines[STACKS_DEPTH_MAX];
	for (size_t i = from; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		size_t depth = py_loops_around(loops->reader, site, lines, STACKS_DEPTH_MAX);
		bool is_within = strstr(site->known->code.function, "comp>") || strstr(site->known->code.function, "<genexpr>");
		if (depth == 0 || is_within || is_of_library(site->known->code.file) ||
			stacks_training_is_torch(site->known->code.file) ||
			(is_own && !stacks_tree_is_own_file(site->known->code.file)))
			continue;
		const struct seen *count = NULL;
		for (; depth > 0 && (count = find_count(loops, site->code, (unsigned)depth - 1)) && is_part(count); depth--)
			;
		if (depth == 0)
			continue;
		at->code = site->code;
		at->line = lines[depth - 1];
		snprintf(at->file, sizeof at->file, "%.40s", base_name(site->known->code.file));
		return count ? STACKS_WHY_UNKNOWN : STACKS_WHY_UNREADABLE;
	}
	return STACKS_WHY_OUTSIDE;
}

static enum stacks_why find_why(struct stacks_loops *loops, const struct py_sample *sample, struct stacks_why_at *at)
{
	const struct py_site *own = own_frame(sample);
	if (!own)
		return STACKS_WHY_UNKNOWN;
	*at = (struct stacks_why_at){ .code = own->code, .line = own->line };
	snprintf(at->file, sizeof at->file, "%.40s", base_name(own->known->code.file));
	snprintf(at->function, sizeof at->function, "%.40s", own->known->code.function);
	package_of(sample->sites[0].known->code.file, at->package, sizeof at->package);
	if (calls_itself(sample, own->code))
		return STACKS_WHY_RECURSION;
	if (sample->is_cut)
		return STACKS_WHY_UNKNOWN;
	if (waits(sample))
		return STACKS_WHY_WAITS;
	struct stacks_why_at of_loop = *at;
	if (find_loop(loops, sample, 0, true, &of_loop) == STACKS_WHY_UNREADABLE) {
		*at = of_loop;
		return STACKS_WHY_UNREADABLE;
	}
	return find_loop(loops, sample, 0, false, at);
}

void stacks_loops_note_why(struct stacks_loops *loops, const struct py_sample *sample)
{
	struct stacks_why_at at = { 0 };
	if (is_importing(sample))
		return;
	enum stacks_why why = find_why(loops, sample, &at);
	if (loops->why.samples >= 2 * READINGS_MIN) {
		loops->why.samples /= 2;
		for (size_t i = 0; i < STACKS_WHYS; i++)
			loops->why.counts[i] /= 2;
	}
	loops->why.samples++;
	loops->why.counts[why]++;
	loops->why.at[why] = at;
}

/* Of the loops that have run since, none is the one that a person chose. */
static bool lacks_chosen(const struct stacks_loops *loops)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_wanted(loops, seen))
			return false;
	return loops->wanted && !loops->steps && loops->why.samples >= READINGS_MIN;
}

/* PyTorch runs, and a loop goes on: it may be an evaluation, or a method without gradients. */
static bool lacks_training(const struct stacks_loops *loops)
{
	bool goes_on = false;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		goes_on |= seen->advanced > 0 && stacks_loop_quality(seen) >= 0;
	return goes_on && loops->has_torch && loops->trained == 0 && !loops->steps && loops->why.samples >= READINGS_MIN &&
		loops->why.counts[STACKS_WHY_UNKNOWN] >= MAJORITY_RATIO * loops->why.samples;
}

/* Training is seen, and nothing that is read counts its steps. */
static bool lacks_count(const struct stacks_loops *loops)
{
	return loops->trained > 0 && !loops->steps && loops->why.samples >= READINGS_MIN &&
		loops->read_ns - loops->trained_ns > COUNT_WAIT_NS;
}

static bool has_majority(const struct stacks_loops *loops, enum stacks_why why)
{
	return !loops->steps && loops->why.samples >= READINGS_MIN &&
		loops->why.counts[why] >= MAJORITY_RATIO * loops->why.samples;
}

bool stacks_loops_why_unreadable(struct stacks_loops *loops, const struct py_sample *sample, uint64_t *code, int *line)
{
	struct stacks_why_at at = loops->why.at[STACKS_WHY_UNREADABLE];
	bool is_optimizer = false;
	int trained = stacks_training_frame(sample, &is_optimizer);
	bool is_training = loops->trained > 0;
	if (!has_majority(loops, STACKS_WHY_UNREADABLE))
		return false;
	if (is_training && (trained < 0 || (loops->optimized > 1 && !is_optimizer)))
		return false;
	if (find_loop(loops, sample, is_training ? (size_t)trained + 1 : 0, !is_training, &at) != STACKS_WHY_UNREADABLE)
		return false;
	*code = at.code;
	*line = at.line;
	return at.line > 0;
}

bool stacks_loops_why(const struct stacks_loops *loops, char *out, size_t size)
{
	const struct stacks_why_at *at = loops->why.at;
	if (loops->wanted && !loops->steps && loops->changes.is_refused) {
		snprintf(out, size, "nothing counts the steps at %s, which are too short to watch", loops->wanted);
		return true;
	}
	if (lacks_chosen(loops)) {
		snprintf(out, size, "pmtop has found no loop at %s: key s lists the others", loops->wanted);
		return true;
	}
	if (lacks_training(loops)) {
		snprintf(out, size, "no backward pass was seen: key s or --loop chooses a loop");
		return true;
	}
	for (enum stacks_why i = STACKS_WHY_UNKNOWN + 1; i < STACKS_WHYS; i++) {
		if (!has_majority(loops, i) || (i == STACKS_WHY_UNREADABLE && stacks_loops_changes_is_tried(loops)))
			continue;
		at += i;
		if (i == STACKS_WHY_RECURSION)
			snprintf(out, size, "%s() calls itself: recursion has no loop to count", at->function);
		else if (i == STACKS_WHY_WAITS)
			snprintf(out, size, "%s:%d waits: other threads or processes do the work", at->file, at->line);
		else if (i == STACKS_WHY_UNREADABLE && loops->changes.is_refused && loops->changes.code == at->code)
			snprintf(out, size, "nothing counts the steps at %s:%d, which are too short to watch", at->file, at->line);
		else if (i == STACKS_WHY_UNREADABLE)
			snprintf(out, size, "the loop at %s:%d counts in an object that pmtop cannot read", at->file, at->line);
		else
			snprintf(out, size, "%s:%d runs native code%s%s: no Python loop to count", at->file, at->line,
				*at->package ? " of " : "", at->package);
		return true;
	}
	if (lacks_count(loops)) {
		snprintf(out, size, "no loop counts the backward passes: key s or --loop chooses one");
		return true;
	}
	return false;
}
