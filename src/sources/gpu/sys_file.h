/* sys_file.h: single values from sysfs, by folder and name. A text that is not a number, or out of range, counts as
 * missing, so a driver's garbage becomes no figure (tests/README.md, fault 54). */
#ifndef PMTOP_SOURCES_GPU_SYS_FILE_H
#define PMTOP_SOURCES_GPU_SYS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { SYS_PATH_SIZE = 512, SYS_TEXT_SIZE = 4096 };

/* The text without surrounding white space; false if the file is missing, empty, or holds NUL. */
bool sys_text(const char *folder, const char *name, char *out, size_t size);
/* One decimal number and nothing after it. */
bool sys_number(const char *folder, const char *name, double *out);
/* "0x1002" or "1002". */
bool sys_hex(const char *folder, const char *name, uint64_t *out);
/* The value of "KEY=value" or "key value" at the start of a line of `text`, to the end of that line; false if there
 * is none. */
bool sys_word(const char *text, const char *key, char separator, char *out, size_t size);
/* Joins a path; "" if it does not fit. Returns whether it does. */
bool sys_join(char out[SYS_PATH_SIZE], const char *folder, const char *name);

/* A figure from a file: the file's number × scale, from `min` to `max` (in the metric's unit). */
struct sys_figure {
	const char *file;
	enum metric metric;
	double scale, min, max;
};
/* Returns whether the figure was emitted. */
bool sys_emit(
	const char *folder, const struct sys_figure *figure, int32_t instance, int64_t now_ns, struct sample_set *out);
/* Emits each figure that exists; a row whose file is NULL ends the table. Later rows of a metric are used only if
 * the earlier ones are missing. */
void sys_emit_all(
	const char *folder, const struct sys_figure *figures, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
