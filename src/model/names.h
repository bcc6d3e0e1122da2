/* names.h: a run's names by id. Ids above NAMES_MAX are ignored, texts longer than NAME_LENGTH_MAX bytes are cut. */
#ifndef PMTOP_MODEL_NAMES_H
#define PMTOP_MODEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MAX = 4096, NAME_LENGTH_MAX = 255, NAME_BEYOND = NAMES_MAX + 1 };

/* The id of something that must have a name: invalid ids become NAME_BEYOND, which has no text. */
static inline uint32_t name_of_thing(uint32_t id) { return id == 0 || id > NAMES_MAX ? NAME_BEYOND : id; }

/* The same for a parent, where 0 means none. */
static inline uint32_t name_or_none(uint32_t id) { return id > NAMES_MAX ? NAME_BEYOND : id; }

struct names {
	size_t room;
	char **texts; /* by id; NULL = unknown */
};

void names_release(struct names *names);
void names_set(struct names *names, uint32_t id, const char *text);
const char *names_text(const struct names *names, uint32_t id);   /* NULL: unknown */
uint32_t names_find(const struct names *names, const char *text); /* 0: not found */

/* A copy of at most `max` bytes, cut at a character boundary; NULL: out of memory. Free with free(). */
char *copy_text(const char *text, size_t max);
/* The same into an array of `size` bytes. */
void put_text(char *out, size_t size, const char *text);

#endif
