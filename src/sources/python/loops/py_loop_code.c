#include "src/sources/python/loops/py_loop_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/code/py_instructions.h"
#include "src/sources/python/loops/py_losses.h"
#include "src/sources/python/loops/py_loss_names.h"
#include "src/sources/python/py_code.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum { TRIES = 3, TUPLE_SIZE = 16, HEAD_MAX = 256 };

/* From CPython's Include/cpython/{code,frameobject}.h and Include/internal/pycore_frame.h; checked against the headers
 * of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2. */
static const struct offsets {
	unsigned minor;
	uint32_t first, globals;        /* of a frame: its first local, its globals */
	uint32_t local_count;           /* co_nlocalsplus; to 3.10 co_nlocals, which cells and free variables follow */
	uint32_t free_cells, own_cells; /* to 3.10: co_freevars, co_cellvars */
	uint32_t stack_size, constants, names, locals;
	uint32_t handlers; /* co_exceptiontable */
} known[] = {
	{ 8, 360, 48, 28, 80, 88, 32, 56, 64, 72, PY_NOWHERE },
	{ 9, 360, 48, 28, 80, 88, 32, 56, 64, 72, PY_NOWHERE },
	{ 10, 352, 48, 28, 80, 88, 32, 56, 64, 72, PY_NOWHERE },
	{ 11, 72, 8, 76, PY_NOWHERE, PY_NOWHERE, 68, 24, 32, 96, 40 },
	{ 12, 72, 24, 72, PY_NOWHERE, PY_NOWHERE, 64, 24, 32, 96, 40 },
	{ 13, 72, 24, 72, PY_NOWHERE, PY_NOWHERE, 64, 24, 32, 96, 40 },
	{ 14, 80, 24, 72, PY_NOWHERE, PY_NOWHERE, 64, 24, 32, 96, 40 },
	{ 15, 80, 24, 72, PY_NOWHERE, PY_NOWHERE, 64, 24, 32, 96, 40 },
};

static const struct offsets *offsets_of(const struct py_process *process)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].minor == process->location.layout.minor)
			return &known[i];
	return NULL;
}

struct py_loop_codes {
	const struct py_process *process;
	size_t count; /* of the table's entries that are not NULL */
	struct py_loop_code *table[2 * PY_CODES_RETAINED];
};

/* -- the table -- */

static size_t slot_of(const struct py_loop_codes *codes, uint64_t address)
{
	size_t at = (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (2 * PY_CODES_RETAINED);
	while (codes->table[at] && codes->table[at]->address != address)
		at = (at + 1) % (2 * PY_CODES_RETAINED);
	return at;
}

static void free_code(struct py_loop_code *code)
{
	if (code->bytecode)
		py_bytecode_release(code->bytecode);
	free(code->bytecode);
	free(code->function);
	free(code->file);
	free(code->loop_lines);
	free(code->variables);
	free(code->gains);
	free(code->calls);
	free(code->local_names);
	free(code->sums);
	free(code);
}

static void forget_all(struct py_loop_codes *codes)
{
	for (size_t i = 0; i < 2 * PY_CODES_RETAINED; i++) {
		if (codes->table[i])
			free_code(codes->table[i]);
		codes->table[i] = NULL;
	}
	codes->count = 0;
}

struct py_loop_codes *py_loop_codes_new(const struct py_process *process)
{
	struct py_loop_codes *codes = offsets_of(process) ? calloc(1, sizeof *codes) : NULL;
	if (codes)
		codes->process = process;
	return codes;
}

void py_loop_codes_free(struct py_loop_codes *codes)
{
	if (codes)
		forget_all(codes);
	free(codes);
}

void py_loop_codes_check(struct py_loop_codes *codes, const uint64_t *addresses, size_t count)
{
	const struct py_layout *layout = &codes->process->location.layout;
	uint64_t lines[PY_FRAMES_MAX];
	struct remote_piece pieces[PY_FRAMES_MAX];
	if (codes->count >= PY_CODES_RETAINED)
		forget_all(codes);
	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct remote_piece){ addresses[i] + layout->code_lines, &lines[i], sizeof lines[i] };
	bool is_read = remote_read_pieces(codes->process->pid, pieces, count);
	for (size_t i = 0; i < count; i++) {
		const struct py_loop_code *code = codes->table[slot_of(codes, addresses[i])];
		if (code && (!is_read || code->lines != lines[i])) {
			forget_all(codes);
			return;
		}
	}
}

/* -- reading -- */

bool py_loop_item(const struct py_process *process, uint64_t tuple, uint32_t index, uint64_t *out)
{
	uint64_t head[3], found;
	if (!tuple || !remote_read(process->pid, tuple, head, sizeof head) ||
		head[1] != process->location.types[PY_TUPLE] || index >= head[2] ||
		!remote_word(
			process->pid, tuple + py_layout_tuple_items(&process->location.layout) + 8 * (uint64_t)index, &found) ||
		!found)
		return false;
	*out = found;
	return true;
}

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof word);
	return word;
}

static uint32_t half_at(const unsigned char *bytes, uint32_t offset)
{
	uint32_t half;
	memcpy(&half, bytes + offset, sizeof half);
	return half;
}

static bool count_cells(const struct py_process *process, uint64_t tuple, uint32_t *count)
{
	uint64_t size;
	if (!remote_word(process->pid, tuple + TUPLE_SIZE, &size) || size > PY_FRAME_LOCALS_MAX)
		return false;
	*count += (uint32_t)size;
	return true;
}

/* Since 3.10 the condition of a `while` is compiled twice, before the loop and at its end: the loop begins with its
 * first statement. */
static int line_of_loop(const struct py_layout *layout, const struct py_code *text, const struct py_code_loop *loop)
{
	int begin = py_line_at(layout->lines, text->table, text->table_size, text->first_line, loop->offset);
	int back = py_line_at(layout->lines, text->table, text->table_size, text->first_line, loop->offset_back);
	return !loop->is_for && back > 0 && back < begin ? back : begin;
}

static void find_lines(const struct py_process *process, uint64_t address, struct py_loop_code *code)
{
	const struct py_layout *layout = &process->location.layout;
	struct py_code text;
	if (!py_code_read(process->pid, &process->location, address, &text))
		return;
	code->is_module = strcmp(text.function, "<module>") == 0;
	code->function = strdup(text.function);
	code->file = strdup(text.file);
	for (size_t i = 0; i < code->bytecode->loop_count; i++)
		code->loop_lines[i] = line_of_loop(layout, &text, &code->bytecode->loops[i]);
	for (size_t i = 0; i < code->bytecode->store_count; i++)
		code->variables[i].line =
			py_line_at(layout->lines, text.table, text.table_size, text.first_line, code->bytecode->stores[i].offset);
	py_code_release(&text);
}

/* Of an attribute or an item: which objects lead to it. */
static bool read_path(const struct py_process *process, const struct py_loop_code *code, const struct py_store *store,
	struct py_loop_variable *variable)
{
	const struct py_operand *holder = &store->holder;
	uint32_t names[PY_OPERAND_NAMES];
	memcpy(names, holder->names, holder->name_count * sizeof *names);
	names[holder->name_count] = store->index;
	if (!py_path_make(process, code->names, code->constants, names, holder->name_count + 1, &variable->path))
		return false;
	uint32_t local = holder->index + (holder->role == PY_ROLE_CELL ? code->cells : 0);
	if (holder->role == PY_ROLE_LOCAL || holder->role == PY_ROLE_CELL)
		snprintf(
			variable->name, sizeof variable->name, "%s", local < code->local_count ? code->local_names[local] : "");
	else if (!py_loop_item(process, code->names, holder->index, &variable->base_key) ||
		!py_text_read(process, variable->base_key, variable->name, sizeof variable->name))
		return false;
	return *variable->name && py_path_write(&variable->path, variable->name);
}

bool py_loop_constant(const struct py_process *process, const struct py_loop_code *code, uint32_t index, uint64_t *out)
{
	uint64_t found;
	if (index != PY_NO_INDEX && (index & PY_SMALL_INT)) {
		*out = index & ~PY_SMALL_INT;
		return true;
	}
	return index != PY_NO_INDEX && py_loop_item(process, code->constants, index, &found) &&
		py_int_read(process, found, out);
}

/* False: it has no name that can be read. */
static bool read_variable(const struct py_process *process, const unsigned char *head, const struct py_loop_code *code,
	const struct py_store *store, struct py_loop_variable *out)
{
	const struct offsets *offsets = offsets_of(process);
	uint64_t tuple = code->names;
	uint32_t index = store->index;
	*out = (struct py_loop_variable){ .local = PY_NO_INDEX, .is_cell = store->role == PY_ROLE_STORE_CELL };
	if (store->role == PY_ROLE_STORE_ATTRIBUTE || store->role == PY_ROLE_STORE_SUBSCRIPT)
		return read_path(process, code, store, out);
	if (store->role == PY_ROLE_STORE_FAST || out->is_cell) {
		tuple = code->locals;
		out->local = index;
	}
	if (out->is_cell && offsets->own_cells != PY_NOWHERE) {
		uint64_t own = 0;
		tuple = word_at(head, offsets->own_cells);
		out->local += code->cells;
		if (!remote_word(process->pid, tuple + TUPLE_SIZE, &own))
			return false;
		if (index >= own) {
			tuple = word_at(head, offsets->free_cells);
			index -= (uint32_t)own;
		}
	}
	return py_loop_item(process, tuple, index, &out->key) &&
		py_text_read(process, out->key, out->name, sizeof out->name);
}

/* A store whose variable has no name that can be read is left out. */
static void find_variables(const struct py_process *process, const unsigned char *head, struct py_loop_code *code)
{
	size_t kept = 0;
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		const struct py_store *store = &code->bytecode->stores[i];
		struct py_loop_variable variable;
		if (!read_variable(process, head, code, store, &variable))
			continue;
		if (store->added.role == PY_ROLE_CONSTANT && !py_loop_constant(process, code, store->added.index, &variable.by))
			variable.by = 0;
		code->bytecode->stores[kept] = *store;
		code->variables[kept++] = variable;
	}
	code->bytecode->store_count = kept;
}

/* Those of losses. */
static void find_gains(const struct py_process *process, const unsigned char *head, struct py_loop_code *code)
{
	size_t kept = 0;
	for (size_t i = 0; i < code->bytecode->gain_count; i++) {
		struct py_gain gain = code->bytecode->gains[i];
		if (!py_loss_names_gain(process, code, &gain) ||
			!read_variable(process, head, code, &gain.into, &code->gains[kept]) ||
			py_loss_names_validation(code->gains[kept].name))
			continue;
		code->bytecode->gains[kept++] = gain;
	}
	code->bytecode->gain_count = kept;
}

static void find_names(const struct py_process *process, const unsigned char *head, struct py_loop_code *code)
{
	const struct offsets *offsets = offsets_of(process);
	uint64_t names[PY_FRAME_LOCALS_MAX];
	size_t max = code->local_count < PY_FRAME_LOCALS_MAX ? code->local_count : PY_FRAME_LOCALS_MAX,
		   count = py_items_read(process, code->locals, names, max);
	if (offsets->own_cells != PY_NOWHERE && count == code->cells) {
		count += py_items_read(process, word_at(head, offsets->own_cells), names + count, max - count);
		count += py_items_read(process, word_at(head, offsets->free_cells), names + count, max - count);
	}
	for (size_t i = 0; i < count; i++)
		if (!py_text_read(process, names[i], code->local_names[i], sizeof *code->local_names))
			code->local_names[i][0] = '\0';
}

static void find_call(const struct py_process *process, const struct py_loop_code *code,
	const struct py_iterated *iterated, struct py_loop_call *out)
{
	uint64_t name;
	if (iterated->callee == PY_NO_INDEX || !py_loop_item(process, code->names, iterated->callee, &name) ||
		!py_text_read(process, name, out->callee, sizeof out->callee)) {
		out->callee[0] = '\0';
		return;
	}
	out->has_first = py_loop_constant(process, code, iterated->first, &out->first);
	out->has_last = py_loop_constant(process, code, iterated->last, &out->last);
}

static bool is_current(const struct py_process *process, const struct py_loop_code *code)
{
	uint64_t lines;
	return remote_word(process->pid, code->address + process->location.layout.code_lines, &lines) &&
		lines == code->lines;
}

static bool parse(const struct py_process *process, const unsigned char *head, struct py_code_bytes instructions,
	struct py_bytecode *out)
{
	uint32_t at = offsets_of(process)->handlers;
	struct py_code_bytes handlers = { NULL, 0 };
	unsigned char *table = NULL;
	if (at != PY_NOWHERE && !(table = py_bytes_read(process, word_at(head, at), &handlers.size)))
		return false;
	handlers.bytes = table;
	bool is_good = py_bytecode_parse(process->location.layout.minor, instructions, handlers, out);
	free(table);
	return is_good;
}

/* False: there is no memory. */
static bool take_sums(const struct py_sums *sums, struct py_loop_code *out)
{
	if (sums->sum_count + sums->reset_count == 0)
		return true;
	out->sums = malloc(sizeof *out->sums);
	if (out->sums)
		*out->sums = *sums;
	return out->sums != NULL;
}

/* False: there is no memory. */
static bool read_loops(const struct py_process *process, const unsigned char *head, struct py_code_bytes instructions,
	struct py_loop_code *out)
{
	struct py_bytecode *bytecode = calloc(1, sizeof *bytecode);
	if (!bytecode)
		return false;
	bool is_parsed = parse(process, head, instructions, bytecode);
	bool has_sums = is_parsed && take_sums(&bytecode->sums, out);
	if (!is_parsed || bytecode->loop_count == 0) {
		py_bytecode_release(bytecode);
		free(bytecode);
		return !is_parsed || has_sums;
	}
	out->bytecode = bytecode;
	out->loop_lines = calloc(bytecode->loop_count, sizeof *out->loop_lines);
	out->variables = calloc(bytecode->store_count + 1, sizeof *out->variables);
	out->gains = calloc(bytecode->gain_count + 1, sizeof *out->gains);
	out->calls = calloc(bytecode->loop_count, sizeof *out->calls);
	out->local_names = calloc(out->local_count + 1, sizeof *out->local_names);
	if (!has_sums || !out->loop_lines || !out->variables || !out->gains || !out->calls || !out->local_names)
		return false;
	find_names(process, head, out);
	find_variables(process, head, out);
	find_gains(process, head, out);
	out->names_backward = py_losses_has(out) && py_loss_names_backward(process, out);
	for (size_t i = 0; i < bytecode->loop_count; i++)
		find_call(process, out, &bytecode->loops[i].iterated, &out->calls[i]);
	find_lines(process, out->address, out);
	return true;
}

static bool read_code(const struct py_process *process, uint64_t address, struct py_loop_code *out)
{
	const struct py_layout *layout = &process->location.layout;
	const struct offsets *offsets = offsets_of(process);
	unsigned char head[HEAD_MAX];
	size_t size;
	if (layout->code_size > sizeof head || !remote_read(process->pid, address, head, layout->code_size) ||
		word_at(head, layout->object_type) != process->location.code_type)
		return false;
	out->address = address;
	out->lines = word_at(head, layout->code_lines);
	out->names = word_at(head, offsets->names);
	out->constants = word_at(head, offsets->constants);
	out->locals = word_at(head, offsets->locals);
	out->stack_size = half_at(head, offsets->stack_size);
	out->local_count = half_at(head, offsets->local_count);
	out->cells = offsets->own_cells == PY_NOWHERE ? 0 : out->local_count;
	if (out->local_count > INT16_MAX || out->stack_size > INT16_MAX)
		return false;
	if (offsets->own_cells != PY_NOWHERE &&
		(!count_cells(process, word_at(head, offsets->own_cells), &out->local_count) ||
			!count_cells(process, word_at(head, offsets->free_cells), &out->local_count)))
		return false;
	unsigned char *bytes = py_instructions_read(process, address, &size);
	bool is_good =
		bytes && read_loops(process, head, (struct py_code_bytes){ bytes, size }, out) && is_current(process, out);
	free(bytes);
	return is_good;
}

const struct py_loop_code *py_loop_code_get(struct py_loop_codes *codes, uint64_t address)
{
	size_t at = slot_of(codes, address);
	if (codes->table[at])
		return codes->table[at];
	if (codes->count + 1 >= 2 * PY_CODES_RETAINED)
		return NULL;
	struct py_loop_code *code = calloc(1, sizeof *code);
	if (!code)
		return NULL;
	if (!read_code(codes->process, address, code)) {
		free_code(code);
		return NULL;
	}
	codes->table[at] = code;
	codes->count++;
	return code;
}

const struct py_loop_code *py_loop_code_checked(struct py_loop_codes *codes, uint64_t address)
{
	const struct py_loop_code *code = py_loop_code_get(codes, address);
	return code && is_current(codes->process, code) ? code : NULL;
}

const struct py_loop_code *py_loop_code_read_before(const struct py_loop_codes *codes, uint64_t address)
{
	return codes->table[slot_of(codes, address)];
}

const struct py_loop_code *py_loop_code_known(const struct py_loop_codes *codes, uint64_t address, uint64_t lines)
{
	const struct py_loop_code *code = codes->table[slot_of(codes, address)];
	return code && code->lines == lines ? code : NULL;
}

/* -- frames -- */

int64_t py_loop_offset(const struct py_layout *layout, uint64_t code, uint64_t ip)
{
	switch (layout->ip) {
	case PY_IP_BYTES: return (int32_t)ip;
	case PY_IP_UNITS: return 2 * (int64_t)(int32_t)ip;
	default: return (int64_t)(ip - code - layout->code_bytes);
	}
}

uint64_t py_loop_local_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t local)
{
	return frame->at.frame + offsets_of(process)->first + 8 * local;
}

uint64_t py_loop_stack_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t entry)
{
	return py_loop_local_slot(process, frame, frame->code->local_count + entry);
}

enum { FRAME_PIECES = 7, FRAMES_AT_ONCE = 16 };

/* The words that must not change, before and after the others. */
struct frame_view {
	uint64_t codes[2], ips[2];
};

static void begin_frame(
	const struct py_process *process, struct py_loop_frame *frame, struct frame_view *view, struct remote_piece *pieces)
{
	const struct py_layout *layout = &process->location.layout;
	size_t ip_size = layout->ip == PY_IP_ADDRESS ? sizeof(uint64_t) : sizeof(int32_t);
	uint64_t at = frame->at.frame;
	frame->local_count =
		frame->code->local_count < PY_FRAME_LOCALS_MAX ? frame->code->local_count : PY_FRAME_LOCALS_MAX;
	frame->stack_count = frame->code->stack_size < PY_FRAME_STACK_MAX ? frame->code->stack_size : PY_FRAME_STACK_MAX;
	view->ips[0] = view->ips[1] = 0;
	const struct remote_piece found[FRAME_PIECES] = {
		{ at + layout->frame_code, &view->codes[0], sizeof view->codes[0] },
		{ at + layout->frame_ip, &view->ips[0], ip_size },
		{ at + offsets_of(process)->globals, &frame->globals, sizeof frame->globals },
		{ py_loop_local_slot(process, frame, 0), frame->objects, frame->local_count * sizeof *frame->objects },
		{ py_loop_stack_slot(process, frame, 0), frame->objects + frame->local_count,
			frame->stack_count * sizeof *frame->objects },
		{ at + layout->frame_ip, &view->ips[1], ip_size },
		{ at + layout->frame_code, &view->codes[1], sizeof view->codes[1] },
	};
	memcpy(pieces, found, sizeof found);
}

enum frame_state { FRAME_GOOD, FRAME_CHANGED, FRAME_GONE };

static enum frame_state end_frame(
	const struct py_layout *layout, struct py_loop_frame *frame, const struct frame_view *view)
{
	if (py_layout_object(layout, view->codes[0]) != frame->at.code ||
		py_layout_object(layout, view->codes[1]) != frame->at.code)
		return FRAME_GONE;
	for (size_t i = 0; i < frame->stack_count; i++)
		frame->is_index[i] = py_layout_is_index(layout, frame->objects[frame->local_count + i]);
	frame->is_index[frame->stack_count] = false;
	for (size_t i = 0; i < frame->local_count + frame->stack_count; i++)
		frame->objects[i] = py_layout_object(layout, frame->objects[i]);
	int64_t before = py_loop_offset(layout, frame->at.code, view->ips[0]);
	frame->offset = py_loop_offset(layout, frame->at.code, view->ips[1]);
	return py_bytecode_loop_at(frame->code->bytecode, before) ==
			py_bytecode_loop_at(frame->code->bytecode, frame->offset)
		? FRAME_GOOD
		: FRAME_CHANGED;
}

bool py_loop_frame_read(const struct py_process *process, const struct py_activation *at,
	const struct py_loop_code *code, struct py_loop_frame *out)
{
	struct remote_piece pieces[FRAME_PIECES];
	struct frame_view view;
	enum frame_state state = FRAME_CHANGED;
	out->at = *at;
	out->code = code;
	for (unsigned i = 0; i < TRIES && state == FRAME_CHANGED; i++) {
		begin_frame(process, out, &view, pieces);
		state = remote_read_pieces(process->pid, pieces, FRAME_PIECES)
			? end_frame(&process->location.layout, out, &view)
			: FRAME_GONE;
	}
	return state == FRAME_GOOD;
}

static void read_frames(const struct py_process *process, struct py_loop_frame *frames, size_t count)
{
	struct remote_piece pieces[FRAMES_AT_ONCE * FRAME_PIECES];
	struct frame_view views[FRAMES_AT_ONCE];
	for (size_t i = 0; i < count; i++)
		begin_frame(process, &frames[i], &views[i], pieces + i * FRAME_PIECES);
	bool is_read = remote_read_pieces(process->pid, pieces, count * FRAME_PIECES);
	for (size_t i = 0; i < count; i++) {
		struct py_activation at = frames[i].at;
		if ((!is_read || end_frame(&process->location.layout, &frames[i], &views[i]) != FRAME_GOOD) &&
			!py_loop_frame_read(process, &at, frames[i].code, &frames[i]))
			frames[i].code = NULL;
	}
}

void py_loop_frames_read(const struct py_process *process, struct py_loop_frame *frames, size_t count)
{
	for (size_t at = 0; at < count; at += FRAMES_AT_ONCE)
		read_frames(process, frames + at, count - at < FRAMES_AT_ONCE ? count - at : FRAMES_AT_ONCE);
}

void py_loop_frame_classify(struct py_classes *classes, struct py_loop_frame *frame)
{
	py_classes_of(classes, frame->objects, frame->local_count + frame->stack_count, frame->classes);
}
