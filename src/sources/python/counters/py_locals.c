#include "src/sources/python/counters/py_locals.h"

#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* From CPython's Include/internal/pycore_frame.h, Include/cpython/{code,genobject,frameobject}.h; checked against the
 * headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2. */
static const struct locals {
	unsigned minor;
	uint32_t first;                   /* PyFrameObject.f_localsplus; _PyInterpreterFrame.localsplus */
	uint32_t globals;                 /* PyFrameObject.f_globals; _PyInterpreterFrame.f_globals */
	uint32_t frame_count;             /* number of slots: ob_size of a frame object; in later versions from its code */
	uint32_t code_locals, code_stack; /* co_nlocalsplus, to 3.10 co_nlocals; co_stacksize */
	uint32_t code_names;              /* co_varnames; co_localsplusnames */
	uint32_t generator_frame;         /* gi_frame, a pointer; gi_iframe, the frame itself */
	uint32_t generator_state;         /* gi_frame_state */
} known[] = {
	{ 8, 360, 48, 16, 28, PY_NOWHERE, 72, 16, PY_NOWHERE },
	{ 9, 360, 48, 16, 28, PY_NOWHERE, 72, 16, PY_NOWHERE },
	{ 10, 352, 48, 16, 28, PY_NOWHERE, 72, 16, PY_NOWHERE },
	{ 11, 72, 8, PY_NOWHERE, 76, 68, 96, 80, 75 },
	{ 12, 72, 24, PY_NOWHERE, 72, 64, 96, 72, 67 },
	{ 13, 72, 24, PY_NOWHERE, 72, 64, 96, 72, 67 },
	{ 14, 80, 24, PY_NOWHERE, 72, 64, 96, 72, 67 },
	{ 15, 80, 24, PY_NOWHERE, 72, 64, 96, 72, 67 },
};

static const struct locals *locals_of(const struct py_layout *layout)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].minor == layout->minor && !layout->is_free_threaded)
			return &known[i];
	return NULL;
}

static bool count_locals(
	const struct py_process *process, const struct locals *locals, const struct py_activation *at, size_t *out)
{
	uint64_t count;
	uint32_t own, stack;
	if (locals->frame_count != PY_NOWHERE) {
		if (!remote_word(process->pid, at->frame + locals->frame_count, &count))
			return false;
	} else {
		if (!remote_read(process->pid, at->code + locals->code_locals, &own, sizeof own) ||
			!remote_read(process->pid, at->code + locals->code_stack, &stack, sizeof stack))
			return false;
		count = (uint64_t)own + stack;
	}
	*out = count < PY_LOCALS_MAX ? count : PY_LOCALS_MAX;
	return true;
}

/* Reads words of the frame, if it runs that code before and after the read. */
static bool read_words(
	const struct py_process *process, const struct py_activation *at, size_t first, uint64_t *out, size_t count)
{
	const struct py_layout *layout = &process->location.layout;
	const struct locals *locals = locals_of(layout);
	uint64_t code[2];
	if (!locals || count == 0)
		return false;
	const struct remote_piece pieces[] = {
		{ at->frame + layout->frame_code, &code[0], sizeof code[0] },
		{ at->frame + locals->first + 8 * first, out, count * sizeof *out },
		{ at->frame + layout->frame_code, &code[1], sizeof code[1] },
	};
	if (!at->code || !remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces) ||
		py_layout_object(layout, code[0]) != at->code || py_layout_object(layout, code[1]) != at->code)
		return false;
	for (size_t i = 0; i < count; i++)
		out[i] = py_layout_object(layout, out[i]);
	return true;
}

bool py_frame_globals(const struct py_process *process, const struct py_activation *at, uint64_t *dict)
{
	const struct py_layout *layout = &process->location.layout;
	const struct locals *locals = locals_of(layout);
	uint64_t code, found;
	const struct remote_piece pieces[] = {
		{ at->frame + (locals ? locals->globals : 0), &found, sizeof found },
		{ at->frame + layout->frame_code, &code, sizeof code },
	};
	if (!locals || !at->code || !remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces) ||
		py_layout_object(layout, code) != at->code)
		return false;
	*dict = found;
	return true;
}

size_t py_locals_count(const struct py_process *process, const struct py_activation *at)
{
	const struct locals *locals = locals_of(&process->location.layout);
	uint32_t count;
	return locals && remote_read(process->pid, at->code + locals->code_locals, &count, sizeof count) ? count : 0;
}

size_t py_locals_read(const struct py_process *process, const struct py_activation *at, uint64_t out[PY_LOCALS_MAX])
{
	const struct locals *locals = locals_of(&process->location.layout);
	size_t count;
	return locals && count_locals(process, locals, at, &count) && read_words(process, at, 0, out, count) ? count : 0;
}

/* -- blocks -- */

/* To 3.10: f_blockstack, of which each block has the height of the value stack below it. */
static size_t height_of_blocks(const struct py_process *process, const struct py_activation *at)
{
	enum { BLOCK_COUNT_OF_3_10 = 104, BLOCKS_OF_3_10 = 112, BLOCK_COUNT = 112, BLOCKS = 120, BLOCKS_MAX = 20 };
	bool is_newest = process->location.layout.minor == 10;
	struct {
		int32_t type, handler, level;
	} blocks[BLOCKS_MAX];
	int32_t count, height = 0;
	const struct remote_piece pieces[] = {
		{ at->frame + (is_newest ? BLOCK_COUNT_OF_3_10 : BLOCK_COUNT), &count, sizeof count },
		{ at->frame + (is_newest ? BLOCKS_OF_3_10 : BLOCKS), blocks, sizeof blocks },
	};
	if (!remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces))
		return 0;
	for (int32_t i = 0; i < count && i < BLOCKS_MAX; i++)
		height = blocks[i].level > height ? blocks[i].level : height;
	return (size_t)height;
}

static bool read_varint(const unsigned char *table, size_t size, size_t *at, uint64_t *out)
{
	enum { MORE = 0x40, BITS = 6 };
	uint64_t value = 0;
	for (unsigned more = MORE; more; ++*at) {
		if (*at >= size || value >> 32)
			return false;
		value = value << BITS | (table[*at] & (MORE - 1));
		more = table[*at] & MORE;
	}
	*out = value;
	return true;
}

/* The height of the value stack that the handler of this offset keeps (Objects/exception_handling_notes.txt). */
static size_t height_of_handler(const unsigned char *table, size_t size, uint64_t offset)
{
	enum { BYTES_PER_UNIT = 2 };
	uint64_t begin, length, target, height;
	for (size_t at = 0; read_varint(table, size, &at, &begin) && read_varint(table, size, &at, &length) &&
		 read_varint(table, size, &at, &target) && read_varint(table, size, &at, &height);)
		if (offset >= begin * BYTES_PER_UNIT && offset < (begin + length) * BYTES_PER_UNIT)
			return height >> 1;
	return 0;
}

/* Since 3.11: co_exceptiontable, a bytes object. */
static size_t height_of_exceptions(const struct py_process *process, const struct py_activation *at, uint64_t ip)
{
	enum { CODE_EXCEPTIONS = 40, BYTES_COUNT = 16, BYTES_FIRST = 32, TABLE_MAX = 4096 };
	unsigned char table[TABLE_MAX];
	uint64_t bytes, size, begin = at->code + process->location.layout.code_bytes;
	if (ip < begin || !remote_word(process->pid, at->code + CODE_EXCEPTIONS, &bytes) ||
		!remote_word(process->pid, bytes + BYTES_COUNT, &size) || size == 0 || size > TABLE_MAX ||
		!remote_read(process->pid, bytes + BYTES_FIRST, table, size))
		return 0;
	return height_of_handler(table, size, ip - begin);
}

size_t py_blocks_read(
	const struct py_process *process, const struct py_activation *at, uint64_t ip, uint64_t *out, size_t max)
{
	enum { VALUE_STACK = 64 }; /* f_valuestack */
	const struct locals *locals = locals_of(&process->location.layout);
	bool is_object = locals && locals->frame_count != PY_NOWHERE;
	uint64_t stack = 0;
	size_t count = !locals ? 0
		: is_object        ? height_of_blocks(process, at)
						   : height_of_exceptions(process, at, ip),
		   below = count == 0 || is_object ? 0 : py_locals_count(process, at);
	if (count == 0 || count > max)
		return 0;
	if (is_object) {
		if (!remote_word(process->pid, at->frame + VALUE_STACK, &stack) || stack < at->frame + locals->first)
			return 0;
		below = (stack - at->frame - locals->first) / sizeof stack;
	}
	return read_words(process, at, below, out, count) ? count : 0;
}

bool py_local_first(const struct py_process *process, const struct py_activation *at, uint64_t *value)
{
	uint64_t found;
	if (!read_words(process, at, 0, &found, 1) || !found)
		return false;
	*value = found;
	return true;
}

bool py_local_get(const struct py_process *process, const struct py_activation *at, const char *name, uint64_t *value)
{
	const struct locals *locals = locals_of(&process->location.layout);
	uint64_t tuple, names[PY_LOCALS_MAX], found;
	if (!locals || !remote_word(process->pid, at->code + locals->code_names, &tuple))
		return false;
	size_t count = py_items_read(process, tuple, names, PY_LOCALS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (!py_is_text(process, names[i], name))
			continue;
		if (!read_words(process, at, i, &found, 1) || !found)
			return false;
		*value = found;
		return true;
	}
	return false;
}

bool py_generator_frame(const struct py_process *process, uint64_t generator, struct py_activation *out)
{
	const struct py_layout *layout = &process->location.layout;
	const struct locals *locals = locals_of(layout);
	struct py_activation found;
	if (!locals)
		return false;
	if (locals->generator_state == PY_NOWHERE) {
		if (!py_is(process, generator, PY_GENERATOR) ||
			!remote_word(process->pid, generator + locals->generator_frame, &found.frame) || !found.frame ||
			!remote_word(process->pid, found.frame + layout->frame_code, &found.code))
			return false;
	} else {
		signed char state;
		uint64_t type;
		found.frame = generator + locals->generator_frame;
		const struct remote_piece pieces[] = {
			{ generator + layout->object_type, &type, sizeof type },
			{ generator + locals->generator_state, &state, sizeof state },
			{ found.frame + layout->frame_code, &found.code, sizeof found.code },
		};
		/* Above FRAME_EXECUTING it has ended. */
		if (!generator || !remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces) ||
			type != process->location.types[PY_GENERATOR] || state > (layout->minor >= 15 ? 4 : 0))
			return false;
	}
	found.code = py_layout_object(layout, found.code);
	if (!found.code)
		return false;
	*out = found;
	return true;
}
