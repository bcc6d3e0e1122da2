#include "src/sources/python/counters/py_place.h"

#include <string.h>

static struct py_place *find(struct py_places *places, uint64_t sampler)
{
	for (size_t i = 0; i < PY_ITERATORS_MAX; i++)
		if (sampler && places->list[i].sampler == sampler)
			return &places->list[i].place;
	return NULL;
}

void py_places_remember(struct py_places *places, uint64_t sampler, const struct py_place *place)
{
	struct py_place *known = find(places, sampler);
	if (!sampler || !place->ip || place->is_recalled)
		return;
	if (!known) {
		places->list[places->next].sampler = sampler;
		known = &places->list[places->next].place;
		places->next = (places->next + 1) % PY_ITERATORS_MAX;
	}
	*known = *place;
}

void py_places_recall(struct py_places *places, uint64_t sampler, struct py_place *place)
{
	const struct py_place *known = find(places, sampler);
	if (!known)
		return;
	*place = *known;
	*place->function = *place->file = '\0';
	place->line = 0;
	place->generator = 0;
	place->is_recalled = true;
}

static void add_holder(struct py_place *place, uint64_t code)
{
	for (size_t i = 0; i < PY_HOLDERS_MAX; i++) {
		if (place->holders[i] == code)
			return;
		if (!place->holders[i]) {
			place->holders[i] = code;
			return;
		}
	}
}

static bool has_holder(const struct py_place *place, uint64_t code)
{
	for (size_t i = 0; i < PY_HOLDERS_MAX; i++)
		if (place->holders[i] == code)
			return true;
	return false;
}

bool py_places_holds(
	struct py_places *places, uint64_t sampler, struct py_place *place, uint64_t code, uint64_t generator)
{
	bool is_there = place->ip && (code == place->code || generator == place->code);
	if (!place->is_recalled) {
		add_holder(place, code);
		py_places_remember(places, sampler, place);
		return is_there || !place->ip;
	}
	const struct py_place *known = find(places, sampler);
	if (!is_there && !has_holder(place, code))
		return false;
	if (known)
		*place = *known;
	return true;
}
