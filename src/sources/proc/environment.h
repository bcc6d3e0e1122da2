/* environment.h: single variables of the environment that a process was started with (/proc/PID/environ). Variables
 * that a program sets later are not visible there. Nothing but the wanted variables is retained. */
#ifndef PMTOP_SOURCES_PROC_ENVIRONMENT_H
#define PMTOP_SOURCES_PROC_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { ENVIRONMENT_VALUE_SIZE = 256, ENVIRONMENT_READ_MAX = 256 * 1024 };

struct variable {
	const char *name;
	bool is_set;                        /* with a value that fits, even if empty */
	char value[ENVIRONMENT_VALUE_SIZE]; /* untrusted text */
};

/* Fills the variables by name from environment text: entries "NAME=value", each ended by NUL. The first entry of a name
 * that fits counts. */
void environment_parse(const char *text, size_t length, struct variable *variables, size_t count);
/* The same from the first ENVIRONMENT_READ_MAX bytes of the process whose /proc folder is `directory_fd`. What cannot
 * be read is not set. */
void environment_read(int directory_fd, struct variable *variables, size_t count);

#endif
