#include "src/sources/python/loops/py_bounds.h"

#include <string.h>

#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/loops/py_paths.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Of several comparisons, one that has not ended the loop by then has more conditions. */
enum { PASSED_MIN = 2 };

/* What a search reads. */
struct search {
	const struct py_process *process;
	struct py_attributes *attributes;
	const struct py_loop_code *code;
	const struct py_store *store;
	const struct py_loop_frame *frame;
	struct py_entries globals;
	bool has_globals;
};

/* The assignment of the int. NULL: it is of other code by now. */
static const struct py_store *find_store(const struct py_loop_code *code, const struct py_loop *loop)
{
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		const struct py_store *store = &code->bytecode->stores[i];
		if (code->variables[i].line == loop->line && strcmp(code->variables[i].name, loop->name) == 0 &&
			code->bytecode->loops[store->loop].depth == loop->depth)
			return store;
	}
	return NULL;
}

static bool find_global(struct search *search, uint32_t name, uint64_t *object)
{
	struct py_attribute unused;
	uint64_t key;
	if (!search->has_globals)
		search->has_globals = py_entries_read(search->process, search->frame->globals, &search->globals);
	return search->has_globals && py_loop_item(search->process, search->code->names, name, &key) &&
		py_entries_find(&search->globals, key, &unused, object);
}

static bool read_base(struct search *search, const struct py_operand *operand, uint64_t *object)
{
	if (operand->role == PY_ROLE_LOCAL) {
		*object = operand->index < search->frame->local_count ? search->frame->objects[operand->index] : 0;
		return *object != 0;
	}
	if (operand->role == PY_ROLE_CELL) {
		uint32_t local = operand->index + search->code->cells;
		return local < search->frame->local_count && search->frame->objects[local] &&
			remote_word(search->process->pid, search->frame->objects[local] + PY_CELL_CONTENT, object) && *object;
	}
	/* A name of a class's body, or of exec(), may be no global. */
	return (operand->role == PY_ROLE_GLOBAL || search->code->is_module) && find_global(search, operand->index, object);
}

/* What is added to the operand's variable. */
static bool read_shift(struct search *search, const struct py_operand *operand, int64_t *out)
{
	uint64_t shift = 0;
	if (operand->shift_sign && !py_loop_constant(search->process, search->code, operand->shift, &shift))
		return false;
	*out = operand->shift_sign * (int64_t)shift;
	return true;
}

static bool read_operand(struct search *search, const struct py_operand *operand, int64_t *out)
{
	struct py_path path;
	uint64_t object, value;
	int64_t shift;
	if (!read_shift(search, operand, &shift))
		return false;
	if (operand->role == PY_ROLE_CONSTANT) {
		if (!py_loop_constant(search->process, search->code, operand->index, &value))
			return false;
	} else if (!read_base(search, operand, &object) ||
		!py_path_make(search->process, search->code->names, search->code->constants, operand->names,
			operand->name_count, &path) ||
		!py_path_get(search->attributes, object, &path, &object) || !py_int_read(search->process, object, &value))
		return false;
	*out = (int64_t)value + shift;
	return true;
}

/* Iterations, if the int is 0 at first. It is `limit` when the comparison ends the loop: the iteration that compares it
 * counts if its work comes before that, and has been counted itself if the sum comes before. */
static uint64_t iterations_of(
	const struct py_loop *loop, const struct py_store *store, const struct py_exit *exit, int64_t work, int64_t limit)
{
	bool has_worked = work < (int64_t)exit->left;
	bool is_counted = loop->is_sum && (loop->is_compared ? has_worked : store->offset < exit->offset);
	int64_t count = limit + has_worked - is_counted;
	return count > 0 ? (uint64_t)count : 0;
}

/* After how many additions an int is at least `limit`. */
static int64_t additions_of(const struct py_loop_guards *guards, int64_t limit)
{
	int64_t by = guards->divisor ? (int64_t)guards->divisor : 1;
	return limit > (int64_t)guards->origin ? (limit - (int64_t)guards->origin + by - 1) / by : 0;
}

bool py_bound_operand(
	struct py_iterators *iterators, const struct py_loop_frame *frame, const struct py_operand *operand, int64_t *out)
{
	struct search search = {
		.process = iterators->process, .attributes = &iterators->attributes, .code = frame->code, .frame = frame
	};
	return read_operand(&search, operand, out);
}

static bool read_end(struct search *search, const struct py_loop *loop, const struct py_exit *exit, size_t side,
	int64_t work, uint64_t *out)
{
	int64_t limit = 0, shift = 0;
	if (!read_operand(search, &exit->sides[!side].operand, &limit) ||
		!read_shift(search, &exit->sides[side].operand, &shift))
		return false;
	limit += exit->sides[side].must_exceed - shift;
	*out = iterations_of(loop, search->store, exit, work, additions_of(&loop->guards, limit));
	return true;
}

/* By the comparison of the int with something else that ends this loop; of several the first one to come. 0: there is
 * none, or one of several is unknown. */
static uint64_t find_end(struct search *search, const struct py_loop *loop, int of, int64_t work)
{
	const struct py_bytecode *bytecode = search->code->bytecode;
	uint64_t end, found = 0, only = 0;
	unsigned count = 0, unknown = 0;
	for (size_t i = 0; i < bytecode->exit_count * PY_EXIT_SIDES; i++) {
		const struct py_exit *exit = &bytecode->exits[i / PY_EXIT_SIDES];
		size_t side = i % PY_EXIT_SIDES;
		if (exit->loop != of || !py_operand_is_stored(&exit->sides[side].operand, search->store))
			continue;
		count++;
		if (!read_end(search, loop, exit, side, work, &end)) {
			unknown++;
			continue;
		}
		only = end;
		/* "if is_test and step > 0: return" has not ended it. */
		if (end > loop->position && (!found || end < found))
			found = end;
	}
	if (unknown)
		return 0;
	return count == 1 ? only : loop->position < PASSED_MIN ? 0 : found;
}

bool py_bound_read(struct py_iterators *iterators, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out)
{
	struct search search = { .process = iterators->process, .attributes = &iterators->attributes };
	const struct py_activation at = { loop->frame, loop->code };
	struct py_loop_frame frame;
	search.frame = &frame;
	search.code = py_loop_code_checked(iterators->codes, loop->code);
	search.store = search.code && search.code->bytecode ? find_store(search.code, loop) : NULL;
	if (!search.store)
		return false;
	int64_t work = py_loop_offset(&iterators->process->location.layout, loop->code, ip);
	*out = (struct py_loop_bound){ .is_behind =
									   loop->is_sum && !loop->is_compared && work > (int64_t)search.store->offset };
	if (search.code->bytecode->exit_count == 0 || !py_loop_frame_read(iterators->process, &at, search.code, &frame))
		return true;
	const struct py_code_loop *loops = search.code->bytecode->loops;
	out->end = find_end(&search, loop, search.store->loop, work);
	out->has_end = out->end > 0;
	for (int of = loops[search.store->loop].parent; !out->outer_end && of != PY_NO_LOOP; of = loops[of].parent)
		out->outer_end = find_end(&search, loop, of, work);
	return true;
}

/* Names of attributes are interned: the same object in all code. "_epoch" is that of a property "epoch". */
static bool is_name(const struct py_process *process, uint64_t name, uint64_t wanted)
{
	char text[PY_LOOP_NAME_SIZE], other[PY_LOOP_NAME_SIZE];
	return name == wanted ||
		(py_text_read(process, name, text, sizeof text) && text[0] == '_' &&
			py_text_read(process, wanted, other, sizeof other) && strcmp(text + 1, other) == 0);
}

bool py_bound_sums(
	struct py_iterators *iterators, const struct py_loop *compared, uint64_t code, uint64_t ip, bool *is_before)
{
	const struct py_process *process = iterators->process;
	const struct py_loop_code *own = py_loop_code_checked(iterators->codes, compared->code),
							  *other = py_loop_code_checked(iterators->codes, code);
	const struct py_store *store = own && own->bytecode ? find_store(own, compared) : NULL;
	int64_t offset = py_loop_offset(&process->location.layout, code, ip);
	unsigned before = 0, behind = 0;
	uint64_t wanted, name;
	if (!store || store->role != PY_ROLE_STORE_ATTRIBUTE || !other || !other->sums ||
		!py_loop_item(process, own->names, store->index, &wanted))
		return false;
	for (size_t i = 0; i < other->sums->sum_count; i++) {
		const struct py_sum *sum = &other->sums->sums[i];
		bool is_it = py_loop_item(process, other->names, sum->name, &name) && is_name(process, name, wanted);
		before += is_it && (int64_t)sum->offset < offset;
		behind += is_it && (int64_t)sum->offset > offset;
	}
	*is_before = before > 0;
	return (before > 0) != (behind > 0);
}

uint64_t py_bound_epochs(struct py_iterators *iterators, uint64_t object)
{
	static const char *const names[] = { "max_epochs", "num_epochs", "n_epochs", "total_epochs", "epochs",
		"_max_epochs", "_num_epochs", "_n_epochs" };
	uint64_t epochs;
	for (size_t i = 0; object && i < sizeof names / sizeof *names; i++)
		if (py_attributes_int(&iterators->attributes, object, names[i], &epochs))
			return epochs;
	return 0;
}
