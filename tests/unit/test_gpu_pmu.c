#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/drm/pci_names.h"
#include "src/sources/gpu/intel/intel_pmu.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"

#define CARD "bus/event_source/devices/i915_0000_05_00.0"

static struct fake_proc sys;
static struct intel_pmu pmu;
static struct reason why;
static int opened[4], opened_count, refused_with, asked_cpu;
static uint64_t asked_type, asked_configs;

static int fake_opener(const struct perf_event_attr *attributes, int cpu)
{
	if (refused_with) {
		errno = refused_with;
		return -1;
	}
	asked_cpu = cpu;
	asked_type = attributes->type;
	asked_configs += attributes->config;
	opened[opened_count] = memfd_create("engine", 0);
	return opened[opened_count++];
}

static void setup(void)
{
	fake_proc_init(&sys);
	opened_count = refused_with = 0;
	asked_configs = 0;
	fake_proc_put(&sys, CARD "/type", "42\n");
	fake_proc_put(&sys, CARD "/cpumask", "3\n");
	fake_proc_put(&sys, CARD "/events/rcs0-busy", "config=0x10\n");
	fake_proc_put(&sys, CARD "/events/rcs0-busy.unit", "ns\n");
	fake_proc_put(&sys, CARD "/events/ccs0-busy", "config=0x4000\n");
	fake_proc_put(&sys, CARD "/events/bcs0-busy", "config=many\n");
	fake_proc_put(&sys, CARD "/events/actual-frequency", "config=0x100000\n");
}

static void teardown(void)
{
	intel_pmu_close(&pmu);
	fake_proc_release(&sys);
}

static void count_to(int engine, double busy_s)
{
	uint64_t busy_ns = (uint64_t)(busy_s * 1e9);
	ck_assert_int_eq(pwrite(opened[engine], &busy_ns, sizeof busy_ns, 0), sizeof busy_ns);
}

START_TEST(the_busiest_engine_says_how_busy_the_gpu_is)
{
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:05:00.0", fake_opener, &pmu, &why), STATUS_OK);
	ck_assert_uint_eq(pmu.count, 2);
	ck_assert_uint_eq(asked_type, 42);
	ck_assert_int_eq(asked_cpu, 3);
	ck_assert_uint_eq(asked_configs, 0x4010);
	count_to(0, 10);
	count_to(1, 20);
	ck_assert_double_nan(intel_pmu_read(&pmu, NS_PER_S));
	count_to(0, 10.25);
	count_to(1, 20.75);
	ck_assert_double_eq_tol(intel_pmu_read(&pmu, 2 * NS_PER_S), 0.75, 1e-9);
	/* Too soon for another reading. */
	count_to(1, 30);
	ck_assert_double_eq_tol(intel_pmu_read(&pmu, 2 * NS_PER_S + 1000), 0.75, 1e-9);
	/* A jump and a decrease are ignored. */
	ck_assert_double_eq_tol(intel_pmu_read(&pmu, 3 * NS_PER_S), 0, 1e-9);
	count_to(0, 1);
	count_to(1, 1);
	ck_assert_double_nan(intel_pmu_read(&pmu, 4 * NS_PER_S));
}
END_TEST

START_TEST(a_missing_right_is_reported_with_a_remedy)
{
	refused_with = EACCES;
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:05:00.0", fake_opener, &pmu, &why), STATUS_DENIED);
	ck_assert_ptr_nonnull(strstr(why.text, "CAP_PERFMON"));
	ck_assert_ptr_nonnull(strstr(why.remedy, "perf_event_paranoid"));
	ck_assert_double_nan(intel_pmu_read(&pmu, NS_PER_S));
	refused_with = ENODEV;
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:05:00.0", fake_opener, &pmu, &why), STATUS_IO);
}
END_TEST

START_TEST(a_kernel_that_does_not_count_is_reported)
{
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:09:00.0", fake_opener, &pmu, &why), STATUS_NOT_FOUND);
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:00:02.0", fake_opener, &pmu, &why), STATUS_NOT_FOUND);
	fake_proc_put(&sys, "bus/event_source/devices/i915/type", "7\n");
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:00:02.0", fake_opener, &pmu, &why), STATUS_IO);
	fake_proc_put(&sys, "bus/event_source/devices/i915/events/rcs0-busy", "config=1\n");
	ck_assert_int_eq(intel_pmu_open(sys.root, "0000:00:02.0", fake_opener, &pmu, &why), STATUS_OK);
	ck_assert_uint_eq(asked_type, 7);
}
END_TEST

START_TEST(a_device_is_called_what_the_shop_calls_it)
{
	char path[128], name[32];
	fake_proc_put(&sys, "pci.ids",
		"# a comment\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n\t744c  Navi 31 [Radeon RX 7900 XT/7900 "
		"XTX]\n\t\t1da2 e471  NITRO+\n"
		"8086  Intel Corporation\n\t56a0  DG2 [Arc A770]\n\t9a49  TigerLake-LP GT2\n\t56a1  []\n\t56a2  A name that is "
		"much too long for where it goes\n"
		"8087  Another\n\t744c  Wrong\nC 03  Display controller\n\t00  VGA\n");
	snprintf(path, sizeof path, "%s/pci.ids", sys.root);
	ck_assert(pci_name(path, 0x8086, 0x56a0, name, sizeof name));
	ck_assert_str_eq(name, "Arc A770");
	ck_assert(pci_name(path, 0x8086, 0x9a49, name, sizeof name));
	ck_assert_str_eq(name, "TigerLake-LP GT2");
	ck_assert(pci_name(path, 0x1002, 0x744c, name, sizeof name));
	ck_assert_str_eq(name, "Radeon RX 7900 XT/7900 XTX");
	ck_assert(!pci_name(path, 0x8086, 0x744c, name, sizeof name));
	ck_assert(!pci_name(path, 0x8086, 0x56a2, name, sizeof name));
	ck_assert(!pci_name(path, 0x9999, 0x744c, name, sizeof name));
	ck_assert(!pci_name("/nowhere", 0x8086, 0x56a0, name, sizeof name));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu pmu");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, the_busiest_engine_says_how_busy_the_gpu_is);
	tcase_add_test(all, a_missing_right_is_reported_with_a_remedy);
	tcase_add_test(all, a_kernel_that_does_not_count_is_reported);
	tcase_add_test(all, a_device_is_called_what_the_shop_calls_it);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
