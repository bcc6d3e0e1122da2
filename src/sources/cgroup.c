#include "src/sources/source.h"

static enum status cgroup_open(struct target *target, void **state, struct reason *why_not)
{
	(void)why_not;
	*state = target;
	return STATUS_OK;
}

static enum status cgroup_read(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	(void)now_ns;
	(void)out;
	return STATUS_END;
}

static void cgroup_close(void *state)
{
	(void)state;
}

const struct source cgroup_source = {
	.name = "cgroup",
	.period_ns = SOURCE_SLOW_NS,
	.open = cgroup_open,
	.read = cgroup_read,
	.close = cgroup_close,
};
