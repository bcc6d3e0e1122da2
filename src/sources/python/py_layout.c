#include "src/sources/python/py_layout.h"

#include <stdio.h>
#include <string.h>

/* Published offsets must be within the possible size of their struct. */
enum { INTERPRETER_MAX = 1 << 20, THREAD_MAX = 4096, FRAME_MAX = 512, CODE_MAX = 1024 };

/* Up to 3.10, frames are objects of their own. */
#define OBJECT_FRAMES \
	.object_size = 16, .object_type = 8, .text_ascii = 48, .text_other = 72, .runtime_interpreters = 32, \
	.interpreter_next = 0, .interpreter_threads = 8, .interpreter_gil = PY_NOWHERE, .thread_next = 8, \
	.thread_interpreter = 16, .thread_frame = 24, .thread_cframe = PY_NOWHERE, .thread_pthread = 176, \
	.thread_native = PY_NOWHERE, .frame_previous = 24, .frame_code = 32, .frame_owner = PY_NOWHERE, .frame_size = 128, \
	.code_file = 104, .code_name = 112, .code_qualname = PY_NOWHERE, .code_lines = 120, .code_first_line = 40, \
	.code_bytes = 48, .code_size = 176, .code_copies = PY_NOWHERE

static const struct py_layout known[] = {
	{ .minor = 8,
		OBJECT_FRAMES,
		.lines = PY_LINES_PAIRS,
		.ip = PY_IP_BYTES,
		.runtime_gil = 1160,
		.frame_ip = 104,
		.frame_generator = 96,
		.thread_size = 264 },
	{ .minor = 9,
		OBJECT_FRAMES,
		.lines = PY_LINES_PAIRS,
		.ip = PY_IP_BYTES,
		.runtime_gil = 360,
		.frame_ip = 104,
		.frame_generator = 96,
		.thread_size = 264 },
	{ .minor = 10,
		OBJECT_FRAMES,
		.lines = PY_LINES_RANGES,
		.ip = PY_IP_UNITS,
		.runtime_gil = 360,
		.frame_ip = 96,
		.frame_generator = 88,
		.thread_size = 280 },
	{ .minor = 11,
		.lines = PY_LINES_LOCATIONS,
		.ip = PY_IP_ADDRESS,
		.object_size = 16,
		.object_type = 8,
		.text_ascii = 48,
		.text_other = 72,
		.runtime_interpreters = 40,
		.runtime_gil = 368,
		.interpreter_next = 0,
		.interpreter_threads = 16,
		.interpreter_gil = PY_NOWHERE,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_frame = PY_NOWHERE,
		.thread_cframe = 56,
		.cframe_frame = 8,
		.thread_pthread = 152,
		.thread_native = 160,
		.thread_size = 360,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_ip = 56,
		.frame_owner = 69,
		.frame_generator = PY_NOWHERE,
		.frame_size = 80,
		.code_file = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 72,
		.code_bytes = 184,
		.code_size = 192,
		.code_copies = PY_NOWHERE },
	{ .minor = 12,
		.lines = PY_LINES_LOCATIONS,
		.ip = PY_IP_ADDRESS,
		.object_size = 16,
		.object_type = 8,
		.text_ascii = 40,
		.text_other = 56,
		.runtime_interpreters = 40,
		.runtime_gil = PY_NOWHERE,
		.interpreter_next = 0,
		.interpreter_threads = 72,
		.interpreter_gil = 384,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_frame = PY_NOWHERE,
		.thread_cframe = 56,
		.cframe_frame = 0,
		.thread_pthread = 136,
		.thread_native = 144,
		.thread_size = 288,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_ip = 56,
		.frame_owner = 70,
		.frame_generator = PY_NOWHERE,
		.frame_size = 80,
		.code_file = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 68,
		.code_bytes = 192,
		.code_size = 200,
		.code_copies = PY_NOWHERE },
};

static enum status refuse(unsigned minor, struct reason *why_not)
{
	return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "pmtop does not support Python 3.%u (only 3.%d to 3.%d)",
		minor, PY_MINOR_OLDEST, PY_MINOR_NEWEST);
}

enum status py_layout_known(unsigned minor, struct py_layout *out, struct reason *why_not)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].minor == minor) {
			*out = known[i];
			return STATUS_OK;
		}
	return refuse(minor, why_not);
}

/* The word that holds each offset, by minor version, and the offset's maximum. */
#define PUBLISHED(member, max, in_13, in_14, in_15) \
	{ \
		offsetof(struct py_layout, member), max, { in_13, in_14, in_15 } \
	}
static const struct {
	size_t member;
	uint32_t max;
	unsigned char word[3];
} published[] = {
	PUBLISHED(runtime_interpreters, INTERPRETER_MAX, 5, 5, 5),
	PUBLISHED(interpreter_next, INTERPRETER_MAX, 8, 8, 8),
	PUBLISHED(interpreter_threads, INTERPRETER_MAX, 9, 9, 9),
	PUBLISHED(interpreter_gil, INTERPRETER_MAX, 14, 15, 15),
	PUBLISHED(thread_size, THREAD_MAX, 19, 22, 22),
	PUBLISHED(thread_next, THREAD_MAX, 21, 24, 24),
	PUBLISHED(thread_interpreter, THREAD_MAX, 22, 25, 25),
	PUBLISHED(thread_frame, THREAD_MAX, 23, 26, 26),
	PUBLISHED(thread_pthread, THREAD_MAX, 24, 27, 30),
	PUBLISHED(thread_native, THREAD_MAX, 25, 28, 31),
	PUBLISHED(frame_size, FRAME_MAX, 28, 31, 39),
	PUBLISHED(frame_previous, FRAME_MAX, 29, 32, 40),
	PUBLISHED(frame_code, FRAME_MAX, 30, 33, 41),
	PUBLISHED(frame_ip, FRAME_MAX, 31, 34, 42),
	PUBLISHED(frame_owner, FRAME_MAX, 33, 36, 44),
	PUBLISHED(code_size, CODE_MAX, 34, 39, 47),
	PUBLISHED(code_file, CODE_MAX, 35, 40, 48),
	PUBLISHED(code_name, CODE_MAX, 36, 41, 49),
	PUBLISHED(code_qualname, CODE_MAX, 37, 42, 50),
	PUBLISHED(code_lines, CODE_MAX, 38, 43, 51),
	PUBLISHED(code_first_line, CODE_MAX, 39, 44, 52),
	PUBLISHED(code_bytes, CODE_MAX, 43, 48, 56),
};

static bool lies_within(uint32_t offset, uint32_t size) { return size >= 8 && offset <= size - 8; }

/* Fields that are read must be inside their frame or code object; the code's bytes follow the object. */
static bool is_valid(const struct py_layout *layout)
{
	return lies_within(layout->thread_next, layout->thread_size) &&
		lies_within(layout->thread_interpreter, layout->thread_size) &&
		lies_within(layout->thread_frame, layout->thread_size) &&
		lies_within(layout->thread_pthread, layout->thread_size) &&
		lies_within(layout->thread_native, layout->thread_size) &&
		lies_within(layout->frame_previous, layout->frame_size) &&
		lies_within(layout->frame_code, layout->frame_size) && lies_within(layout->frame_ip, layout->frame_size) &&
		layout->frame_owner < layout->frame_size && lies_within(layout->code_file, layout->code_size) &&
		lies_within(layout->code_name, layout->code_size) && lies_within(layout->code_qualname, layout->code_size) &&
		lies_within(layout->code_lines, layout->code_size) && layout->code_first_line <= layout->code_size - 4;
}

enum status py_layout_from_offsets(const uint64_t words[PY_DEBUG_WORDS], struct py_layout *out, struct reason *why_not)
{
	if (memcmp(words, "xdebugpy", 8) != 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "it has no debug offsets");
	unsigned major = (unsigned)(words[1] >> 24 & 0xff), minor = (unsigned)(words[1] >> 16 & 0xff);
	if (major != 3 || minor < 13 || minor > PY_MINOR_NEWEST)
		return refuse(minor, why_not);
	struct py_layout layout = { .minor = minor,
		.patch = (unsigned)(words[1] >> 8 & 0xff),
		.is_free_threaded = words[2] & 1,
		.lines = PY_LINES_LOCATIONS,
		.ip = PY_IP_ADDRESS,
		.runtime_gil = PY_NOWHERE,
		.thread_cframe = PY_NOWHERE,
		.frame_generator = PY_NOWHERE,
		.code_copies = PY_NOWHERE };
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		uint64_t value = words[published[i].word[minor - 13]];
		if (value > published[i].max)
			return reason_set(why_not, STATUS_DAMAGED, NULL, "the debug offsets of Python 3.%u are invalid", minor);
		*(uint32_t *)(void *)((char *)&layout + published[i].member) = (uint32_t)value;
	}
	if (!is_valid(&layout))
		return reason_set(why_not, STATUS_DAMAGED, NULL, "the debug offsets of Python 3.%u are invalid", minor);
	layout.object_size = layout.is_free_threaded ? 32 : 16;
	layout.object_type = layout.object_size - 8;
	layout.text_ascii = layout.object_size + 24;
	layout.text_other = layout.object_size + 40;
	if (layout.is_free_threaded) {
		layout.interpreter_gil = PY_NOWHERE;
		layout.code_copies = minor >= 14 ? (uint32_t)words[minor == 14 ? 49 : 57] : PY_NOWHERE;
		if (layout.code_copies != PY_NOWHERE && !lies_within(layout.code_copies, layout.code_size))
			return reason_set(why_not, STATUS_DAMAGED, NULL, "the debug offsets of Python 3.%u are invalid", minor);
	}
	*out = layout;
	return STATUS_OK;
}

void py_layout_version(const struct py_layout *layout, char out[PY_VERSION_SIZE])
{
	int used = snprintf(out, PY_VERSION_SIZE, "3.%u", layout->minor);
	if (layout->minor > 10)
		snprintf(
			out + used, (size_t)(PY_VERSION_SIZE - used), ".%u%s", layout->patch, layout->is_free_threaded ? "t" : "");
}

/* Include/internal/pycore_stackref.h of CPython */
uint64_t py_layout_object(const struct py_layout *layout, uint64_t word)
{
	return layout->minor < 14 ? word : py_layout_is_index(layout, word) ? 0 : word & ~UINT64_C(3);
}

bool py_layout_is_index(const struct py_layout *layout, uint64_t word)
{
	return layout->minor >= 14 && (word & 3) == 3;
}

/* Include/refcount.h: since 3.14, half of the word has flags, and 16 bits that must be 0. */
uint64_t py_layout_references(const struct py_layout *layout, uint64_t word)
{
	if (layout->minor >= 14)
		return (word >> 32 & 0xffff) == 0 ? word & UINT32_MAX : 0;
	return word <= UINT32_MAX ? word : 0;
}

/* Since 3.14 a tuple has its hash before them. */
uint32_t py_layout_tuple_items(const struct py_layout *layout)
{
	return layout->object_size + (layout->minor >= 14 ? 16 : 8);
}
