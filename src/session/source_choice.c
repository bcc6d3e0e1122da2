#include "src/session/source_choice.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/gpu/gpu.h"

enum status source_choice(const char *names, const struct source **chosen, unsigned *count, struct reason *why_not)
{
	static const struct source *const all[] = {
#define SOURCE_ROW(name) &name##_source,
		SOURCES(SOURCE_ROW)
#undef SOURCE_ROW
	};
	enum { SOURCE_COUNT = sizeof all / sizeof *all };
	_Static_assert((int)SOURCE_COUNT <= (int)SOURCE_CHOICE_MAX, "SOURCE_CHOICE_MAX is too small");
	unsigned wanted = 0;
	while (names && *names) {
		size_t length = strcspn(names, ","), at = 0;
		while (at < SOURCE_COUNT && (strncmp(all[at]->name, names, length) != 0 || all[at]->name[length]))
			at++;
		if (at == SOURCE_COUNT) {
			reason_set(why_not, STATUS_INVALID, NULL, "unknown source %.*s", (int)(length < 60 ? length : 60), names);
			for (size_t i = 0, used = 0; i < SOURCE_COUNT; i++)
				used += (size_t)snprintf(why_not->remedy + used, sizeof why_not->remedy - used, "%s%s",
					i ? ", " : "the sources are ", all[i]->name);
			return STATUS_INVALID;
		}
		wanted |= 1u << at;
		names += length + (names[length] == ',');
	}
	*count = 0;
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (!wanted || (wanted >> i & 1))
			chosen[(*count)++] = all[i];
	/* With --only=gpu this process is the child that calls the drivers and may hang. */
	if (*count == 1 && chosen[0] == &gpu_source)
		chosen[0] = &gpu_direct_source;
	return STATUS_OK;
}
