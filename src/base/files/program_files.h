/* program_files.h: finds files that come with pmtop's program, wherever it is installed or built. */
#ifndef PMTOP_BASE_FILES_PROGRAM_FILES_H
#define PMTOP_BASE_FILES_PROGRAM_FILES_H

/* The first of the two folders, relative to that of the program, that has `file`; free it. NULL: neither, or out of
 * memory. */
char *program_folder(const char *installed, const char *built, const char *file);

#endif
