/* version.h: pmtop --version. */
#ifndef PMTOP_COMMANDS_OPTIONS_VERSION_H
#define PMTOP_COMMANDS_OPTIONS_VERSION_H

/* The version in the first line, then how the program was built and what it found on this machine. */
void version_print(void);

#endif
