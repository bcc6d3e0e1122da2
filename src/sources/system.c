#include "src/sources/source.h"

static enum status system_open(struct target *target, void **state, struct reason *why_not)
{
	(void)why_not;
	*state = target;
	return STATUS_OK;
}

static enum status system_read(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	(void)now_ns;
	(void)out;
	return STATUS_END;
}

static void system_close(void *state)
{
	(void)state;
}

const struct source system_source = {
	.name = "system",
	.period_ns = SOURCE_SLOW_NS,
	.open = system_open,
	.read = system_read,
	.close = system_close,
};
