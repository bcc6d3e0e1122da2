#include "src/trace/reading/profile_layout.h"

uint32_t profile_layout_learn(struct profile_layout *layout, uint32_t node, const char *text, size_t length,
	enum profile_step step, unsigned field)
{
	/* '#' and 0 stand behind the end of a buffer: a text without them never matches there. */
	if (length > LAYOUT_TEXT_SIZE || layout->count == LAYOUT_NODES_MAX || memchr(text, '#', length) ||
		memchr(text, '\0', length))
		return 0;
	uint16_t *link = &layout->nodes[node].first;
	for (unsigned count = 0; *link; link = &layout->nodes[*link].next)
		if (++count == LAYOUT_CHILDREN_MAX)
			return 0;
	layout->count += !layout->count;
	struct profile_layout_node *added = &layout->nodes[layout->count];
	*added = (struct profile_layout_node){ .mask = (uint32_t)((UINT64_C(1) << length) - 1),
		.length = (uint8_t)length,
		.step = (uint8_t)step,
		.field = (uint8_t)field };
	memcpy(added->text, text, length);
	*link = (uint16_t)layout->count;
	return layout->count++;
}
