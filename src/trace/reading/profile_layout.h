/* profile_layout.h: the layouts of a file's events, learnt while they are read.
 *
 * A profiler writes the same bytes between two values again and again: `, "cat": "cpu_op"` follows `"ph": "X"`. What
 * stands between two values is a node, its successors are its children, so that one comparison recognises a key. */
#ifndef PMTOP_TRACE_PROFILE_LAYOUT_H
#define PMTOP_TRACE_PROFILE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LAYOUT_TEXT_SIZE = 32, LAYOUT_NODES_MAX = 1024, LAYOUT_CHILDREN_MAX = 12 };

enum profile_step {
	STEP_OPEN,     /* the event's '{' */
	STEP_VALUE,    /* to a value */
	STEP_ARGS,     /* into the object "args" */
	STEP_ARGS_END, /* behind its '}' */
	STEP_END       /* behind the event's '}' */
};

struct profile_layout_node {
	char text[LAYOUT_TEXT_SIZE]; /* from behind the value before */
	uint32_t mask;               /* a bit for each byte of the text */
	uint8_t length;
	uint8_t step;         /* enum profile_step */
	uint8_t field;        /* enum profile_field, of a value */
	uint16_t first, next; /* child, sibling: indexes; 0 = none */
};

struct profile_layout {
	struct profile_layout_node nodes[LAYOUT_NODES_MAX]; /* [0]: STEP_OPEN */
	uint32_t count;
};

static inline bool profile_layout_is_at(const struct profile_layout_node *node, const char *at)
{
#ifdef __SSE2__
	const __m128i *text = (const __m128i *)(const void *)node->text, *bytes = (const __m128i *)(const void *)at;
	unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text), _mm_loadu_si128(bytes))),
			 high = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text + 1), _mm_loadu_si128(bytes + 1)));
	return ((low | high << 16) & node->mask) == node->mask;
#else
	return memcmp(node->text, at, node->length) == 0;
#endif
}

/* The child of `node` whose text stands at `at`; 0 = none. At least LAYOUT_TEXT_SIZE bytes must be readable. */
static inline uint32_t profile_layout_find(const struct profile_layout *layout, uint32_t node, const char *at)
{
	uint32_t child = layout->nodes[node].first;
	while (child && !profile_layout_is_at(&layout->nodes[child], at))
		child = layout->nodes[child].next;
	return child;
}

/* Adds a child. Returns it, or 0: the text is too long, or there are too many. */
uint32_t profile_layout_learn(struct profile_layout *layout, uint32_t node, const char *text, size_t length,
	enum profile_step step, unsigned field);

#endif
