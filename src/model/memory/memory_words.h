/* memory_words.h: the verdict on memory as text. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_WORDS_H
#define PMTOP_MODEL_MEMORY_MEMORY_WORDS_H

#include <stdbool.h>

#include "src/model/memory/verdict.h"

struct memory;

/* NULL where nothing was judged. */
const char *memory_verdict_word(enum memory_verdict verdict);
/* NULL where no kind is known. */
const char *memory_kind_word(enum memory_kind kind);
bool memory_is_growing(const struct memory *memory); /* growing or leak */

/* What the verdict means, and what to do next, one sentence each; never NULL. */
const char *memory_meaning(const struct memory *memory);
const char *memory_next_step(const struct memory *memory);

#endif
