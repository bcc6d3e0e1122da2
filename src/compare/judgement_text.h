/* judgement_text.h: the result of `pmtop check` as text. */
#ifndef PMTOP_COMPARE_JUDGEMENT_TEXT_H
#define PMTOP_COMPARE_JUDGEMENT_TEXT_H

#include <stdbool.h>

struct buffer;
struct judgement;

/* Prints one line for each warning and figure, so that logs can be searched; the last line is the result. */
void judgement_as_text(struct buffer *out, const struct judgement *judgement, bool has_color);
void judgement_as_json(struct buffer *out, const struct judgement *judgement);

/* Writes JUnit XML for GitHub, GitLab and Jenkins: a test case for each figure; an inconclusive one is an error. */
void judgement_as_junit(struct buffer *out, const struct judgement *judgement, double elapsed_s);

#endif
