#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/export.h"
#include "src/export/json/json.h"
#include "tests/support/machine.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

static struct fixture fixture;
static struct buffer out;

static void setup(void)
{
	fixture_init(&fixture);
	machine_forget(&fixture.model.system);
	out = (struct buffer)BUFFER_INIT;
}

static void teardown(void)
{
	machine_release(&fixture.model);
	buffer_release(&out);
	fixture_release(&fixture);
}

static const char *object(void)
{
	buffer_clear(&out);
	export_json(&out, &fixture.model, &fixture.alerts, -1, INT64_C(1763632140000000000));
	return out.data;
}

static void assert_holds(const char *expressions)
{
	char command[4096];
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	fputs(object(), python);
	ck_assert_msg(pclose(python) == 0, "%.3000s", out.data);
}

START_TEST(the_machine_and_the_cgroup_are_exported)
{
	machine_fill(&fixture.model);
	assert_holds(
		"'o[\"system\"][\"cpu\"] == {\"count\": 4, \"busy_ratio\": 0.92, \"io_wait_ratio\": 0.03, \"stolen_ratio\": 0, "
		"\"running\": 5, \"blocked\": 1, \"load\": 2.31}' "
		"'o[\"system\"][\"pressure\"] == {\"cpu_ratio\": 0.12, \"memory_ratio\": 0.004, \"io_ratio\": 0.08}' "
		"'o[\"system\"][\"memory\"][\"used_ratio\"] == 0.409 and o[\"system\"][\"swap\"][\"used_bytes\"] == 2e8' "
		"'[d[\"name\"] for d in o[\"system\"][\"disks\"]] == [\"sda\", \"nvme0n1\"]' "
		"'o[\"system\"][\"disks\"][1][\"read_latency_s\"] == 0.012 and \"read_latency_s\" not in "
		"o[\"system\"][\"disks\"][0]' "
		"'o[\"system\"][\"networks\"] == [{\"name\": \"eth0\", \"received_bytes_per_s\": 1.25e6, \"sent_bytes_per_s\": "
		"3.1e5}]' "
		"'o[\"system\"][\"cgroup\"][\"throttled_ratio\"] == 0.08 and o[\"system\"][\"cgroup\"][\"memory_limit_bytes\"] "
		"== 4e9' "
		"'\"clock_step_s\" not in o[\"system\"]'");
}
END_TEST

START_TEST(unknown_values_have_no_key)
{
	assert_holds("'\"system\" not in o'");
	fixture.model.system.now[METRIC_SYSTEM_CPUS] = 4;
	assert_holds("'o[\"system\"] == {\"cpu\": {\"count\": 4}, \"disks\": [], \"networks\": []}'");
}
END_TEST

START_TEST(a_set_clock_and_a_suspend_are_exported)
{
	fixture.model.system.now[METRIC_SYSTEM_CPUS] = 4;
	fixture.model.system.clock_step_s = -3.5;
	fixture.model.system.suspend_s = 60;
	assert_holds("'o[\"system\"][\"clock_step_s\"] == -3.5 and o[\"system\"][\"suspend_s\"] == 60'");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_system");
	TCase *tests = tcase_create("json_system");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_machine_and_the_cgroup_are_exported);
	tcase_add_test(tests, unknown_values_have_no_key);
	tcase_add_test(tests, a_set_clock_and_a_suspend_are_exported);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
