/* ABI 1.0 is frozen: every later pmtop reads what its header publishes, and a stored region of it.
 *
 * tests/fixtures/abi-1.0 holds the header as it was released and a region file that it wrote; neither ever changes. A
 * later ABI gets a folder and a test of its own. `test_region_abi --make FILE` is how the region file was made. */
#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>
#include <math.h>
#include <sys/wait.h>

#include "src/region/tables.h"
#include "tests/fixtures/abi-1.0/pmtop.h"
#include "tests/support/regions.h"

#define FIXTURE "tests/fixtures/abi-1.0/region"

enum { EPOCHS = 3, BATCHES = 30, EVENTS_MAX = 4096 };

static struct region_event events[EVENTS_MAX];

static void spend(uint64_t ns)
{
	uint64_t until = pmtop_now() + ns;
	while (pmtop_now() < until)
		;
}

static void publish_batch(struct pmtop *pm, uint32_t epoch, uint64_t i)
{
	pmtop_batch_begin(pm, i);
	PMTOP_SPAN(pm, "forward")
	{
		PMTOP_SPAN_NOTING(pm, "attention", PMTOP_NOTE_CPU | PMTOP_NOTE_MEMORY) spend(1000);
		uint64_t now = pmtop_now();
		pmtop_span_past(pm, "gc", now - 500, now);
	}
	if (i % 2 == 0)
		pmtop_batch_kind(pm, "accumulate");
	pmtop_batch_samples(pm, i == BATCHES - 1 ? 5 : 32);
	if (i == BATCHES - 1)
		spend(200000);
	pmtop_batch_end(pm, 1.0 / (double)(epoch * BATCHES + i + 1));
}

static struct pmtop *publish(void)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.lanes = 2;
	options.slots = 2048;
	options.totals = 5;
	options.names = 64;
	options.history = 64;
	options.epochs = 2;
	struct pmtop *pm = pmtop_open("frozen", &options);
	pmtop_plan(pm, 10, BATCHES, 32);
	pmtop_meta(pm, "RANK", "1");
	pmtop_meta(pm, "WORLD_SIZE", "2");
	pmtop_mode(pm, "train");
	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		pmtop_epoch_begin(pm, epoch + 100);
		for (uint64_t i = 0; i < BATCHES; i++)
			publish_batch(pm, epoch, i);
		if (epoch + 1 < EPOCHS)
			pmtop_epoch_end(pm);
	}
	pmtop_batch_figure(pm, 3, "gpu.forward_s", 0.125);
	pmtop_gauge(pm, "rate", 0.5);
	pmtop_gauge(pm, "rate", 0.25);
	pmtop_count(pm, "tokens", 41);
	pmtop_count(pm, "tokens", 1);
	pmtop_mark(pm, "short");
	pmtop_mark(pm, "a mark that is longer than the forty bytes of a record");
	pmtop_mode(pm, "validation");
	pmtop_batch_begin(pm, 7);
	pmtop_span_begin(pm, "validate");
	pmtop_span_begin(pm, "inner");
	pmtop_span_end(pm);
	return pm;
}

/* -- what must be read -- */

static void check_state(struct region *region)
{
	struct region_identity identity;
	struct region_state state = regions_state(region);
	ck_assert_int_eq(region_identify(region, &identity), REGION_OK);
	ck_assert_uint_eq(identity.abi_major, 1);
	ck_assert_uint_eq(identity.abi_minor, 0);
	ck_assert_str_eq(identity.run_name, "frozen");
	ck_assert_int_gt(identity.pid, 0);
	ck_assert_int_gt(identity.start_ns, 0);
	ck_assert_uint_eq(state.epochs_planned, 10);
	ck_assert_uint_eq(state.batches_per_epoch, BATCHES);
	ck_assert_uint_eq(state.samples_per_batch, 32);
	ck_assert(state.in_epoch && state.in_batch && !state.is_ended);
	ck_assert_uint_eq(state.epoch_index, 102);
	ck_assert_uint_eq(state.epochs_begun, EPOCHS);
	ck_assert_uint_eq(state.batch_index, 7);
	ck_assert_uint_eq(state.batches_in_epoch, BATCHES);
	ck_assert_double_eq(state.loss, 1.0 / (EPOCHS * BATCHES));
	ck_assert_uint_eq(state.mode, regions_name(region, "validation"));
	ck_assert_uint_eq(state.refused, 0);
}

static void check_values(struct region *region)
{
	static const struct {
		const char *key, *value;
	} metas[] = { { "RANK", "1" }, { "WORLD_SIZE", "2" } };
	const char *key, *value;
	size_t key_length, value_length;
	uint32_t name;
	double number;
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(region_read_meta(region, i, &key, &key_length, &value, &value_length), REGION_OK);
		ck_assert(key_length == strlen(metas[i].key) && !memcmp(key, metas[i].key, key_length));
		ck_assert(value_length == strlen(metas[i].value) && !memcmp(value, metas[i].value, value_length));
	}
	ck_assert_int_eq(region_read_gauge(region, 0, &name, &number), REGION_OK);
	ck_assert(name == regions_name(region, "rate") && name);
	ck_assert_double_eq(number, 0.25);
	ck_assert_int_eq(region_read_counter(region, 0, &name, &number), REGION_OK);
	ck_assert(name == regions_name(region, "tokens") && name);
	ck_assert_double_eq(number, 42);
}

/* The last span found no row left. */
static void check_totals(struct region *region)
{
	static const struct {
		uint32_t kind;
		const char *name;
		uint64_t count;
		bool has_histogram;
	} rows[] = {
		{ PMTOP_TOTAL_BATCH, NULL, EPOCHS * BATCHES, true },
		{ PMTOP_TOTAL_STEP, NULL, EPOCHS * BATCHES, true },
		{ PMTOP_TOTAL_SPAN, "forward", EPOCHS * BATCHES, true },
		{ PMTOP_TOTAL_SPAN, "attention", EPOCHS * BATCHES, true },
		{ PMTOP_TOTAL_SPAN, "gc", EPOCHS * BATCHES, true },
		{ PMTOP_TOTAL_SPAN, "inner", 1, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct region_total total = regions_total(region, rows[i].kind, rows[i].name);
		ck_assert_uint_eq(total.count, rows[i].count);
		ck_assert_int_eq(total.has_histogram, rows[i].has_histogram);
	}
	struct region_total gc = regions_total(region, PMTOP_TOTAL_SPAN, "gc"),
						attention = regions_total(region, PMTOP_TOTAL_SPAN, "attention");
	ck_assert_double_eq_tol(gc.total_s, EPOCHS * BATCHES * 500e-9, 1e-12);
	ck_assert_double_eq_tol(gc.max_s, 500e-9, 1e-12);
	ck_assert_uint_eq(gc.histogram[0], EPOCHS * BATCHES);
	ck_assert_double_ge(attention.min_s, 1e-6);
	ck_assert_double_gt(attention.cpu_s, 0);
	ck_assert(!isnan(attention.memory_bytes));
}

static void check_history(struct region *region)
{
	struct region_bin bins[64];
	struct region_epoch epochs[8];
	uint64_t dropped, upto, next = 0;
	size_t count;
	ck_assert_int_eq(region_read_history(region, bins, 64, &count), REGION_OK);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(bins[i].first, next);
		next += bins[i].count;
	}
	ck_assert_uint_eq(next, EPOCHS * BATCHES);
	ck_assert_int_eq(region_read_epochs(region, epochs, 8, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(dropped, 1);
	ck_assert_uint_eq(epochs[0].index, 101);
	ck_assert_int_gt(epochs[0].end_ns, epochs[0].begin_ns);
	ck_assert_int_eq(epochs[1].end_ns, 0);
	ck_assert_uint_eq(epochs[1].batches, BATCHES);
	ck_assert_uint_eq(epochs[1].mode, 0);
}

static void check_events(struct region *region)
{
	static const struct {
		uint32_t type;
		uint64_t count;
	} kinds[] = {
		{ PMTOP_EVENT_EPOCH_BEGIN, EPOCHS },
		{ PMTOP_EVENT_EPOCH_END, EPOCHS - 1 },
		{ PMTOP_EVENT_BATCH_BEGIN, EPOCHS * BATCHES + 1 },
		{ PMTOP_EVENT_BATCH_END, EPOCHS * BATCHES },
		{ PMTOP_EVENT_SPAN, 3 * EPOCHS * BATCHES + 1 },
		{ PMTOP_EVENT_GAUGE, 2 },
		{ PMTOP_EVENT_MARK, 2 },
		{ PMTOP_EVENT_MODE, 2 },
		{ PMTOP_EVENT_FIGURE, 1 },
	};
	uint64_t seen[32] = { 0 };
	size_t count = regions_events(region, 0, events, EVENTS_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct region_event *event = &events[i];
		ck_assert_uint_lt(event->type, 32);
		seen[event->type]++;
		if (event->type == PMTOP_EVENT_BATCH_END)
			ck_assert_uint_eq(event->name, event->payload[0] % 2 ? 0 : regions_name(region, "accumulate"));
		if (event->type == PMTOP_EVENT_EVIDENCE && events[i - 1].payload[0] == BATCHES - 1)
			ck_assert_uint_eq(event->payload[4] >> 32, 5);
		if (event->type == PMTOP_EVENT_FIGURE)
			ck_assert(event->payload[1] == 3 && regions_value(event->payload[0]) == 0.125);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		ck_assert_uint_eq(seen[kinds[i].type], kinds[i].count);
	ck_assert_uint_ge(seen[PMTOP_EVENT_EVIDENCE], EPOCHS - 1);
	struct region_open_span open[4];
	ck_assert_int_eq(region_read_open_spans(region, 0, open, 4, &count), REGION_OK);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(open[0].name, regions_name(region, "validate"));
}

static void check_all(struct region *region)
{
	check_state(region);
	check_values(region);
	check_totals(region);
	check_history(region);
	check_events(region);
	region_close(region);
}

START_TEST(what_the_frozen_header_publishes_is_read)
{
	struct pmtop *pm = publish();
	ck_assert_ptr_nonnull(pm);
	check_all(regions_open(pm->path));
	pmtop_close(pm);
}
END_TEST

START_TEST(a_region_stored_by_the_frozen_header_is_read)
{
	struct region *region = regions_open(FIXTURE);
	struct region_identity identity;
	ck_assert_int_eq(region_identify(region, &identity), REGION_OK);
	ck_assert(!identity.is_live);
	check_all(region);
}
END_TEST

static int make(const char *to)
{
	struct pmtop *pm = publish();
	FILE *file = fopen(to, "wb");
	return !pm || !file || fwrite(pm->base, pm->size, 1, file) != 1 || fclose(file) ? 1 : 0;
}

int main(int count, char **arguments)
{
	const TTest *const tests[] = { what_the_frozen_header_publishes_is_read,
		a_region_stored_by_the_frozen_header_is_read };
	if (count == 3 && !strcmp(arguments[1], "--make"))
		return make(arguments[2]);
	return regions_run("region: ABI 1.0", NULL, NULL, tests, sizeof tests / sizeof tests[0]);
}
