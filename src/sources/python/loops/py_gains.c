#include "src/sources/python/loops/py_gains.h"

#include "src/sources/python/loops/py_assigned.h"
#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/loops/py_periods.h"

/* Opcodes to 3.10; since 3.11 arguments of one of PY_ROLE_ADD. */
enum { DIVIDE_10 = 27, DIVIDE_IN_PLACE_10 = 29, ADD = 0, DIVIDE = 11, DIVIDE_IN_PLACE = 24 };
enum { MULTIPLY_10 = 20, MULTIPLY_IN_PLACE_10 = 57, MULTIPLY = 5, MULTIPLY_IN_PLACE = 18 };

/* -- the number -- */

static bool is_call(const struct py_graph *graph, int at, uint32_t arguments)
{
	return at > 1 && graph->all[at].role == PY_ROLE_CALL && graph->all[at].argument == arguments;
}

static int before_call(const struct py_graph *graph, int at)
{
	return at - 1 - (graph->all[at - 1].role == PY_ROLE_PRECALL);
}

static bool read_methods(const struct py_graph *graph, struct py_cursor *cursor, struct py_gain *out)
{
	while (is_call(graph, cursor->at, 0)) {
		cursor->at = before_call(graph, cursor->at);
		if (out->call_count == PY_GAIN_CALLS || cursor->at < 1 || graph->all[cursor->at].role != PY_ROLE_ATTRIBUTE)
			return false;
		out->calls[out->call_count++] = graph->all[cursor->at--].argument >> (graph->minor >= 12);
	}
	return true;
}

static bool read_function(const struct py_graph *graph, struct py_cursor *cursor, struct py_gain *out)
{
	if (cursor->is_half || cursor->at < 0)
		return false;
	cursor->at -= graph->all[cursor->at].role == PY_ROLE_NULL && cursor->at > 0;
	const struct py_instruction *callee = &graph->all[cursor->at];
	if (callee->role != PY_ROLE_GLOBAL && callee->role != PY_ROLE_NAME)
		return false;
	out->function = callee->role == PY_ROLE_GLOBAL && graph->minor >= 11 ? callee->argument >> 1 : callee->argument;
	cursor->at--;
	cursor->at -= cursor->at >= 0 && graph->all[cursor->at].role == PY_ROLE_NULL;
	return true;
}

/* "loss", "loss.item()", "float(loss)": reads backward from the cursor, and leaves it before. */
static bool read_number(const struct py_graph *graph, struct py_cursor *cursor, struct py_gain *out)
{
	int end = cursor->at;
	bool is_argument = is_call(graph, cursor->at, 1);
	out->call_count = 0;
	out->function = PY_NO_INDEX;
	if (is_argument)
		cursor->at = before_call(graph, cursor->at);
	if (cursor->at < 0 || !read_methods(graph, cursor, out) || !py_operand_read(graph, cursor, &out->from) ||
		out->from.shift_sign || out->from.role == PY_ROLE_CONSTANT ||
		(is_argument && !read_function(graph, cursor, out)))
		return false;
	for (int at = cursor->at + 2; at <= end + 1; at++)
		if (py_graph_count_before(graph, at) != 1)
			return false;
	return true;
}

/* -- what it goes into -- */

static bool take_variable(const struct py_operand *operand, struct py_store *out)
{
	static const struct {
		enum py_role load, store;
	} roles[] = { { PY_ROLE_LOCAL, PY_ROLE_STORE_FAST }, { PY_ROLE_CELL, PY_ROLE_STORE_CELL },
		{ PY_ROLE_NAME, PY_ROLE_STORE_NAME }, { PY_ROLE_GLOBAL, PY_ROLE_STORE_GLOBAL } };
	if (operand->name_count > 0) {
		out->holder = *operand;
		out->index = operand->names[--out->holder.name_count];
		out->role = out->index & PY_OPERAND_KEY ? PY_ROLE_STORE_SUBSCRIPT : PY_ROLE_STORE_ATTRIBUTE;
		return true;
	}
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (operand->role == roles[i].load) {
			out->role = roles[i].store;
			out->index = operand->index;
			return true;
		}
	return false;
}

/* `losses.append(number)` */
static bool read_append(const struct py_graph *graph, int at, struct py_gain *out)
{
	struct py_operand list;
	if (!is_call(graph, at, 1) || at + 1 >= (int)graph->count)
		return false;
	struct py_cursor cursor = { before_call(graph, at), false };
	if (!read_number(graph, &cursor, out) || cursor.is_half || cursor.at < 1 ||
		graph->all[cursor.at].role != PY_ROLE_ATTRIBUTE)
		return false;
	out->is_append = true;
	out->method = graph->all[cursor.at--].argument >> (graph->minor >= 12);
	return py_operand_read(graph, &cursor, &list) && !list.shift_sign && take_variable(&list, &out->into);
}

static bool is_sum(const struct py_graph *graph, int at)
{
	return py_graph_adds_in_place(graph, at) || graph->all[at].role == PY_ROLE_PLUS ||
		(graph->minor >= 11 && graph->all[at].role == PY_ROLE_ADD && graph->all[at].argument == ADD);
}

/* `total += number`, `total = total + number`, `losses += [number]`: the instruction before it makes that list. */
static bool read_sum(const struct py_graph *graph, int at, struct py_gain *out)
{
	enum py_role role = graph->all[at].role;
	bool is_path = role == PY_ROLE_STORE_ATTRIBUTE || role == PY_ROLE_STORE_SUBSCRIPT;
	int sum = is_path ? py_operand_sum_of(graph, at) : at - 1;
	int64_t effect;
	struct py_operand variable;
	if (sum < 1 || !(is_path ? py_graph_adds_in_place(graph, sum) : is_sum(graph, sum)))
		return false;
	const struct py_instruction *last = &graph->all[sum - 1];
	out->is_append = last->role == PY_ROLE_OTHER && last->argument == 1 &&
		py_opcode_effect(graph->opcodes, last->opcode, 1, &effect) && effect == 0;
	out->method = PY_NO_INDEX;
	struct py_cursor cursor = { sum - 1 - out->is_append, false };
	if (!read_number(graph, &cursor, out))
		return false;
	if (is_path)
		return !cursor.is_half && py_operand_of_holder(graph, at, cursor.at, &out->into);
	return py_operand_read(graph, &cursor, &variable) && !variable.shift_sign &&
		py_operand_is_stored(&variable, &out->into);
}

/* -- the number's variable -- */

/* Index of a variable that the instruction stores. */
static bool stores(const struct py_instruction *instruction, const struct py_store *variable)
{
	bool is_local = variable->role == PY_ROLE_STORE_FAST;
	switch (instruction->role) {
	case PY_ROLE_STORE_TWO:
		return is_local &&
			(instruction->argument >> 4 == variable->index || (instruction->argument & 15) == variable->index);
	case PY_ROLE_STORE_AND_LOAD: return is_local && instruction->argument >> 4 == variable->index;
	case PY_ROLE_DELETE: return instruction->argument == variable->index;
	default: return instruction->role == variable->role && instruction->argument == variable->index;
	}
}

static int operation_of(const struct py_graph *graph, int at)
{
	const struct py_instruction *instruction = &graph->all[at];
	if (graph->minor < 11)
		return instruction->opcode;
	return instruction->role == PY_ROLE_ADD ? (int)instruction->argument : -1;
}

static bool is_division(const struct py_graph *graph, int at)
{
	int operation = operation_of(graph, at);
	return graph->minor >= 11 ? operation == DIVIDE || operation == DIVIDE_IN_PLACE
							  : operation == DIVIDE_10 || operation == DIVIDE_IN_PLACE_10;
}

static bool is_product(const struct py_graph *graph, int at)
{
	int operation = operation_of(graph, at);
	return graph->minor >= 11 ? operation == MULTIPLY || operation == MULTIPLY_IN_PLACE
							  : operation == MULTIPLY_10 || operation == MULTIPLY_IN_PLACE_10;
}

/* A loss that is a sum itself, or is divided by the number of micro-batches, is none of a batch. */
static bool is_of_batch(const struct py_graph *graph, const struct py_bytecode *code, const struct py_operand *from)
{
	struct py_store variable;
	if (!take_variable(from, &variable))
		return false;
	for (size_t i = 0; i < code->store_count; i++)
		if (py_operand_is_stored(from, &code->stores[i]) && code->stores[i].is_sum && !code->stores[i].is_again)
			return false;
	for (size_t i = 1; i < graph->count && from->name_count == 0; i++)
		if (is_division(graph, (int)i - 1) && stores(&graph->all[i], &variable))
			return false;
	return true;
}

static void note_only(const struct py_graph *graph, struct py_store *store)
{
	unsigned count = 0;
	store->is_only = !store->holder.role;
	for (size_t i = 1; i < graph->count && store->is_only; i++) {
		const struct py_instruction *before = &graph->all[i - 1];
		if (graph->all[i].role == PY_ROLE_DELETE || before->role == PY_ROLE_CONSTANT ||
			before->role == PY_ROLE_SMALL_INT || !stores(&graph->all[i], store))
			continue;
		store->is_only = ++count == 1 && !is_division(graph, (int)i - 1) && !is_product(graph, (int)i - 1);
	}
}

/* -- sums -- */

/* How many instructions before it a plain assignment has its value, if that is a constant. */
static int distance_of_constant(const struct py_store *into)
{
	return into->role == PY_ROLE_STORE_SUBSCRIPT ? 3 : into->role == PY_ROLE_STORE_ATTRIBUTE ? 2 : 1;
}

/* Whether the instruction may assign what the sum is in. Of items `x[key] = …` has its key just before. */
static bool assigns(const struct py_graph *graph, int at, const struct py_store *into)
{
	const struct py_instruction *before = &graph->all[at - 1];
	if (into->role != PY_ROLE_STORE_SUBSCRIPT || graph->all[at].role != PY_ROLE_STORE_SUBSCRIPT)
		return stores(&graph->all[at], into);
	if (before->role == PY_ROLE_CONSTANT)
		return (into->index & ~PY_OPERAND_KEY) == before->argument;
	return before->role != PY_ROLE_OTHER || !py_graph_adds_in_place(graph, py_operand_sum_of(graph, at));
}

/* The marks: what follows the addition in its iteration. */
static bool is_only_reset(const struct py_graph *graph, const struct py_bytecode *code, struct py_gain *gain)
{
	const struct py_store *into = &gain->into;
	int distance = distance_of_constant(into);
	for (int i = distance; i < (int)graph->count; i++) {
		uint32_t offset = 2 * graph->all[i].begin;
		enum py_role value = graph->all[i - distance].role;
		if (offset == into->offset || !py_bytecode_is_in(code, offset, into->loop) || !assigns(graph, i, into))
			continue;
		if (!graph->marks[i] || graph->all[i].role != into->role ||
			(value != PY_ROLE_CONSTANT && value != PY_ROLE_SMALL_INT))
			return false;
		gain->has_period = !gain->is_reset && py_period_find(graph, i, &gain->period);
		gain->is_reset = true;
	}
	return true;
}

/* Another one adds to it in the same loop. */
static bool has_twin(const struct py_bytecode *code, const struct py_gain *gain)
{
	for (const struct py_gain *other = code->gains; other < code->gains + code->gain_count; other++)
		if (other != gain && other->into.loop == gain->into.loop && other->into.role == gain->into.role &&
			other->into.index == gain->into.index && py_operand_is_same(&other->into.holder, &gain->into.holder))
			return true;
	return false;
}

static bool is_holder_stored(const struct py_bytecode *code, const struct py_gain *gain)
{
	struct py_operand base = { .role = gain->into.holder.role, .index = gain->into.holder.index };
	for (size_t i = 0; i < code->store_count; i++)
		if (py_operand_is_stored(&base, &code->stores[i]))
			return true;
	return false;
}

/* Whether how often it was added to follows from the iteration and from the instruction in it. What is no variable of
 * the code's own may be reset by others. */
static void count_sum(struct py_graph *graph, struct py_bytecode *code, struct py_gain *gain, unsigned bit)
{
	const struct py_store *into = &gain->into;
	const struct py_code_loop *loop = &code->loops[into->loop];
	int header = graph->at[loop->offset / 2], at = graph->at[into->offset / 2];
	gain->is_reset = into->role != PY_ROLE_STORE_FAST && into->role != PY_ROLE_STORE_NAME;
	if (!loop->is_for || loop->is_inlined || header == PY_GRAPH_NOWHERE || at == PY_GRAPH_NOWHERE ||
		!py_assigned_is_in_each(graph, loop, into) || (into->holder.role && is_holder_stored(code, gain)))
		return;
	py_graph_mark_ahead(graph, at, header);
	if (!is_only_reset(graph, code, gain))
		return;
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t unit = graph->all[i].begin; graph->marks[i] && unit < graph->all[i].end; unit++)
			code->is_added[unit] |= (unsigned char)(1U << bit);
	gain->counted = bit + 1;
}

void py_gains_find(struct py_graph *graph, struct py_bytecode *code)
{
	unsigned bit = 0;
	for (int i = 1; i < (int)graph->count && code->gain_count < PY_GAINS_MAX; i++) {
		const struct py_instruction *instruction = &graph->all[i];
		struct py_gain *gain = &code->gains[code->gain_count];
		*gain = (struct py_gain){ .into = { .role = instruction->role,
									  .index = instruction->argument,
									  .offset = 2 * instruction->begin,
									  .loop = code->loop_at[instruction->begin] - 1 } };
		if (gain->into.loop != PY_NO_LOOP && !code->loops[gain->into.loop].is_delegation &&
			(instruction->role == PY_ROLE_CALL ? read_append(graph, i, gain) : read_sum(graph, i, gain)) &&
			is_of_batch(graph, code, &gain->from))
			code->gain_count++;
	}
	for (struct py_gain *gain = code->gains; gain < code->gains + code->gain_count && bit < PY_COUNTED_GAINS; gain++)
		if (!gain->is_append && !has_twin(code, gain))
			count_sum(graph, code, gain, bit++);
	for (size_t i = 0; i < code->store_count; i++)
		note_only(graph, &code->stores[i]);
}
