#include "src/sources/python/counters/py_linecache.h"

#include <stdlib.h>

#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum { LINES_MAX = 4096, LINE_SIZE = 1024, TEXT_MAX = 1 << 18 };
enum { ENTRY_TIME = 1, ENTRY_LINES = 2, ENTRY_ITEMS = 4 };

/* Of a module: `sys` among its globals. */
static bool find_from(const struct py_process *process, uint64_t globals, uint64_t *cache)
{
	struct py_attribute sys = { .slot = 0 };
	uint64_t module, modules;
	return py_dict_find(process, globals, "sys", &sys) && remote_word(process->pid, sys.slot, &module) &&
		py_is_derived(process, module, "module") && py_attribute_get(process, module, "modules", &modules) &&
		py_dict_search(process, modules, "linecache", &module) && py_is_derived(process, module, "module") &&
		py_attribute_get(process, module, "cache", cache) && py_is(process, *cache, PY_DICT);
}

bool py_linecache_find(const struct py_process *process, const struct py_sample *sample, uint64_t *cache)
{
	uint64_t globals, before = 0;
	for (size_t i = sample->count; i-- > 0;) {
		struct py_activation at = { sample->sites[i].frame, sample->sites[i].code };
		if (!py_frame_globals(process, &at, &globals) || globals == before)
			continue;
		if (find_from(process, globals, cache))
			return true;
		before = globals;
	}
	return false;
}

/* Appends a line without its end. False: no room. */
static bool append(const struct py_process *process, uint64_t line, char *text, size_t *length)
{
	size_t added;
	if (TEXT_MAX - *length < LINE_SIZE + 1)
		return false;
	if (!py_text_bytes(process, line, text + *length, LINE_SIZE, &added))
		added = 0;
	while (added > 0 && text[*length + added - 1] == '\n')
		added--;
	*length += added;
	text[(*length)++] = '\n';
	return true;
}

bool py_linecache_read(const struct py_process *process, uint64_t cache, const char *name, char **text, size_t *length)
{
	uint64_t entry, items[ENTRY_ITEMS], lines[LINES_MAX], count, at;
	if (!py_dict_search(process, cache, name, &entry) ||
		py_items_read(process, entry, items, ENTRY_ITEMS) != ENTRY_ITEMS ||
		py_is(process, items[ENTRY_TIME], PY_FLOAT) || !py_list_read(process, items[ENTRY_LINES], &at, &count) ||
		count == 0 || count > LINES_MAX || !remote_read(process->pid, at, lines, count * sizeof *lines))
		return false;
	char *out = malloc(TEXT_MAX);
	*length = 0;
	for (size_t i = 0; out && i < count && append(process, lines[i], out, length); i++)
		;
	*text = out;
	return out != NULL;
}
