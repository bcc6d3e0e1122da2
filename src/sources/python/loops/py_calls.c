#include "src/sources/python/loops/py_calls.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/python/loops/py_reading.h"
#include "src/sources/python/remote.h"

/* Of a weakref.ref the object that it refers to (Include/cpython/weakrefobject.h). */
enum { REFERENT = 16, NAME_SIZE = 40 };

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);
	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static bool is_call(const struct py_site *site)
{
	return strstr(site->known->code.file, "/tensorflow/python/eager/") &&
		ends_with(site->known->code.function, "__call__");
}

size_t py_calls_site(const struct py_sample *sample)
{
	for (size_t i = sample->count; i-- > 0;)
		if (is_call(&sample->sites[i]))
			return i;
	return sample->count;
}

/* What counts the calls of this function, by the key that it has in a WeakKeyDictionary. */
static bool find_counter(struct py_attributes *attributes, uint64_t globals, uint64_t function, uint64_t *counter)
{
	static const char manager_name[] = "_frequent_tracing_detector_manager";
	struct py_attribute unused;
	struct py_entries entries;
	uint64_t key, object, reference, referent;
	if (!py_attributes_get(attributes, function, "_key_for_call_stats", &unused, &key) ||
		!py_attributes_find(attributes, globals, PY_OF_DICT, manager_name, &unused, &object) ||
		!py_attributes_get(attributes, object, "_detectors", &unused, &object) ||
		!py_attributes_get(attributes, object, "data", &unused, &object) ||
		!py_entries_read(attributes->process, object, &entries))
		return false;
	for (size_t i = 0; i < entries.count; i++)
		if (py_entries_get(&entries, i, &reference, &unused, counter) &&
			remote_word(attributes->process->pid, reference + REFERENT, &referent) && referent == key)
			return true;
	return false;
}

static bool take_counter(struct py_attributes *attributes, uint64_t counter, struct py_loop *loop)
{
	struct py_attribute attribute;
	if (!py_attributes_get(attributes, counter, "_call_count", &attribute, &loop->guards.source) ||
		!py_loop_guard_attribute(&loop->guards, &attribute))
		return false;
	loop->kind = PY_LOOP_INT;
	loop->guards.form = PY_FORM_INT;
	loop->guards.slot = loop->slot = attribute.slot;
	loop->guards.is_of_calls = true;
	loop->object = counter;
	loop->is_sum = loop->is_by_same = true;
	return true;
}

void py_calls_read(struct py_reading *reading, const struct py_site *site)
{
	struct py_attributes *attributes = &reading->loops->iterators.attributes;
	const struct py_loop_code *code = reading->frame->code;
	const struct py_activation at = { site->frame, site->code };
	struct py_loop loop = reading->base;
	struct py_attribute unused;
	uint64_t function, globals, counter, name;
	char text[NAME_SIZE];
	size_t count = reading->count;
	int innermost = py_bytecode_loop_at(code->bytecode, reading->frame->offset);
	if (innermost == PY_NO_LOOP || !py_local_first(attributes->process, &at, &function) ||
		!py_frame_globals(attributes->process, &at, &globals) ||
		!find_counter(attributes, globals, function, &counter) || !take_counter(attributes, counter, &loop) ||
		!py_loop_guard_place(&loop.guards, reading->frame, innermost, false))
		return;
	loop.depth = code->bytecode->loops[innermost].depth;
	loop.loop_line = code->loop_lines[innermost];
	loop.line = code->bytecode->loops[innermost].is_for ? loop.loop_line : loop.site->line;
	if (py_attributes_get(attributes, function, "_name", &unused, &name) &&
		py_text_read(attributes->process, name, text, sizeof text))
		snprintf(loop.name, sizeof loop.name, "%s()", text);
	py_reading_emit(reading, &loop);
	if (reading->count > count)
		py_calls_adjust(&reading->loops->calls, attributes, &reading->out[count]);
}

/* The calls since the function was traced last, that one included: the last of a list of ints. */
static uint64_t calls_since_tracing(struct py_attributes *attributes, uint64_t counter)
{
	struct py_attribute unused;
	uint64_t list, items, count, item, found;
	return py_attributes_get(attributes, counter, "_calls_per_tracings", &unused, &list) &&
			py_list_read(attributes->process, list, &items, &count) && count > 0 &&
			remote_word(attributes->process->pid, items + 8 * (count - 1), &item) &&
			py_int_read(attributes->process, item, &found)
		? found
		: 1;
}

/* Once a function is traced again, calls before are taken off the count. Until that call returns, which takes long, the
 * count is that of all before. */
void py_calls_adjust(struct py_calls *calls, struct py_attributes *attributes, struct py_loop *loop)
{
	struct py_called *known = NULL;
	if (!loop->has_position)
		return;
	for (size_t i = 0; i < PY_CALLS_RETAINED; i++)
		if (calls->known[i].counter == loop->object)
			known = &calls->known[i];
	if (!known) {
		known = &calls->known[calls->next++ % PY_CALLS_RETAINED];
		*known = (struct py_called){ .counter = loop->object };
	}
	if (loop->position < known->last)
		known->past += known->last + calls_since_tracing(attributes, loop->object) - loop->position;
	known->last = loop->position;
	loop->position += known->past;
}
