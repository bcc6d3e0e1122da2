/* command.h: a process's command line as a person would call it: "train.py" for `python3 -u train.py --lr 3`. */
#ifndef PMTOP_SOURCES_TARGET_COMMAND_H
#define PMTOP_SOURCES_TARGET_COMMAND_H

#include <stddef.h>

/* `cmdline` is what /proc/PID/cmdline holds (arguments, each with its NUL); where it is empty (a zombie, a kernel
 * thread) `comm` is taken. What is written is clean (text_clean). */
void command_shorten(char *out, size_t size, const char *cmdline, size_t length, const char *comm);

#endif
