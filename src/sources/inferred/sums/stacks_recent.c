#include "src/sources/inferred/sums/stacks_recent.h"

/* A node belongs to one process, so an entry never mixes processes. */
void stacks_recent_add(struct stacks_recent *recent, uint32_t node, int64_t now_ns)
{
	size_t last = recent->count - 1;
	if (node == 0)
		return;
	if (recent->count > 0 && recent->list[last].node == node) {
		recent->list[last].count++;
		recent->list[last].end_ns = now_ns;
		return;
	}
	if (recent->count == STACKS_RECENT_MAX)
		return;
	recent->list[recent->count].node = node;
	recent->list[recent->count].count = 1;
	recent->list[recent->count].begin_ns = recent->list[recent->count].end_ns = now_ns;
	recent->count++;
}

void stacks_recent_emit(struct stacks_recent *recent, struct sample_set *out)
{
	for (size_t i = 0; i < recent->count; i++) {
		struct record *record = sample_set_add(out, RECORD_CODE_SAMPLES, 0, recent->list[i].end_ns);
		if (!record)
			break;
		record->code_samples.node = recent->list[i].node;
		record->code_samples.count = recent->list[i].count;
		record->code_samples.begin_ns = recent->list[i].begin_ns;
	}
	recent->count = 0;
}
