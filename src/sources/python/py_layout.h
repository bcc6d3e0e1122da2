/* py_layout.h: offsets of the CPython structs that make up a stack, selected once by version.
 *
 * 3.8 to 3.12: from debug information of released builds; valid for x86-64 and other 64-bit machines with the same
 * alignment. 3.13 and newer publish their offsets (struct _Py_DebugOffsets, the first member of _PyRuntime;
 * Include/internal/pycore_debug_offsets.h; its own layout differs by minor version). An unknown version is refused,
 * never guessed. */
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
	uint32_t object_size; /* of PyObject, which is the offset of ob_size in a PyVarObject */
	uint32_t object_type;
	uint32_t text_ascii, text_other; /* offset of the characters of a compact str */
	uint32_t runtime_interpreters;   /* in _PyRuntime: the newest interpreter */
	/* in _PyRuntime: the GIL's holder, and 8 bytes further whether it is held; PY_NOWHERE: the GIL is per
	 * interpreter */
	uint32_t runtime_gil;
	uint32_t interpreter_next, interpreter_threads;
	uint32_t interpreter_gil; /* a pointer to a struct with the same two words at 8 and 16 */
	uint32_t thread_next, thread_interpreter;
	uint32_t thread_frame;                  /* the newest frame */
	uint32_t thread_cframe, cframe_frame;   /* 3.11 and 3.12: through another struct */
	uint32_t thread_pthread, thread_native; /* native: PY_NOWHERE to 3.10 */
	uint32_t thread_size;
	uint32_t frame_previous, frame_code, frame_ip, frame_owner, frame_size;
	uint32_t frame_generator; /* to 3.10: f_gen in CPython's frameobject.h, else PY_NOWHERE */
	uint32_t code_file, code_name, code_qualname, code_lines, code_first_line, code_bytes, code_size;
	uint32_t code_copies; /* free-threaded: each thread's own copy of the bytes */
};

/* "3.11.7", "3.13.0t". Up to 3.10 a process does not reveal its patch release: "3.10". */
void py_layout_version(const struct py_layout *layout, char out[PY_VERSION_SIZE]);
/* The object that a word of a frame refers to: since 3.14 the lowest two bits are tags. 0: none. */
uint64_t py_layout_object(const struct py_layout *layout, uint64_t word);
/* Whether such a word is an int without an object. */
bool py_layout_is_index(const struct py_layout *layout, uint64_t word);
/* References to an object, from its first word, of immortal ones a large number; 0: the memory of a freed object. Not
 * of free-threaded builds. */
uint64_t py_layout_references(const struct py_layout *layout, uint64_t word);
/* The offset of a tuple's items. */
uint32_t py_layout_tuple_items(const struct py_layout *layout);
/* The layout of 3.8 to 3.12, by minor version. UNSUPPORTED: another version. */
enum status py_layout_known(unsigned minor, struct py_layout *out, struct reason *why_not);
/* The layout from the words at the start of _PyRuntime. NOT_FOUND: they are not debug offsets; DAMAGED: they are
 * invalid; UNSUPPORTED. */
enum status py_layout_from_offsets(const uint64_t words[PY_DEBUG_WORDS], struct py_layout *out, struct reason *why_not);

#endif
