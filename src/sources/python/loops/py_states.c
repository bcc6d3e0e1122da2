#include "src/sources/python/loops/py_states.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/python/loops/py_iterators.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum { PATH_MAX_LENGTH = 4 };

/* By class, the path of attributes to the int, and to its maximum: tqdm, transformers, Lightning 2. The first that is
 * there counts. */
static const struct state {
	const char *name;
	const char *position[PATH_MAX_LENGTH], *maximum[PATH_MAX_LENGTH];
} states[] = {
	{ "tqdm", { "n" }, { "total" } },
	{ "TrainerState", { "global_step" }, { "max_steps" } },
	{ "Trainer", { "state", "global_step" }, { "state", "max_steps" } },
	{ "_TrainingEpochLoop", { "batch_progress", "current", "ready" }, { NULL } },
	{ "_FitLoop", { "epoch_progress", "current", "ready" }, { "max_epochs" } },
};
enum { BAR = 0 };

bool py_state_is_holder(const struct py_process *process, uint64_t object)
{
	for (size_t i = BAR + 1; i < sizeof states / sizeof *states; i++)
		if (py_is_derived(process, object, states[i].name))
			return true;
	return false;
}

/* A bar around an iterable counts what it has shown, which lags behind. */
static bool is_advanced_by_hand(const struct py_process *process, uint64_t bar)
{
	uint64_t iterable;
	return py_attribute_get(process, bar, "iterable", &iterable) && py_is_derived(process, iterable, "NoneType");
}

static bool get_path(const struct py_process *process, uint64_t object, const char *const *path, uint64_t *out)
{
	for (size_t i = 0; i < PATH_MAX_LENGTH && path[i]; i++)
		if (!py_attribute_get(process, object, path[i], &object))
			return false;
	*out = object;
	return path[0] != NULL;
}

/* Of each object on the path the attribute that leads on must not change, of the last one all that py_objects.h guards.
 */
static bool guard_path(const struct py_process *process, uint64_t object, const char *const *path, struct py_loop *out)
{
	struct py_attribute attribute;
	size_t used = strlen(out->name);
	for (size_t i = 0; i < PATH_MAX_LENGTH && path[i]; i++) {
		bool is_last = i + 1 == PATH_MAX_LENGTH || !path[i + 1];
		uint64_t value;
		out->object = object;
		int length = snprintf(out->name + used, sizeof out->name - used, ".%s", path[i]);
		used += length < 0 ? 0 : (size_t)length;
		if (used >= sizeof out->name || !py_attribute_find(process, object, path[i], &attribute) ||
			!remote_word(process->pid, attribute.slot, &value) || !value ||
			(!is_last && !py_loop_guard_word(&out->guards, attribute.slot, value)))
			return false;
		object = value;
	}
	for (size_t i = 0; i < attribute.guard_count; i++)
		if (!py_loop_guard_word(&out->guards, attribute.guards[i].address, attribute.guards[i].word))
			return false;
	out->slot = out->guards.slot = attribute.slot;
	out->guards.source = object;
	return true;
}

bool py_state_find(const struct py_process *process, uint64_t object, bool is_bar, struct py_loop *out)
{
	if (is_bar && !is_advanced_by_hand(process, object))
		return false;
	for (size_t i = is_bar ? BAR : BAR + 1; i < (is_bar ? BAR + 1 : sizeof states / sizeof *states); i++) {
		struct py_loop found = *out;
		uint64_t value;
		if (!py_is_derived(process, object, states[i].name) ||
			!guard_path(process, object, states[i].position, &found) ||
			!py_int_read(process, found.guards.source, &value))
			continue;
		found.kind = is_bar ? PY_LOOP_PROGRESS : PY_LOOP_STATE;
		found.guards.form = PY_FORM_INT;
		if (get_path(process, object, states[i].maximum, &value))
			found.length = py_int_read(process, value, &value) ? value : 0;
		*out = found;
		return true;
	}
	return false;
}
