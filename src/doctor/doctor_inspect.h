/* doctor_inspect.h: files, links and folders, as `pmtop doctor` reads them. Tests choose another root. */
#ifndef PMTOP_DOCTOR_DOCTOR_INSPECT_H
#define PMTOP_DOCTOR_DOCTOR_INSPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/doctor/doctor.h"

/* The first line of a file. */
bool doctor_read(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* As access(2): 0, or why not (errno). */
int doctor_access(const struct doctor *doctor, int mode, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Returns how many entries of a folder begin with `begin`, and puts the first `max` of them into `names`, sorted as by
 * strverscmp. */
enum { DOCTOR_NAMES_MAX = 32, DOCTOR_NAME_SIZE = 64 };
size_t doctor_names(
	const struct doctor *doctor, const char *folder, const char *begin, char names[][DOCTOR_NAME_SIZE], size_t max);

/* The last component of a symbolic link's target. */
bool doctor_link(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Whether the process has a capability (CAP_…); root has all of them. */
bool doctor_has_right(const struct doctor *doctor, unsigned capability);
/* Sets the newest row's state for a library that figures need. The library is loaded, none of its functions called. */
void doctor_say_library(struct doctor *doctor, const char *file, const char *package, const char *what);

#endif
