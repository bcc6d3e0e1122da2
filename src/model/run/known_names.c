#include "src/model/run/known_names.h"

#include <string.h>
#include <strings.h>

#include "src/model/run/run.h"

bool name_is(const char *text, enum known_name known)
{
	static const char *const names[] = {
#define KNOWN_NAME_TEXT(id, text) text,
		KNOWN_NAMES(KNOWN_NAME_TEXT)
#undef KNOWN_NAME_TEXT
	};
	return strcmp(text, names[known]) == 0;
}

bool run_name_is(const struct run *run, uint32_t name, enum known_name known)
{
	return name_is(run_name(run, name), known);
}

bool name_is_gpu_time(const char *text)
{
	size_t length = strlen(text);
	return length > strlen("gpu._s") && strncmp(text, "gpu.", 4) == 0 && strcmp(text + length - 2, "_s") == 0;
}

bool value_is_off(const char *value) { return strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0; }
