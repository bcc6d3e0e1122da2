#include "tests/support/fake_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "src/base/clock.h"

enum { FIRST_FD = 100000 };

/* Some of libpfm4's names. */
static const struct {
	const char *name;
	struct perf_code code;
} names[] = {
	{ "cycles", { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES } },
	{ "instructions", { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS } },
	{ "UOPS:ANY", { .type = PERF_TYPE_RAW, .config = 0x107 } },
	{ "faults", { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN } },
	{ "FP_ARITH_INST_RETIRED:SCALAR", { .type = PERF_TYPE_RAW, .config = 0x3c7 } },
	{ "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", { .type = PERF_TYPE_RAW, .config = 0x4c7 } },
	{ "FP_ARITH_INST_RETIRED:4_FLOPS", { .type = PERF_TYPE_RAW, .config = 0x18c7 } },
	{ "FP_ARITH_INST_RETIRED:8_FLOPS", { .type = PERF_TYPE_RAW, .config = 0x60c7 } },
	{ "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", { .type = PERF_TYPE_RAW, .config = 0x80c7 } },
};

static struct fake_counter *counter_of(struct fake_perf *perf, int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + FAKE_PERF_MAX && perf->counters[fd - FIRST_FD].is_open
		? &perf->counters[fd - FIRST_FD]
		: NULL;
}

static int refusal(const struct fake_perf *perf, const struct perf_code *code, int tid)
{
	for (size_t i = 0; i < FAKE_PERF_REFUSALS && perf->refusals[i].error; i++) {
		bool fits = (perf->refusals[i].type == FAKE_PERF_ANY || perf->refusals[i].type == code->type) &&
			(perf->refusals[i].config == FAKE_PERF_ANY || perf->refusals[i].config == (int64_t)code->config) &&
			(perf->refusals[i].tid == FAKE_PERF_ANY || perf->refusals[i].tid == tid);
		if (fits)
			return perf->refusals[i].error;
	}
	return perf->is_user_only && !code->no_kernel ? EACCES : perf->open >= perf->open_max ? EMFILE : 0;
}

static int open_counter(void *context, const struct perf_code *code, pid_t tid, int cpu, int group)
{
	struct fake_perf *perf = context;
	struct fake_counter *leader = group >= 0 ? counter_of(perf, group) : NULL;
	int error = refusal(perf, code, tid);
	if (error)
		return -error;
	if (group >= 0 &&
		(!leader || leader->tid != tid || (code->type != PERF_TYPE_SOFTWARE && leader->members >= perf->group_max)))
		return -EINVAL;
	for (int tried = 0; tried < FAKE_PERF_MAX; tried++) {
		int i = perf->next++ % FAKE_PERF_MAX;
		if (perf->counters[i].is_open)
			continue;
		perf->counters[i] = (struct fake_counter){
			.is_open = true, .code = *code, .tid = tid, .cpu = cpu, .leader = group >= 0 ? group : FIRST_FD + i
		};
		perf->counters[perf->counters[i].leader - FIRST_FD].members++;
		perf->open++;
		perf->opened++;
		return FIRST_FD + i;
	}
	return -EMFILE;
}

static ssize_t read_counter(void *context, int fd, void *out, size_t size)
{
	struct fake_perf *perf = context;
	const struct fake_counter *leader = counter_of(perf, fd);
	struct perf_reading reading = { 0 };
	if (!leader || leader->leader != fd)
		return -EBADF;
	for (int at = fd - FIRST_FD, tried = 0; tried < FAKE_PERF_MAX && reading.count < (uint64_t)leader->members;
		 tried++, at = (at + 1) % FAKE_PERF_MAX)
		if (perf->counters[at].is_open && perf->counters[at].leader == fd && reading.count < PERF_GROUP_MAX)
			reading.values[reading.count++] = (uint64_t)perf->counters[at].value;
	reading.enabled_ns = leader->enabled_ns;
	reading.running_ns = leader->running_ns;
	if (size > sizeof reading)
		size = sizeof reading;
	memcpy(out, &reading, size);
	return perf->reads_short ? 20 : (ssize_t)size;
}

static void close_counter(void *context, int fd)
{
	struct fake_perf *perf = context;
	struct fake_counter *counter = counter_of(perf, fd);
	if (!counter)
		return;
	counter->is_open = false;
	perf->open--;
}

static enum status encode(void *context, const char *name, struct perf_code *out, struct reason *why_not)
{
	struct fake_perf *perf = context;
	perf->encoded++;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		*out = names[i].code;
		return STATUS_OK;
	}
	return reason_set(why_not, STATUS_NOT_FOUND, "look it up", "no event is named %s", name);
}

void fake_perf_init(struct fake_perf *perf)
{
	memset(perf, 0, sizeof *perf);
	perf->opener = (struct perf_opener){ open_counter, read_counter, close_counter, encode, perf };
	perf->open_max = FAKE_PERF_MAX;
	perf->group_max = 4;
	perf->share = 1;
}

void fake_perf_refuse(struct fake_perf *perf, int64_t type, int64_t config, int64_t tid, int error)
{
	size_t at = 0;
	while (perf->refusals[at].error)
		at++;
	perf->refusals[at].type = type;
	perf->refusals[at].config = config;
	perf->refusals[at].tid = tid;
	perf->refusals[at].error = error;
}

double fake_perf_rate(const struct perf_code *code)
{
	return code->type == PERF_TYPE_SOFTWARE && code->config == PERF_COUNT_SW_TASK_CLOCK
		? 1
		: (double)(code->config % 8 + 1);
}

void fake_perf_run(struct fake_perf *perf, int tid, double seconds)
{
	for (int i = 0; i < FAKE_PERF_MAX; i++) {
		struct fake_counter *counter = &perf->counters[i];
		double share = counter->code.type == PERF_TYPE_SOFTWARE ? 1 : perf->share;
		if (!counter->is_open || counter->tid != tid)
			continue;
		counter->enabled_ns += (uint64_t)(seconds * (double)NS_PER_S);
		counter->running_ns += (uint64_t)(seconds * share * (double)NS_PER_S);
		counter->value += seconds * share * (double)NS_PER_S * fake_perf_rate(&counter->code);
	}
}
