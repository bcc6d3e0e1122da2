/* command.h: the short name of a process, from its command line: "train.py" for `python3 -u train.py --lr 3`. */
#ifndef PMTOP_SOURCES_TARGET_COMMAND_H
#define PMTOP_SOURCES_TARGET_COMMAND_H

#include <stddef.h>

/* `cmdline` holds the contents of /proc/PID/cmdline (arguments, each with its NUL); if it is empty (a zombie, a
 * kernel thread), `comm` is used. The output is cleaned (text_clean). */
void command_shorten(char *out, size_t size, const char *cmdline, size_t length, const char *comm);

#endif
