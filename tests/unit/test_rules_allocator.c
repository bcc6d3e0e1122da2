/* In the real model: the peak of the GPU's allocator rises from one step to the next. */
#include <check.h>
#include <math.h>

#include "src/rules/alerts.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_book.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

enum { PEAK = STORY_NAME_COUNT };

static struct script script;
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;
static double at_s;

static void setup(void)
{
	book = rule_book_new();
	settings_default(&settings);
	settings.rules = book;
	script_open(&script, NULL);
	struct record *name = script_add(&script, RECORD_NAME, 0);
	name->name.id = PEAK;
	name->name.text = "cuda.peak_bytes";
	at_s = 0;
}

static void teardown(void)
{
	alerts_release(&alerts);
	script_close(&script);
	rule_book_free(book);
}

/* A step a second. Returns the seconds in which the warning was raised. */
static unsigned go_on(unsigned steps, double peak_bytes)
{
	unsigned raised = 0;
	for (unsigned i = 0; i < steps; i++, at_s += 1) {
		script_batch_begin(&script, 0, at_s, script.batches);
		script_batch_end(&script, 0, at_s + 0.9, at_s, NAN);
		struct record *gauge = script_add(&script, RECORD_GAUGE, at_s + 0.9);
		gauge->gauge.name = PEAK;
		gauge->gauge.value = peak_bytes;
		script_apply(&script, at_s + 1);
		alerts_update(&alerts, script.model, &settings);
		raised += alerts_find_raised(&alerts, "gpu_memory_spike") != NULL;
	}
	return raised;
}

START_TEST(a_step_that_needs_more_memory_than_all_before_is_warned_of)
{
	ck_assert_uint_eq(go_on(50, 1e9) + go_on(150, 10e9), 0); /* the run's own begin is no spike */
	ck_assert_uint_eq(go_on(150, 10.1e9), 0);
	ck_assert_uint_eq(go_on(1, 14e9), 1);
	const struct alert *alert = alerts_find_raised(&alerts, "gpu_memory_spike");
	ck_assert_str_eq(alert->message, "peak of GPU memory rose by 3.90 GB to 14.0 GB within a minute");
	ck_assert_str_eq(
		alert->advice[0], "find its lines: pmtop snapshot PID, or pmtop.torch.memory_history(on_oom=True)");
	unsigned raised = go_on(200, 14e9);
	ck_assert_msg(raised > 55 && raised < 80, "raised for %u s", raised);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules of the allocator");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_step_that_needs_more_memory_than_all_before_is_warned_of);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
