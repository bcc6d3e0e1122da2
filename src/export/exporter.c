#include "src/export/exporter.h"

#include <stddef.h>
#include <string.h>

#define DECLARE_EXPORTER(name) extern const struct exporter name##_exporter;
EXPORTERS(DECLARE_EXPORTER)
#undef DECLARE_EXPORTER

static const struct exporter *const exporters[] = {
#define EXPORTER_ROW(name) &name##_exporter,
	EXPORTERS(EXPORTER_ROW)
#undef EXPORTER_ROW
		NULL,
};

const struct exporter *exporter_at(unsigned index)
{
	return index < sizeof exporters / sizeof *exporters ? exporters[index] : NULL;
}

const struct exporter *exporter_find(const char *name)
{
	for (unsigned i = 0; exporter_at(i); i++)
		if (strcmp(exporter_at(i)->name, name) == 0)
			return exporter_at(i);
	return NULL;
}
