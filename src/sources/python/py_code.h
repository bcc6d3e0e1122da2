/* py_code.h: reads a code object of CPython: its function, its file, and the line of an instruction. */
#ifndef PMTOP_SOURCES_PYTHON_PY_CODE_H
#define PMTOP_SOURCES_PYTHON_PY_CODE_H

#include <sys/types.h>

#include "src/sources/python/py_locate.h"

enum { PY_FILE_SIZE = 512, PY_FUNCTION_SIZE = 160, PY_LINES_MAX = 1 << 20, PY_COPIES_MAX = 64 };

struct py_code {
	char function[PY_FUNCTION_SIZE]; /* with its class, from 3.11 on; both are cleaned UTF-8 */
	char file[PY_FILE_SIZE];         /* of a longer path the end */
	int first_line;
	uint64_t bytes; /* address of its instructions; 0 if frames hold offsets */
	uint64_t byte_count;
	size_t copy_count; /* copies of the instructions, in a free-threaded build */
	uint64_t copies[PY_COPIES_MAX];
	unsigned char *table; /* its line table */
	size_t table_size;
};

/* False: there is no code object (any more). On success py_code_release frees its table. */
bool py_code_read(pid_t pid, const struct py_location *location, uint64_t address, struct py_code *out);
void py_code_release(struct py_code *code);
/* `ip` as in the frame. False: it is outside the code. *line 0: the instruction has no line. */
bool py_code_line(const struct py_code *code, const struct py_layout *layout, uint64_t ip, int *line);
/* The line at `offset` bytes; 0 = none. Formats: Objects/lnotab_notes.txt (to 3.10) and Objects/locations.md (from
 * 3.11) of CPython. */
int py_line_at(enum py_line_table format, const unsigned char *table, size_t size, int first_line, int64_t offset);

#endif
