/* py_code.h: what a code object of CPython says of itself: function, file, and which line an instruction belongs to. */
#ifndef PMTOP_SOURCES_PYTHON_PY_CODE_H
#define PMTOP_SOURCES_PYTHON_PY_CODE_H

#include <sys/types.h>

#include "src/sources/python/py_locate.h"

enum { PY_FILE_SIZE = 512, PY_FUNCTION_SIZE = 160, PY_LINES_MAX = 1 << 20, PY_COPIES_MAX = 64 };

struct py_code {
	char function[PY_FUNCTION_SIZE]; /* with its class, from 3.11 on; both clean UTF-8 */
	char file[PY_FILE_SIZE];         /* of a longer one the end */
	int first_line;
	uint64_t bytes; /* address of its instructions; 0 where offsets are told */
	uint64_t byte_count;
	size_t copy_count; /* of them, in a free-threaded build */
	uint64_t copies[PY_COPIES_MAX];
	unsigned char *table; /* its lines */
	size_t table_size;
};

/* False: it is none (any more). On success py_code_release gives back its table. */
bool py_code_read(pid_t pid, const struct py_place *place, uint64_t address, struct py_code *out);
void py_code_release(struct py_code *code);
/* `ip` as the frame has it. False: it lies outside of the code. *line 0: no line of its own. */
bool py_code_line(const struct py_code *code, const struct py_layout *layout, uint64_t ip, int *line);
/* The line at `offset` bytes; 0 = none. Formats: Objects/lnotab_notes.txt (to 3.10) and Objects/locations.md
 * (from 3.11) of CPython. */
int py_line_at(enum py_line_table format, const unsigned char *table, size_t size, int first_line, int64_t offset);

#endif
