#include "src/base/frameworks.h"

#include <stdio.h>
#include <string.h>

const struct framework *framework_first(const struct framework *other, const char *path)
{
	for (const struct framework *row = frameworks; row->name && row != other; row++)
		if (strstr(path, row->file))
			return row;
	return other;
}

void framework_write_advice(const struct framework *framework, bool is_python, char *out, size_t size)
{
	if (framework)
		snprintf(out, size, "with %s, %s", framework->name, framework->line);
	else if (is_python)
		snprintf(out, size, "write for batch in pmtop.batches(loader)");
	else
		snprintf(out, size,
			"in Python, write for batch in pmtop.batches(loader); in C or C++, include pmtop.h (man pmtop.h)");
}
