/* py_layout.h: where CPython keeps what a stack is made of: offsets, chosen once by version and read by name.
 *
 * 3.8 to 3.12: from debug information of released builds, x86-64 and any other 64-bit machine with the same
 * alignment. 3.13 and newer tell them themselves (struct _Py_DebugOffsets, the first member of _PyRuntime;
 * Include/internal/pycore_debug_offsets.h, its own layout differs by minor version). A version that is not known here
 * is refused, never guessed. */
#ifndef PMTOP_SOURCES_PYTHON_PY_LAYOUT_H
#define PMTOP_SOURCES_PYTHON_PY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

#define PY_NOWHERE UINT32_MAX

enum { PY_MINOR_OLDEST = 8, PY_MINOR_NEWEST = 15, PY_DEBUG_WORDS = 128, PY_VERSION_SIZE = 24 };

enum py_line_table {
	PY_LINES_PAIRS,     /* co_lnotab, to 3.9: bytes forward, lines forward (signed) */
	PY_LINES_RANGES,    /* co_linetable, 3.10 (PEP 626): length, lines forward; −128 = no line */
	PY_LINES_LOCATIONS, /* co_linetable, 3.11 and newer: Objects/locations.md of CPython */
};

enum py_ip {
	PY_IP_BYTES,   /* f_lasti: an int, in bytes */
	PY_IP_UNITS,   /* f_lasti: an int, in code units of two bytes */
	PY_IP_ADDRESS, /* a pointer into the code object */
};

struct py_layout {
	unsigned minor, patch;
	bool is_free_threaded;
	enum py_line_table lines;
	enum py_ip ip;
	uint32_t object_size; /* of PyObject: where ob_size of a PyVarObject lies */
	uint32_t object_type;
	uint32_t text_ascii, text_other; /* where the characters of a compact str begin */
	uint32_t runtime_interpreters;   /* in _PyRuntime: the newest interpreter */
	/* in _PyRuntime: holder, and 8 further on whether it is held; PY_NOWHERE: by interpreter */
	uint32_t runtime_gil;
	uint32_t interpreter_next, interpreter_threads;
	uint32_t interpreter_gil; /* a pointer to a struct with the same at 8 and 16 */
	uint32_t thread_next, thread_interpreter;
	uint32_t thread_frame;                  /* the newest frame */
	uint32_t thread_cframe, cframe_frame;   /* 3.11 and 3.12: by way of another struct */
	uint32_t thread_pthread, thread_native; /* native: PY_NOWHERE to 3.10 */
	uint32_t thread_size;
	uint32_t frame_previous, frame_code, frame_ip, frame_owner, frame_size;
	uint32_t code_file, code_name, code_qualname, code_lines, code_first_line, code_bytes, code_size;
	uint32_t code_copies; /* free-threaded: each thread's own copy of the bytes */
};

/* "3.11.7", "3.13.0t". To 3.10 a process does not tell which release it is of: "3.10". */
void py_layout_version(const struct py_layout *layout, char out[PY_VERSION_SIZE]);
/* Of 3.8 to 3.12, by minor. UNSUPPORTED: not one of them. */
enum status py_layout_known(unsigned minor, struct py_layout *out, struct reason *why_not);
/* From the words at the begin of _PyRuntime. NOT_FOUND: they are no debug offsets; DAMAGED: they do not make sense;
 * UNSUPPORTED. */
enum status py_layout_emitted(const uint64_t words[PY_DEBUG_WORDS], struct py_layout *out, struct reason *why_not);

#endif
