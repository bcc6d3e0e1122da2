/* frameworks.h: the frameworks of config/frameworks.yaml: how to recognize them, and what to write so that pmtop gets
 * steps. */
#ifndef PMTOP_BASE_FRAMEWORKS_H
#define PMTOP_BASE_FRAMEWORKS_H

#include <stdbool.h>
#include <stddef.h>

struct framework {
	const char *name; /* NULL: the end of the table */
	const char *file; /* part of the path of a library or Python file */
	const char *line; /* what to write: "pass callbacks=[…] to model.fit()" */
};

/* The build makes it from config/frameworks.yaml; the first that matches counts. */
extern const struct framework frameworks[];

/* The first framework in the table of `other` (NULL = none) and the one that the file belongs to. */
const struct framework *framework_first(const struct framework *other, const char *path);
/* "with Keras, pass …"; for NULL, what to write without a framework. is_python: the process runs Python. */
void framework_write_advice(const struct framework *framework, bool is_python, char *out, size_t size);

#endif
