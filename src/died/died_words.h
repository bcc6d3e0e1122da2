/* died_words.h: why a run ended, in sentences: the cause, the evidence, what to try; and as JSON. */
#ifndef PMTOP_DIED_DIED_WORDS_H
#define PMTOP_DIED_DIED_WORDS_H

#include "src/base/buffer.h"
#include "src/died/died.h"

enum { DIED_WORDS_SIZE = 480 };

/* In JSON: "oom_kill". */
const char *died_name(const struct died_evidence *evidence);
/* In a header: "oom kill", "exit status 3"; empty: it finished, or the cause is unknown. */
void died_brief(const struct died_evidence *evidence, char *out, size_t size);
/* "train.py (4711) was killed by the kernel's out-of-memory killer" */
const char *died_sentence(const struct died_evidence *evidence, char out[DIED_WORDS_SIZE]);
void died_print(const struct died_evidence *evidence, struct buffer *out);
void died_print_json(const struct died_evidence *evidence, struct buffer *out);

#endif
