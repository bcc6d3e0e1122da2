/* died_words.h: why a run ended, in sentences: the cause, the evidence, what to try; and as JSON. */
#ifndef PMTOP_DIED_DIED_WORDS_H
#define PMTOP_DIED_DIED_WORDS_H

#include "src/base/buffer.h"
#include "src/died/died.h"

enum { DIED_WORDS_SIZE = 480 };

/* "train.py (4711) was killed by the kernel's out-of-memory killer" */
const char *died_sentence(const struct died_evidence *evidence, char out[DIED_WORDS_SIZE]);
void died_print(const struct died_evidence *evidence, struct buffer *out);
void died_print_json(const struct died_evidence *evidence, struct buffer *out);

#endif
