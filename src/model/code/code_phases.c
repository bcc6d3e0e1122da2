#include "src/model/code/code_phases.h"

#include <string.h>

#include "src/model/code/code.h"

const char *code_phase_name(enum code_phase phase)
{
	static const char *const names[CODE_PHASE_COUNT] = {
#define CODE_PHASE_NAME(id, name) name,
		CODE_PHASES(CODE_PHASE_NAME)
#undef CODE_PHASE_NAME
	};
	return names[phase];
}

const char *code_plain_function(const char *function)
{
	const char *dot = strrchr(function, '.');
	return dot ? dot + 1 : function;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && strcmp(text + length - end_length, end) == 0 &&
		(length == end_length || text[length - end_length - 1] == '/');
}

enum code_phase code_phase_of(const char *function, const char *file, const char *caller)
{
	const struct code_phase_row *row = code_phase_rows;
	for (; row->file; row++)
		if (ends_with(file, row->file) &&
			(!row->function || strcmp(code_plain_function(function), row->function) == 0) &&
			(!row->caller || (caller && ends_with(caller, row->caller))))
			return row->phase;
	return CODE_PHASE_OTHER;
}

const char *code_short_file(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *found = strstr(file, folders[i]);
		if (found)
			return found + strlen(folders[i]);
	}
	const char *library = strstr(file, "/lib/python3.");
	const char *rest = library ? strchr(library + strlen("/lib/python3."), '/') : NULL;
	return rest ? rest + 1 : file;
}
