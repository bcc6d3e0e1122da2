#include "src/sources/python/loops/py_states.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/python/loops/py_iterators.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum { PATH_MAX_LENGTH = 4 };

/* In a path: the only value of a dict. */
static const char only[] = "[]";

/* By class, the path of attributes to the int, and to its maximum: tqdm, rich with one task, transformers, Lightning 2,
 * SpeechBrain. The first that is there counts. */
static const struct state {
	const char *name;
	const char *position[PATH_MAX_LENGTH], *maximum[PATH_MAX_LENGTH];
	bool is_progress;  /* a bar's, not a trainer's */
	bool counts_begun; /* the step in progress, too */
	bool counts_epochs;
} states[] = {
	{ "tqdm", { "n" }, { "total" }, true, false, false },
	{ "Progress", { "_tasks", only, "completed" }, { "_tasks", only, "total" }, true, false, false },
	{ "TrainerState", { "global_step" }, { "max_steps" }, false, false, false },
	{ "Trainer", { "state", "global_step" }, { "state", "max_steps" }, false, false, false },
	{ "_TrainingEpochLoop", { "batch_progress", "total", "ready" }, { NULL }, false, true, false },
	{ "_FitLoop", { "epoch_progress", "current", "ready" }, { "max_epochs" }, false, false, true },
	{ "EpochCounter", { "current" }, { "limit" }, false, false, true },
};
enum { BAR = 0, STATES = sizeof states / sizeof *states };
static const char iterable_name[] = "iterable";

/* A bit for each of the known states. */
static unsigned states_of_type(const struct py_process *process, uint64_t type)
{
	uint64_t bases[PY_BASES_MAX];
	size_t count = py_bases_read(process, type, bases);
	unsigned found = 0;
	for (size_t i = 0; i < STATES; i++)
		if (py_has_base(process, bases, count, states[i].name))
			found |= 1u << i;
	return found;
}

bool py_state_is_holder(const struct py_process *process, uint64_t type)
{
	return (states_of_type(process, type) & ~(1u << BAR)) != 0;
}

static unsigned states_of(struct py_states *known, const struct py_process *process, uint64_t object)
{
	uint64_t type;
	if (!remote_word(process->pid, object + process->location.layout.object_type, &type))
		return 0;
	for (size_t i = 0; i < known->type_count; i++)
		if (known->types[i].type == type)
			return known->types[i].states;
	if (known->type_count == PY_STATE_TYPES_RETAINED)
		known->type_count = 0;
	known->types[known->type_count].type = type;
	return known->types[known->type_count++].states = states_of_type(process, type);
}

/* A bar around an iterable counts what it has shown, which lags behind. */
static bool is_advanced_by_hand(struct py_states *known, struct py_attributes *attributes, uint64_t bar)
{
	struct py_attribute unused;
	uint64_t iterable;
	if (!py_attributes_get(attributes, bar, iterable_name, &unused, &iterable))
		return false;
	if (!known->none && iterable != known->other) {
		bool is_none = py_is_derived(attributes->process, iterable, "NoneType");
		*(is_none ? &known->none : &known->other) = iterable;
	}
	return iterable == known->none;
}

static bool get_only(const struct py_process *process, uint64_t dict, struct py_attribute *out, uint64_t *value)
{
	struct py_entries entries;
	uint64_t key;
	return py_is(process, dict, PY_DICT) && py_entries_read(process, dict, &entries) && entries.count == 1 &&
		py_entries_get(&entries, 0, &key, out, value);
}

static bool get_step(
	struct py_attributes *attributes, uint64_t object, const char *step, struct py_attribute *out, uint64_t *value)
{
	return step == only ? get_only(attributes->process, object, out, value)
						: py_attributes_get(attributes, object, step, out, value);
}

static bool get_path(struct py_attributes *attributes, uint64_t object, const char *const *path, uint64_t *out)
{
	struct py_attribute unused;
	for (size_t i = 0; i < PATH_MAX_LENGTH && path[i]; i++)
		if (!get_step(attributes, object, path[i], &unused, &object))
			return false;
	*out = object;
	return path[0] != NULL;
}

/* Of each object on the path the attribute that leads on must not change, of the last one all that py_objects.h guards.
 */
static bool guard_path(struct py_attributes *attributes, uint64_t object, const char *const *path, struct py_loop *out)
{
	struct py_attribute attribute;
	size_t used = strlen(out->name);
	for (size_t i = 0; i < PATH_MAX_LENGTH && path[i]; i++) {
		bool is_last = i + 1 == PATH_MAX_LENGTH || !path[i + 1];
		uint64_t value;
		out->object = object;
		int length = snprintf(out->name + used, sizeof out->name - used, path[i] == only ? "%s" : ".%s", path[i]);
		used += length < 0 ? 0 : (size_t)length;
		if (used >= sizeof out->name || !get_step(attributes, object, path[i], &attribute, &value) ||
			(!is_last && !py_loop_guard_word(&out->guards, attribute.slot, value)))
			return false;
		object = value;
	}
	if (!py_loop_guard_attribute(&out->guards, &attribute))
		return false;
	out->slot = out->guards.slot = attribute.slot;
	out->guards.source = object;
	return true;
}

bool py_state_find(
	struct py_states *known, struct py_attributes *attributes, uint64_t object, bool is_bar, struct py_loop *out)
{
	const struct py_process *process = attributes->process;
	unsigned of_class = states_of(known, process, object);
	if (is_bar && !is_advanced_by_hand(known, attributes, object))
		return false;
	for (size_t i = is_bar ? BAR : BAR + 1; i < (is_bar ? BAR + 1 : STATES); i++) {
		struct py_loop found = *out;
		uint64_t value;
		if (!(of_class >> i & 1) || !guard_path(attributes, object, states[i].position, &found) ||
			!py_int_read(process, found.guards.source, &value))
			continue;
		found.kind = states[i].is_progress ? PY_LOOP_PROGRESS : PY_LOOP_STATE;
		found.counts_begun = states[i].counts_begun;
		found.counts_epochs = states[i].counts_epochs;
		found.guards.form = PY_FORM_INT;
		if (get_path(attributes, object, states[i].maximum, &value))
			found.length = py_int_read(process, value, &value) ? value : 0;
		*out = found;
		return true;
	}
	return false;
}

bool py_state_has(struct py_states *known, const struct py_process *process, uint64_t object, const char *name)
{
	const char *attribute = strrchr(name, '.');
	unsigned of_class = attribute ? states_of(known, process, object) : 0;
	for (size_t i = 0; i < STATES; i++)
		if (of_class >> i & 1 && !states[i].position[1] && strcmp(states[i].position[0], attribute + 1) == 0)
			return true;
	return false;
}

/* -- losses -- */

enum { LOGS_BACK = 4 };

static bool find_logged(const struct py_process *process, uint64_t dict, uint64_t *slot, uint64_t *object)
{
	struct py_entries entries;
	struct py_attribute entry;
	uint64_t key;
	if (!py_is(process, dict, PY_DICT) || !py_entries_read(process, dict, &entries))
		return false;
	for (size_t i = 0; i < entries.count; i++)
		if (py_entries_get(&entries, i, &key, &entry, object) && py_is_text(process, key, "loss")) {
			*slot = entry.slot;
			return true;
		}
	return false;
}

bool py_state_loss(struct py_attributes *attributes, const struct py_loop *state, uint64_t *slot, uint64_t *object)
{
	static const char logs_name[] = "log_history";
	const struct py_process *process = attributes->process;
	struct py_attribute unused;
	uint64_t logs, count, items, log;
	if (state->kind != PY_LOOP_STATE || !state->object ||
		!py_attributes_get(attributes, state->object, logs_name, &unused, &logs) ||
		!py_list_read(process, logs, &items, &count))
		return false;
	/* A log of an evaluation has none. */
	for (uint64_t back = 1; back <= LOGS_BACK && back <= count; back++)
		if (remote_word(process->pid, items + 8 * (count - back), &log) && find_logged(process, log, slot, object))
			return true;
	return false;
}
