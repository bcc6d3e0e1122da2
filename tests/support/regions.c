#define PMTOP_LAYOUT
#include "src/region/events.h"

#include <glob.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/region/pmtop.h"
#include "src/region/tables.h"
#include "tests/support/regions.h"
#include "tests/support/suite.h"

static struct region_location at(const char *path)
{
	struct region_location location = { .is_memfd = false };
	snprintf(location.path, sizeof location.path, "%s", path);
	return location;
}

struct region *regions_open(const char *path)
{
	struct region_location location = at(path);
	struct region *region = NULL;
	char message[REGION_MESSAGE_SIZE] = "";
	enum region_status status = region_open(&location, geteuid(), &region, message);
	ck_assert_msg(status == REGION_OK, "%s: %s", path, message);
	return region;
}

enum region_status regions_try(const char *path, uid_t owner, char message[REGION_MESSAGE_SIZE])
{
	struct region_location location = at(path);
	struct region *region = NULL;
	message[0] = '\0';
	enum region_status status = region_open(&location, owner, &region, message);
	ck_assert((status == REGION_OK) == (region != NULL));
	region_close(region);
	return status;
}

uint32_t regions_name(struct region *region, const char *text)
{
	const char *name;
	size_t length;
	for (uint32_t id = 1; id <= region_name_count(region); id++)
		if (region_read_name(region, id, &name, &length) == REGION_OK && length == strlen(text) &&
			!memcmp(name, text, length))
			return id;
	return 0;
}

static void add(struct region_total *sum, const struct region_total *total)
{
	sum->count += total->count;
	if (!total->has_histogram)
		return;
	sum->has_histogram = true;
	sum->upto = total->upto;
	sum->depth = total->depth;
	sum->total_s += total->total_s;
	sum->self_s += total->self_s;
	sum->squares_s2 += total->squares_s2;
	sum->last_s = total->last_s;
	sum->min_s = fmin(sum->min_s, total->min_s);
	sum->max_s = fmax(sum->max_s, total->max_s);
	sum->cpu_s = isnan(sum->cpu_s) ? total->cpu_s : isnan(total->cpu_s) ? sum->cpu_s : sum->cpu_s + total->cpu_s;
	sum->memory_bytes = isnan(sum->memory_bytes) ? total->memory_bytes : sum->memory_bytes;
	for (size_t i = 0; i < sizeof sum->histogram / sizeof sum->histogram[0]; i++)
		sum->histogram[i] += total->histogram[i];
}

struct region_total regions_total(struct region *region, uint32_t kind, const char *name)
{
	struct region_total sum = {
		.kind = kind, .min_s = INFINITY, .max_s = -INFINITY, .cpu_s = NAN, .memory_bytes = NAN
	};
	uint32_t id = name ? regions_name(region, name) : 0;
	for (uint32_t i = 0; i < region_total_count(region); i++) {
		struct region_total total;
		enum region_status status;
		while ((status = region_read_total(region, i, &total)) == REGION_BUSY)
			sched_yield();
		ck_assert_int_eq(status, REGION_OK);
		if (total.kind == kind && (!name || total.name == id))
			add(&sum, &total);
	}
	return sum;
}

size_t regions_events(struct region *region, uint32_t lane, struct region_event *out, size_t max)
{
	size_t count;
	ck_assert_int_eq(region_read_events(region, lane, out, max, &count), REGION_OK);
	return count;
}

struct region_lane_status regions_lane(struct region *region, uint32_t lane)
{
	struct region_lane_status status;
	ck_assert_int_eq(region_lane_status(region, lane, &status), REGION_OK);
	return status;
}

struct region_state regions_state(struct region *region)
{
	struct region_state state;
	ck_assert_int_eq(region_read_state(region, &state), REGION_OK);
	return state;
}

enum region_status regions_read_everything(struct region *of)
{
	static struct region_event events[2048];
	static struct region_total total;
	static struct region_bin bins[4096];
	static struct region_epoch epochs[1024];
	struct region_state state;
	struct region_lane_status lane;
	struct region_open_span open[PMTOP_OPEN_SPANS];
	const char *text, *value;
	size_t count, length, value_length;
	uint64_t upto, dropped;
	uint32_t id;
	double number;
	enum region_status status = region_read_state(of, &state);
	for (uint32_t i = 0; i < region_total_count(of) && i < 300; i++)
		region_read_total(of, i, &total);
	for (uint32_t i = 0; i <= region_name_count(of) && i < 2000; i++)
		region_read_name(of, i, &text, &length);
	for (uint32_t i = 0; i < 3; i++) {
		region_read_meta(of, i, &text, &length, &value, &value_length);
		region_read_gauge(of, i, &id, &number);
		region_read_counter(of, i, &id, &number);
	}
	region_read_history(of, bins, 4096, &count);
	region_read_epochs(of, epochs, 1024, &count, &dropped, &upto);
	for (uint32_t i = 0; i < region_lane_count(of); i++) {
		region_lane_status(of, i, &lane);
		region_read_open_spans(of, i, open, PMTOP_OPEN_SPANS, &count);
		region_read_events(of, i, events, 2048, &count);
	}
	return status;
}

double regions_value(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

bool regions_wait(const volatile uint32_t *word, uint32_t value)
{
	time_t end = time(NULL) + 10;
	while (*word != value) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

bool regions_is_there(void *pid)
{
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/pmtop.*.%d.*", *(pid_t *)pid);
	bool is_there = glob(pattern, 0, NULL, &found) == 0;
	globfree(&found);
	return is_there;
}

void *regions_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

int regions_run(const char *name, SFun setup, SFun teardown, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
