#include "src/sources/inferred/steps/stacks_spawned.h"

#include <string.h>

#include "src/base/text.h"
#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"

enum { NUMBER_MAX = 4096 };

/* The files of these functions, as their paths end. A function is named "BaseProcess.run", before CPython 3.11 "run".
 */
static const char torch_spawn[] = "/torch/multiprocessing/spawn.py", python_process[] = "/multiprocessing/process.py";
static const char *const distributed[] = { "/torch/nn/parallel/distributed.py", "/torch/distributed/" };

static bool read_number(const struct py_process *process, const struct py_site *site, const char *name, long *out)
{
	uint64_t object, value;
	if (!py_local_get(process, &(struct py_activation){ site->frame, site->code }, name, &object) ||
		!py_int_read(process, object, &value) || value > NUMBER_MAX)
		return false;
	*out = (long)value;
	return true;
}

static void note_function(
	struct stacks_spawned *spawned, const struct py_process *process, const struct py_site *function)
{
	static const char *const names[] = { "rank", "local_rank" };
	for (size_t i = 0; i < sizeof names / sizeof *names && !spawned->has_number; i++)
		spawned->has_number = read_number(process, function, names[i], &spawned->number);
}

/* The innermost of these frames counts: a child that was forked has those of its parent, too. */
static bool note_site(
	struct stacks_spawned *spawned, const struct py_process *process, const struct py_sample *sample, size_t at)
{
	const struct py_site *site = &sample->sites[at];
	const char *file = site->known->code.file, *function = site->known->code.function;
	if (strcmp(function, "_wrap") == 0 && text_ends_with(file, torch_spawn)) {
		spawned->is_child = spawned->is_numbered = true;
		spawned->has_number |= read_number(process, site, "i", &spawned->number);
		return true;
	}
	if (!text_ends_with(file, python_process) || !text_ends_with(function, "run"))
		return false;
	spawned->is_child = true;
	if (at > 0)
		note_function(spawned, process, site - 1);
	return true;
}

void stacks_spawned_note(
	struct stacks_spawned *spawned, const struct py_process *process, const struct py_sample *sample)
{
	bool is_searched = !spawned->has_number && sample->is_whole;
	for (size_t at = 0; at < sample->count && (is_searched || !spawned->is_distributed); at++) {
		const char *file = sample->sites[at].known->code.file;
		for (size_t i = 0; i < sizeof distributed / sizeof *distributed; i++)
			spawned->is_distributed |= strstr(file, distributed[i]) != NULL;
		if (is_searched && note_site(spawned, process, sample, at))
			return;
	}
}

bool stacks_spawned_is_rank(const struct stacks_spawned *spawned)
{
	return spawned->is_numbered || (spawned->is_child && (spawned->is_distributed || spawned->has_number));
}
