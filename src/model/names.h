/* names.h: a run's names, by id. Ids beyond NAMES_MAX, and texts beyond NAME_LENGTH_MAX bytes, are left out or
 * cut. */
#ifndef PMTOP_MODEL_NAMES_H
#define PMTOP_MODEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MAX = 4096, NAME_LENGTH_MAX = 255, NAME_BEYOND = NAMES_MAX + 1 };

/* The id of a thing that has to have a name: what is none becomes NAME_BEYOND, which has no text. */
static inline uint32_t name_of_thing(uint32_t id) { return id == 0 || id > NAMES_MAX ? NAME_BEYOND : id; }

/* The same where 0 stands for nothing: a parent. */
static inline uint32_t name_or_none(uint32_t id) { return id > NAMES_MAX ? NAME_BEYOND : id; }

struct names {
	size_t room;
	char **texts; /* by id; NULL = not known */
};

void names_release(struct names *names);
void names_set(struct names *names, uint32_t id, const char *text);
const char *names_text(const struct names *names, uint32_t id);   /* NULL: not known */
uint32_t names_find(const struct names *names, const char *text); /* 0: not there */

/* A copy of at most `most` bytes that cuts no UTF-8 sequence; NULL when out of memory. */
char *copy_text(const char *text, size_t max);
/* The same into an array of `size` bytes. */
void put_text(char *out, size_t size, const char *text);

#endif
