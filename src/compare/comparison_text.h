/* comparison_text.h: a comparison of runs as text. */
#ifndef PMTOP_COMPARE_COMPARISON_TEXT_H
#define PMTOP_COMPARE_COMPARISON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct comparison;

/* "B is slower: a step takes 1.17× as long (95 %: 1.16–1.19); data has +31 ms of +35 ms" */
void comparison_sentence(const struct comparison *comparison, char *out, size_t size);
/* `width` in cells, at least 80. */
void comparison_as_text(struct buffer *out, const struct comparison *comparison, int width, bool has_color);

#endif
