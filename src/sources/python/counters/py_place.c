#include "src/sources/python/counters/py_place.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/python/counters/py_between.h"

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

/* -- the stack -- */

static bool is_named(const struct py_code *code, const char *name)
{
	const char *dot = strrchr(code->function, '.');
	return strcmp(dot ? dot + 1 : code->function, name) == 0;
}

bool py_place_is_named_next(const struct py_code *code) { return is_named(code, "__next__"); }

/* The first frame from there on that is no part of an iterator around the loader. */
static size_t skip_between(const struct py_sample *sample, size_t at)
{
	while (at < sample->count &&
		(py_is_between(sample->sites[at].known->code.file) || py_place_is_named_next(&sample->sites[at].known->code)))
		at++;
	return at;
}

/* The code that runs within that place, if that is a library's function, which has the loop (ignite's Engine.run): not
 * what next() or iter() calls. 0: it is not. */
static uint64_t callee_within(const struct py_sample *sample, size_t at)
{
	const struct py_code *code = at > 0 ? &sample->sites[at - 1].known->code : NULL;
	bool is_library = code && py_is_between(code->file) && !is_named(code, "__next__") && !is_named(code, "__iter__");
	return is_library ? sample->sites[at - 1].code : 0;
}

static void set_location(const struct py_site *site, int line, struct py_place *out)
{
	snprintf(out->function, sizeof out->function, "%s", site->known->code.function);
	snprintf(out->file, sizeof out->file, "%s", site->known->code.file);
	out->line = line;
	out->code = site->code;
}

static void set_caller(const struct py_sample *sample, size_t at, struct py_place *out)
{
	at = skip_between(sample, at + 1);
	out->caller_code = at < sample->count ? sample->sites[at].code : 0;
	out->caller_ip = at < sample->count ? sample->sites[at].ip : 0;
}

bool py_place_may_hold(const struct py_sample *sample, size_t at)
{
	size_t own = skip_between(sample, at);
	return !py_is_between(sample->sites[at].known->code.file) ||
		(own < sample->count && callee_within(sample, own) != 0);
}

void py_place_note_next(
	struct py_places *places, uint64_t sampler, const struct py_sample *sample, size_t next, struct py_place *place)
{
	size_t at = skip_between(sample, next + 1);
	if (at == sample->count)
		return;
	if (place->is_recalled && place->code != sample->sites[at].code)
		*place = (struct py_place){ .function = "" };
	set_location(&sample->sites[at], sample->sites[at].line, place);
	place->ip = sample->sites[at].ip;
	place->callee = callee_within(sample, at);
	place->is_recalled = false;
	set_caller(sample, at, place);
	py_places_remember(places, sampler, place);
}

/* A library's object iterates, for what called the library: ignite's Engine. */
static void note_library(const struct py_sample *sample, size_t at, struct py_place *place)
{
	uint64_t callee = at < sample->count ? callee_within(sample, at) : 0;
	if (!callee || (!place->is_recalled && *place->file))
		return;
	if (sample->sites[at].code != place->code)
		*place = (struct py_place){ .function = "" };
	set_location(&sample->sites[at], 0, place);
	set_caller(sample, at, place);
	place->callee = callee;
	place->is_stacked = true;
	place->is_recalled = false;
}

void py_place_confirm(const struct py_sample *sample, struct py_place *place)
{
	size_t at = 0;
	if (!place->is_recalled || !place->callee)
		return;
	while (at < sample->count && sample->sites[at].code != place->callee)
		at++;
	note_library(sample, skip_between(sample, at), place);
}

void py_place_note_found(struct py_places *places, uint64_t sampler, const struct py_found *found,
	const struct py_sample *sample, size_t at, struct py_place *place)
{
	const struct py_site *site = &sample->sites[at];
	if (py_is_between(site->known->code.file)) {
		note_library(sample, skip_between(sample, at), place);
		return;
	}
	bool is_loops = !found->is_of_loader && !py_place_is_named_next(&site->known->code);
	bool is_there = !is_loops || py_places_holds(places, sampler, place, site->code, found->generator);
	if (!is_there && place->is_recalled && !found->is_of_variable)
		*place = (struct py_place){ .function = "" };
	if (is_loops && !*place->file && (is_there || !place->ip)) {
		set_location(site, 0, place);
		set_caller(sample, at, place);
		place->generator = found->generator;
		place->generators = found->generators;
	}
	place->is_stacked |= !found->is_of_variable || found->is_of_loader;
	place->is_held |= found->is_of_variable && !found->is_of_loader;
}
