#include "src/sources/python/loops/py_itertools.h"

#include "src/sources/python/loops/py_gather.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Offsets in iterators: Modules/itertoolsmodule.c of CPython; the same in 3.8 to 3.15. */
enum { INNER = 16, ACTIVE_OF_CHAIN = 24, INNER_AFTER_FUNCTION = 24, PARTS_OF_ZIP_LONGEST = 32, SIZE_OF_BATCH = 24 };
/* A round of fewer items may be over between two readings. */
enum { PARTS_MAX = 8, ROUND_MIN = 32 };

static void measure_count(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	if (!py_measure_source(at, object, PY_FORM_COUNT, out))
		return;
	out->is_relative =
		!py_measure_origin_of_call(at, "count", 1, &out->guards.origin) || at->loop->iterated.has_keywords;
	if (out->is_relative)
		out->guards.origin = out->guards.value[2];
	py_measure_position(at, out);
}

static void measure_islice(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_loop inner;
	if (!py_measure_source(at, object, PY_FORM_ISLICE, out))
		return;
	uint64_t stop = out->guards.value[4];
	py_measure_inner(at, out->guards.value[2], &inner);
	out->loader = inner.loader;
	out->may_end_early = true;
	out->is_relative = !py_measure_call_of(at, "islice") || at->loop->iterated.argument_count != 2;
	py_measure_position(at, out);
	if (!out->has_position || out->is_relative)
		return;
	if (!inner.has_remaining) {
		out->length = stop <= INT64_MAX ? stop : 0;
	} else if (!at->is_moving && !inner.guards.is_moving) {
		out->length = stop - out->position <= inner.remaining ? stop : out->position + inner.remaining;
		out->guards.has_inner_length = true;
	}
}

/* The item in progress is one of the inner iterator, whose position is `is_exact`, or its differences are. */
static void measure_wrapped(
	const struct py_measuring *at, uint64_t object, uint32_t offset, bool is_exact, struct py_loop *out)
{
	uint64_t iterator;
	struct py_loop inner;
	if (!remote_word(at->iterators->process->pid, object + offset, &iterator) || !iterator)
		return;
	py_measure_inner(at, iterator, &inner);
	out->loader = inner.loader;
	out->is_zipped = inner.is_zipped;
	out->may_end_early = inner.may_end_early || at->class == PY_CLASS_TAKEWHILE;
	if (!inner.has_position || !py_loop_guard_word(&out->guards, object + offset, iterator))
		return;
	py_measure_adopt(out, &inner);
	out->guards.is_moving = inner.guards.is_moving;
	out->is_relative |= !is_exact;
}

/* First it passes on the items of an iterator, then those that it has retained, round by round. */
static void measure_cycle(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	const struct py_process *process = at->iterators->process;
	uint64_t *value = out->guards.value, length;
	if (!py_measure_source(at, object, PY_FORM_CYCLE, out))
		return;
	bool is_first = process->location.layout.minor >= 14 ? (int64_t)value[4] < 0 : value[2] != 0;
	if (is_first) {
		out->guards.form = PY_FORM_NONE;
		measure_wrapped(at, object, INNER, false, out);
	} else if (py_size_read(process, value[3], &length) && length >= ROUND_MIN) {
		out->is_relative = true;
		out->guards.round = length;
		py_measure_position(at, out);
	} else {
		out->guards.form = PY_FORM_NONE;
	}
	out->length = 0;
}

static void measure_repeat(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_loop_guards *guards = &out->guards;
	if (!py_measure_source(at, object, PY_FORM_REPEAT, out))
		return;
	bool is_endless = guards->value[3] > INT64_MAX;
	out->is_relative =
		!py_measure_origin_of_call(at, "repeat", 2, &guards->origin) || guards->origin < guards->value[3];
	if (out->is_relative)
		guards->origin = guards->value[3];
	out->length = guards->origin;
	if (is_endless)
		guards->form = PY_FORM_NONE;
	else
		py_measure_position(at, out);
}

/* A tee counts within blocks of items; how many blocks came before is not stored. */
static void measure_tee(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	if (!py_measure_source(at, object, PY_FORM_TEE, out))
		return;
	out->is_relative = true;
	py_measure_position(at, out);
}

/* The part that ends last gives position and length, if what remains is known of all. */
static void measure_zip_longest(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	const struct py_process *process = at->iterators->process;
	uint64_t tuple, items[PARTS_MAX];
	struct py_loop longest = { .remaining = 0 }, part;
	size_t count = remote_word(process->pid, object + PARTS_OF_ZIP_LONGEST, &tuple)
		? py_items_read(process, tuple, items, PARTS_MAX)
		: 0;
	bool is_known = count > 0 && count < PARTS_MAX && !at->is_moving;
	if (count > 0 && py_gather_groups(at, object + PARTS_OF_ZIP_LONGEST, tuple, items, count, out))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!items[i])
			continue;
		py_measure_inner(at, items[i], &part);
		out->loader = out->loader ? out->loader : part.loader;
		is_known &= part.has_remaining && !part.guards.is_moving;
		if (!longest.has_position || part.remaining > longest.remaining)
			longest = part;
	}
	uint64_t loader = out->loader;
	if (!is_known || !longest.has_position || !py_loop_guard_word(&out->guards, object + PARTS_OF_ZIP_LONGEST, tuple))
		return;
	py_measure_adopt(out, &longest);
	out->loader = loader;
}

static bool has_generator(const struct py_loop_guards *guards)
{
	for (size_t i = 0; i < guards->place_count; i++)
		if (guards->places[i].is_generator)
			return true;
	return false;
}

static void measure_batched(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_loop_guards *guards = &out->guards;
	uint64_t size;
	measure_wrapped(at, object, INNER, true, out);
	bool is_known = out->has_position && !out->is_relative && guards->form != PY_FORM_INT && !has_generator(guards) &&
		!guards->round && remote_word(at->iterators->process->pid, object + SIZE_OF_BATCH, &size) && size > 0 &&
		size <= INT32_MAX;
	if (!is_known) {
		guards->form = PY_FORM_NONE;
		out->has_position = out->is_relative = false;
		out->position = out->length = 0;
		return;
	}
	guards->divisor = size * (guards->divisor ? guards->divisor : 1);
	out->position = (out->position + size - 1) / size;
	out->length = (out->length + size - 1) / size;
}

/* Its first pair takes two items, each further one an item more. */
static void measure_pairwise(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_loop_guards *guards = &out->guards;
	measure_wrapped(at, object, INNER, true, out);
	bool is_known = out->has_position && !out->is_relative && guards->form != PY_FORM_INT && !has_generator(guards) &&
		!guards->round && !guards->divisor && out->position > 0;
	out->is_relative |= out->has_position && !is_known;
	if (!is_known)
		return;
	guards->ahead++;
	out->position--;
	out->length -= out->length > 0;
}

void py_itertools_measure(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	switch (at->class) {
	case PY_CLASS_COUNT: measure_count(at, object, out); break;
	case PY_CLASS_ISLICE: measure_islice(at, object, out); break;
	case PY_CLASS_CYCLE: measure_cycle(at, object, out); break;
	case PY_CLASS_REPEAT: measure_repeat(at, object, out); break;
	case PY_CLASS_TEE: measure_tee(at, object, out); break;
	case PY_CLASS_ZIP_LONGEST: measure_zip_longest(at, object, out); break;
	case PY_CLASS_BATCHED: measure_batched(at, object, out); break;
	case PY_CLASS_PAIRWISE: measure_pairwise(at, object, out); break;
	case PY_CLASS_CHAIN: measure_wrapped(at, object, ACTIVE_OF_CHAIN, false, out); break;
	case PY_CLASS_STARMAP:
	case PY_CLASS_TAKEWHILE: measure_wrapped(at, object, INNER_AFTER_FUNCTION, true, out); break;
	case PY_CLASS_PASSES_ON: measure_wrapped(at, object, INNER_AFTER_FUNCTION, false, out); break;
	default: break;
	}
	/* Some end before what they pass on. */
	if (out->is_relative || at->class == PY_CLASS_TAKEWHILE)
		out->length = 0;
}
