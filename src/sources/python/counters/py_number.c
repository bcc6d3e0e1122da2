#include "src/sources/python/counters/py_number.h"

#include <errno.h>
#include <string.h>

#include "src/sources/python/counters/py_search.h"
#include "src/sources/python/remote.h"

enum { TRIES = 8 };

/* -- one read -- */

/* Each step creates a new int and frees the last one, whose memory may be reused at once. So slot and int are read
 * alternately in one call: if the slot holds the same address each time, and the int is equal each time, the int was
 * the slot's. */
struct view {
	uint64_t slots[3];
	unsigned char numbers[2][PY_INT_SIZE];
	uint64_t marks[PY_MARKS];
	unsigned char seed[PY_INT_SIZE];
	uint64_t references;
	uint64_t guards[PY_GUARDS_MAX];
};
enum { PIECES_MAX = 5 + PY_MARKS + 1 + 1 + PY_GUARDS_MAX };

/* Reads whether it is still that object; comes last, because what holds then also held before. */
static size_t add_identity(const struct py_number *number, struct view *view, struct remote_piece *pieces)
{
	size_t count = 0;
	for (size_t i = 0; i < PY_MARKS; i++)
		if (number->marks[i].slot)
			pieces[count++] = (struct remote_piece){ number->marks[i].slot, &view->marks[i], 8 };
	for (size_t i = 0; i < number->yielded.guard_count; i++)
		pieces[count++] = (struct remote_piece){ number->yielded.guards[i].address, &view->guards[i], 8 };
	pieces[count++] = (struct remote_piece){ number->iterator, &view->references, 8 };
	return count;
}

static bool read_view(const struct py_process *process, const struct py_number *number, struct view *view)
{
	struct remote_piece pieces[PIECES_MAX];
	size_t count = 0;
	for (unsigned i = 0; i < 2; i++) {
		pieces[count++] = (struct remote_piece){ number->yielded.slot, &view->slots[i], 8 };
		pieces[count++] = (struct remote_piece){ number->value, view->numbers[i], PY_INT_SIZE };
	}
	pieces[count++] = (struct remote_piece){ number->yielded.slot, &view->slots[2], 8 };
	if (number->marks[PY_MARK_SEED].slot)
		pieces[count++] = (struct remote_piece){ number->marks[PY_MARK_SEED].object, view->seed, PY_INT_SIZE };
	count += add_identity(number, view, pieces + count);
	return remote_read_pieces(process->pid, pieces, count);
}

/* As read_view, but without the ints: their memory may be unmapped. */
static bool read_identity(const struct py_process *process, const struct py_number *number, struct view *view)
{
	struct remote_piece pieces[PIECES_MAX];
	pieces[0] = (struct remote_piece){ number->yielded.slot, &view->slots[2], 8 };
	return remote_read_pieces(process->pid, pieces, 1 + add_identity(number, view, pieces + 1));
}

static enum py_reading check_identity(const struct py_number *number, const struct view *view)
{
	/* A freed object keeps its type until the memory is reused, but its reference count is 0. */
	if (view->references == 0 || view->guards[0] != number->yielded.guards[0].word)
		return PY_READ_DEAD;
	for (size_t i = 1; i < number->yielded.guard_count; i++)
		if (view->guards[i] != number->yielded.guards[i].word)
			return PY_READ_MOVED;
	for (size_t i = 0; i < PY_MARKS; i++)
		if (number->marks[i].slot && view->marks[i] != number->marks[i].object)
			return PY_READ_OTHER;
	return PY_READ_GOOD;
}

static enum py_reading failed_reading(const struct py_process *process, const struct py_number *number)
{
	uint64_t head[2];
	if (remote_read(process->pid, number->iterator, head, sizeof head))
		return head[0] && head[1] == number->yielded.guards[0].word ? PY_READ_MOVED : PY_READ_DEAD;
	return errno == ESRCH || errno == EPERM ? PY_READ_ENDED : PY_READ_DEAD;
}

static enum py_reading check_view(
	const struct py_process *process, const struct py_number *number, const struct view *view, uint64_t *value)
{
	const struct py_mark *seed = &number->marks[PY_MARK_SEED];
	enum py_reading reading = check_identity(number, view);
	if (reading != PY_READ_GOOD)
		return reading;
	if (seed->slot && memcmp(view->seed + 8, seed->content, sizeof seed->content) != 0)
		return PY_READ_OTHER;
	bool is_still = view->slots[0] == number->value && view->slots[1] == number->value &&
		view->slots[2] == number->value && memcmp(view->numbers[0] + 8, view->numbers[1] + 8, PY_INT_SIZE - 8) == 0;
	return is_still && py_int_decode(&process->location, view->numbers[0], value) ? PY_READ_GOOD : PY_READ_UNSURE;
}

static enum py_reading read_once(const struct py_process *process, struct py_number *number, uint64_t *value)
{
	struct view view;
	enum py_reading reading;
	if (read_view(process, number, &view)) {
		reading = check_view(process, number, &view, value);
	} else {
		if (!read_identity(process, number, &view))
			return failed_reading(process, number);
		reading = check_identity(number, &view);
		reading = reading == PY_READ_GOOD ? PY_READ_UNSURE : reading;
	}
	if (reading == PY_READ_UNSURE)
		number->value = view.slots[2];
	return reading;
}

/* -- finding and following the count -- */

/* Only if it is stored next to the count, because its slot has no guards of its own. */
static void resolve_mark(
	const struct py_process *process, struct py_number *number, const char *name, struct py_mark *out)
{
	struct py_attribute attribute;
	size_t shared = number->yielded.guard_count - 1;
	*out = (struct py_mark){ .slot = 0 };
	if (py_attribute_find(process, number->iterator, name, &attribute) &&
		attribute.guard_count == number->yielded.guard_count &&
		memcmp(attribute.guards, number->yielded.guards, shared * sizeof *attribute.guards) == 0 &&
		remote_word(process->pid, attribute.slot, &out->object))
		out->slot = attribute.slot;
}

static void resolve_marks(const struct py_process *process, struct py_number *number)
{
	struct py_mark *seed = &number->marks[PY_MARK_SEED];
	resolve_mark(process, number, "_base_seed", seed);
	resolve_mark(process, number, "_sampler_iter", &number->marks[PY_MARK_ORDER]);
	if (!seed->slot || !py_is(process, seed->object, PY_INT) ||
		!remote_read(process->pid, seed->object + 8, seed->content, sizeof seed->content))
		*seed = (struct py_mark){ .slot = 0 };
}

static bool has_same_marks(const struct py_mark a[PY_MARKS], const struct py_mark b[PY_MARKS])
{
	for (size_t i = 0; i < PY_MARKS; i++)
		if (a[i].slot && b[i].slot &&
			(a[i].object != b[i].object || memcmp(a[i].content, b[i].content, sizeof a[i].content) != 0))
			return false;
	return true;
}

bool py_number_is_same(const struct py_number *a, const struct py_number *b)
{
	bool is_marked = false;
	for (size_t i = 0; i < PY_MARKS; i++)
		is_marked |= a->marks[i].slot && b->marks[i].slot;
	return a->iterator == b->iterator && is_marked && has_same_marks(a->marks, b->marks);
}

bool py_number_find(const struct py_process *process, struct py_number *number)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (!py_is_loader_iterator(process, number->iterator))
			return false;
		if (!py_attribute_find(process, number->iterator, "_num_yielded", &number->yielded))
			continue;
		resolve_marks(process, number);
		if (remote_word(process->pid, number->yielded.slot, &number->value))
			return true;
	}
	return false;
}

/* Retries until it is consistent. If its attributes have moved, follows them if it is still the same iterator. */
enum py_reading py_number_read(const struct py_process *process, struct py_number *number, uint64_t *value)
{
	enum py_reading reading = PY_READ_UNSURE;
	for (unsigned i = 0; i < TRIES && (reading == PY_READ_UNSURE || reading == PY_READ_MOVED); i++) {
		struct py_mark before[PY_MARKS];
		memcpy(before, number->marks, sizeof before);
		if (reading == PY_READ_MOVED && !py_number_find(process, number))
			return PY_READ_DEAD;
		if (reading == PY_READ_MOVED && !has_same_marks(before, number->marks))
			return PY_READ_OTHER;
		reading = read_once(process, number, value);
	}
	return reading == PY_READ_MOVED ? PY_READ_UNSURE : reading;
}
