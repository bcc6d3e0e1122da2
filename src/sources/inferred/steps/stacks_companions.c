#include "src/sources/inferred/steps/stacks_companions.h"

#include "src/base/clock.h"

/* So many polls have found both advanced: they are read together. Or the one has by so many batches, and the other
 * hardly. */
enum { TOGETHER_MIN = 2, ALONE_MIN = 3, ALONE_RATIO = 3 };
/* A pass that has not advanced for so long is no longer read. */
#define STILL_NS (2 * NS_PER_S)
/* A companion's pass may be found before the one that is counted. */
#define WAIT_NS (1 * NS_PER_S)

static struct companion_pass *find(struct stacks_companions *companions, uint64_t serial)
{
	for (size_t i = 0; i < companions->count; i++)
		if (companions->passes[i].serial == serial)
			return &companions->passes[i];
	return NULL;
}

static const struct py_counted *find_counted(const struct py_counted *counted, size_t count, uint64_t serial)
{
	for (size_t i = 0; i < count; i++)
		if (counted[i].serial == serial)
			return &counted[i];
	return NULL;
}

static void forget_ended(struct stacks_companions *companions, const struct py_counted *counted, size_t count)
{
	size_t retained = 0;
	for (size_t i = 0; i < companions->count; i++)
		if (find_counted(counted, count, companions->passes[i].serial))
			companions->passes[retained++] = companions->passes[i];
	companions->count = retained;
}

static bool is_known_loader(const struct stacks_companions *companions, uint64_t sampler)
{
	for (size_t i = 0; sampler && i < companions->loader_count; i++)
		if (companions->loaders[i] == sampler)
			return true;
	return false;
}

static void remember_loader(struct stacks_companions *companions, uint64_t sampler)
{
	if (sampler && !is_known_loader(companions, sampler) && companions->loader_count < COMPANIONS_LOADERS_MAX)
		companions->loaders[companions->loader_count++] = sampler;
}

static bool is_read(const struct py_counted *counted, int64_t now_ns)
{
	int64_t moved_ns = counted->advanced_ns ? counted->advanced_ns : counted->found_ns;
	return !counted->is_over && !counted->evaluates && now_ns - moved_ns < STILL_NS &&
		!(counted->length && counted->yielded >= counted->length);
}

/* The pass in progress whose batches are steps. */
static const struct py_counted *find_other(const struct stacks_companions *companions, const struct py_counted *counted,
	size_t count, const struct py_counted *own, int64_t now_ns)
{
	for (size_t i = 0; i < companions->count; i++) {
		const struct companion_pass *pass = &companions->passes[i];
		const struct py_counted *other = find_counted(counted, count, pass->serial);
		if (pass->state == COMPANION_NONE && other && other != own && is_read(other, now_ns))
			return other;
	}
	return NULL;
}

static void begin(struct companion_pass *pass, const struct py_counted *own, const struct py_counted *other)
{
	pass->with = other->serial;
	pass->own_at = own->yielded;
	pass->other_at = other->yielded;
}

static void add(struct stacks_companions *companions, const struct py_counted *counted, size_t count,
	const struct py_counted *own, int64_t now_ns)
{
	if (companions->count == PY_COUNTED_MAX)
		return;
	struct companion_pass pass = { .serial = own->serial, .since_ns = now_ns };
	const struct py_counted *other = find_other(companions, counted, count, own, now_ns);
	bool is_known = is_known_loader(companions, own->sampler) && !(other && other->sampler == own->sampler);
	if (is_known && !own->evaluates && (other || own->is_over))
		pass.state = COMPANION_IS_ONE;
	else if (!own->is_over && !own->evaluates && (other || is_known))
		pass.state = COMPANION_MAYBE;
	if (other)
		begin(&pass, own, other);
	companions->passes[companions->count++] = pass;
}

/* One poll may come so late that a pass has ended and the next one has begun. */
static void note_advance(struct companion_pass *pass, const struct py_counted *own, const struct py_counted *other)
{
	uint64_t by = own->yielded - pass->own_at, other_by = other ? other->yielded - pass->other_at : 0;
	pass->together += by > pass->own_by && other_by > pass->other_by;
	pass->own_by = by;
	pass->other_by = other_by;
}

static enum companion judge(const struct companion_pass *pass, const struct py_counted *own,
	const struct py_counted *other, bool is_known, int64_t now_ns)
{
	bool is_together = pass->together >= TOGETHER_MIN;
	if (own->is_over || own->evaluates)
		return !own->evaluates && (is_known || (pass->together > 0 && own->trains)) ? COMPANION_IS_ONE : COMPANION_NONE;
	if (!other)
		return pass->with || now_ns - pass->since_ns > WAIT_NS ? COMPANION_NONE : COMPANION_MAYBE;
	if (is_known || is_together)
		return COMPANION_IS_ONE;
	return (pass->own_by >= ALONE_MIN && pass->own_by > ALONE_RATIO * pass->other_by) ||
			now_ns - pass->since_ns > STILL_NS
		? COMPANION_NONE
		: COMPANION_MAYBE;
}

static void update(struct stacks_companions *companions, const struct py_counted *counted, size_t count,
	const struct py_counted *own, int64_t now_ns)
{
	struct companion_pass *pass = find(companions, own->serial);
	if (!pass || pass->state != COMPANION_MAYBE)
		return;
	const struct py_counted *other = pass->with ? find_counted(counted, count, pass->with) : NULL;
	if (!pass->with && (other = find_other(companions, counted, count, own, now_ns)))
		begin(pass, own, other);
	if (other && !is_read(other, now_ns))
		other = NULL;
	note_advance(pass, own, other);
	pass->state = judge(pass, own, other, is_known_loader(companions, own->sampler), now_ns);
	if (pass->state == COMPANION_IS_ONE)
		remember_loader(companions, own->sampler);
}

/* Of passes that are found at once, the longest has the steps. */
static const struct py_counted *next_new(
	struct stacks_companions *companions, const struct py_counted *counted, size_t count)
{
	const struct py_counted *found = NULL;
	for (size_t i = 0; i < count; i++)
		if (!find(companions, counted[i].serial) && (!found || counted[i].length > found->length))
			found = &counted[i];
	return found;
}

size_t stacks_companions_remove(
	struct stacks_companions *companions, struct py_counted *counted, size_t count, int64_t now_ns)
{
	const struct py_counted *new;
	size_t retained = 0;
	forget_ended(companions, counted, count);
	for (size_t i = 0; i < count; i++)
		update(companions, counted, count, &counted[i], now_ns);
	while (companions->count < PY_COUNTED_MAX && (new = next_new(companions, counted, count)))
		add(companions, counted, count, new, now_ns);
	for (size_t i = 0; i < count; i++) {
		const struct companion_pass *pass = find(companions, counted[i].serial);
		if (!pass || pass->state == COMPANION_NONE)
			counted[retained++] = counted[i];
	}
	return retained;
}
