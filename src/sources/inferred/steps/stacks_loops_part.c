#include "src/sources/inferred/steps/stacks_loops_part.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/sums/stacks_tree.h"

/* The length of the path up to an installed package's own folder, that included; 0: it is none. */
static size_t package_length(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *at = strstr(file, folders[i]);
		if (at)
			return (size_t)(at - file) + strlen(folders[i]) + strcspn(at + strlen(folders[i]), "/");
	}
	return 0;
}

/* Both the user's, or of one package: other loops around may run anything, a notebook's cells for example. */
static bool is_of_same_project(const struct seen *a, const struct seen *b)
{
	size_t length = package_length(a->file);
	if (length)
		return strncmp(a->file, b->file, length) == 0 && package_length(b->file) == length;
	return stacks_tree_is_own_file(a->file) && stacks_tree_is_own_file(b->file);
}

bool stacks_loops_tries_runs(const char *file)
{
	static const char *const libraries[] = { "/optuna/", "/hyperopt/", "/ray/", "/skopt/", "/nevergrad/",
		"/sklearn/model_selection/" };
	for (size_t i = 0; package_length(file) && i < sizeof libraries / sizeof *libraries; i++)
		if (strstr(file, libraries[i]))
			return true;
	return false;
}

/* A `for` over several items, or a `while` with an int of its own. */
static bool can_repeat(const struct seen *seen)
{
	const struct py_loop *loop = &seen->loop;
	if (stacks_loop_is_variable(loop))
		return loop->kind == PY_LOOP_INT && loop->is_sum && (loop->is_by_same || loop->is_compared);
	return loop->kind != PY_LOOP_PROGRESS && !loop->is_in_generator && loop->length != 1;
}

bool stacks_loops_is_part(const struct stacks_loops *loops, const struct seen *epochs)
{
	for (const struct seen *outer = loops->seen; outer < loops->seen + loops->seen_count; outer++) {
		bool is_around = stacks_loop_is_inside(epochs, outer) && outer->read_ns >= epochs->read_ns &&
			can_repeat(outer) && !stacks_loop_is_of_standard_library(outer);
		if (is_around &&
			(is_of_same_project(epochs, outer) || stacks_loops_tries_runs(outer->file) ||
				(epochs->restarts > 0 && outer->advanced > 0)))
			return true;
	}
	return false;
}

bool stacks_loops_has_read(const struct stacks_loops *loops, uint64_t code, size_t depth)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.code == code && seen->loop.depth == depth)
			return true;
	return false;
}

size_t stacks_loops_find_uncounted(const struct stacks_loops *loops, const struct py_sample *sample)
{
	int lines[STACKS_DEPTH_MAX];
	for (size_t i = sample->count; i-- > 0;) {
		const struct py_site *site = &sample->sites[i];
		size_t count = stacks_tree_is_own_file(site->known->code.file)
			? py_loops_around(loops->reader, site, lines, STACKS_DEPTH_MAX)
			: 0;
		for (size_t depth = 0; depth < count; depth++)
			if (!stacks_loops_has_read(loops, site->code, depth))
				return sample->count - i;
	}
	return 0;
}
