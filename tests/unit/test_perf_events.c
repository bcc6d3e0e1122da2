/* The tables of events, and libpfm4's codes of their names for other CPUs. */
#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/perf/perf.h"
#include "src/sources/perf/perf_events.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"

static struct fake_proc proc;

static void setup(void) { fake_proc_init(&proc); }

static void teardown(void) { fake_proc_release(&proc); }

static struct perf_cpu cpu_of(const char *text)
{
	struct perf_cpu cpu;
	fake_proc_put(&proc, "cpuinfo", text);
	perf_cpu_read(proc.root, &cpu);
	return cpu;
}

/* The n-th row of FLOPs that fits. */
static const struct perf_default *flops_of(const struct perf_cpu *cpu, unsigned n)
{
	size_t count;
	const struct perf_default *events = perf_default_events(&count);
	for (size_t i = 0; i < count; i++)
		if (events[i].role == PERF_ROLE_FLOPS && perf_default_fits(&events[i], cpu) && n-- == 0)
			return &events[i];
	return NULL;
}

#define INTEL(model) \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: " model \
	"\nmodel name\t: Xeon\nflags\t\t: fpu vme\n\nprocessor\t: 1\n"
#define AMD(family, model) \
	"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: " family "\nmodel\t\t: " model \
	"\nflags\t\t: fpu hypervisor vme\n"
#define ARM(maker, part) \
	"processor\t: 0\nBogoMIPS\t: 2100.00\nCPU implementer\t: " maker \
	"\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: " part "\n"

START_TEST(the_cpu_is_read_from_cpuinfo)
{
	struct perf_cpu intel = cpu_of(INTEL("143")), amd = cpu_of(AMD("25", "17")), arm = cpu_of(ARM("0x41", "0xd40")),
					other = cpu_of("isa : rv64\n"), none = cpu_of("");
	ck_assert(intel.maker == MAKER_INTEL && intel.family == 6 && intel.model == 143 && !intel.is_virtual);
	ck_assert(amd.maker == MAKER_AMD && amd.family == 25 && amd.model == 17 && amd.is_virtual);
	ck_assert(arm.maker == MAKER_ARM && arm.model == 0xd40);
	ck_assert(other.maker == MAKER_ANY && none.maker == MAKER_ANY);
	fake_proc_put(&proc, "cpuinfo", "vendor_id");
	perf_cpu_read("/nowhere", &none);
	ck_assert(none.maker == MAKER_ANY);
}
END_TEST

/* Intel: elements of a vector; a scalable vector of Neoverse V1 has twice 128 bits, V2's one, A64FX's four. */
START_TEST(flops_have_the_weights_of_their_formula)
{
	struct perf_cpu intel = cpu_of(INTEL("143")), zen4 = cpu_of(AMD("25", "17")), zen5 = cpu_of(AMD("26", "2")),
					v1 = cpu_of(ARM("0x41", "0xd40")), v2 = cpu_of(ARM("0x41", "0xd4f")),
					n1 = cpu_of(ARM("0x41", "0xd0c")), a64fx = cpu_of(ARM("0x46", "0x001"));
	const struct perf_default *flops = flops_of(&intel, 0);
	static const double weights[] = { 1, 2, 4, 8, 16 };
	ck_assert_uint_eq(flops->part_count, 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_double_eq(flops->parts[i].weight, weights[i]);
	ck_assert_str_eq(flops_of(&zen4, 0)->parts[0].names[0], "RETIRED_SSE_AVX_FLOPS:ANY");
	ck_assert_uint_eq(flops_of(&zen5, 0)->parts[0].code.config, 0x0f03);
	ck_assert_double_eq(flops_of(&v1, 0)->parts[0].weight, 2);
	ck_assert_double_eq(flops_of(&v1, 0)->parts[1].weight, 1);
	ck_assert_double_eq(flops_of(&v2, 0)->parts[0].weight, 1);
	ck_assert_double_eq(flops_of(&a64fx, 0)->parts[0].weight, 4);
	ck_assert_ptr_null(flops_of(&n1, 0));
}
END_TEST

START_TEST(the_kernels_own_events_have_their_roles_under_any_name)
{
	const struct perf_code cycles = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
						   raw = { .type = PERF_TYPE_RAW, .config = 0 },
						   clock = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK };
	ck_assert_int_eq(perf_code_role(&cycles), PERF_ROLE_CYCLES);
	ck_assert_int_eq(perf_code_role(&raw), PERF_ROLE_OTHER);
	ck_assert_int_eq(perf_code_role(&clock), PERF_ROLE_TASK_CLOCK);
	ck_assert(perf_role_is_software(PERF_ROLE_TASK_CLOCK) && !perf_role_is_software(PERF_ROLE_CYCLES));
	ck_assert_str_eq(perf_role_words(PERF_ROLE_CYCLES), "cycles");
}
END_TEST

/* -- libpfm4 -- */

static struct perf_opener *library;

static void open_library(void)
{
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	library = perf_system_new();
	ck_assert_ptr_nonnull(library);
}

static void close_library(void) { perf_system_free(library); }

/* The code of a name; 0 where libpfm4 does not know it. */
static uint64_t encoded(const char *pmu, const char *name)
{
	char full[160];
	struct perf_code code = { 0 };
	struct reason reason;
	snprintf(full, sizeof full, "%s%s", pmu, name);
	if (library->encode(library->context, full, &code, &reason) != STATUS_OK)
		return 0;
	ck_assert_uint_eq(code.type, PERF_TYPE_RAW);
	ck_assert(!code.no_user && !code.no_kernel);
	return code.config;
}

/* The first known name of each part. */
static void assert_parts(const char *pmu, const struct perf_default *baseline, const uint64_t *configs)
{
	for (unsigned i = 0; i < baseline->part_count; i++) {
		uint64_t config = 0;
		for (size_t k = 0; k < PERF_PART_NAMES && baseline->parts[i].names[k] && !config; k++)
			config = encoded(pmu, baseline->parts[i].names[k]);
		ck_assert_msg(
			config == configs[i], "%s part %u of %s is %#llx", pmu, i, baseline->name, (unsigned long long)config);
	}
}

/* Event 0xC7; unit masks by Intel's tables: scalar 3, 128-bit double 4, single 8, 256-bit double 0x10, single 0x20,
 * 512-bit double 0x40, single 0x80. */
static const uint64_t intel_flops[] = { 0x03c7, 0x04c7, 0x18c7, 0x60c7, 0x80c7 },
					  narrow_flops[] = { 0x03c7, 0x04c7, 0x18c7, 0x20c7 }, zen4_flops[] = { 0x1f03 };

START_TEST(sapphire_rapids_and_its_kin_encode)
{
	struct perf_cpu cpu = cpu_of(INTEL("143"));
	assert_parts("spr::", flops_of(&cpu, 0), intel_flops);
	assert_parts("icx::", flops_of(&cpu, 0), intel_flops);
	assert_parts("skx::", flops_of(&cpu, 0), intel_flops);
	assert_parts("bdw::", flops_of(&cpu, 1), narrow_flops);
	ck_assert_uint_eq(encoded("bdw::", "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE"), 0);
	ck_assert_uint_eq(encoded("spr::", "CYCLE_ACTIVITY:STALLS_TOTAL"), 0x40004a3);
	ck_assert_uint_eq(encoded("skx::", "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"), 0x400019c);
}
END_TEST

/* PMCx003: all five kinds on Zen 4, four before. */
START_TEST(zen_encodes)
{
	struct perf_cpu cpu = cpu_of(AMD("25", "17"));
	static const uint64_t before[] = { 0x0f03 };
	assert_parts("amd64_fam19h_zen4::", flops_of(&cpu, 0), zen4_flops);
	assert_parts("amd64_fam19h_zen3::", flops_of(&cpu, 0), before);
	assert_parts("amd64_fam17h_zen2::", flops_of(&cpu, 0), before);
}
END_TEST

/* The architecture fixes these numbers; libpfm4 has them only where it is built for ARM. */
START_TEST(neoverse_has_the_architectures_codes)
{
	struct perf_cpu cpu = cpu_of(ARM("0x41", "0xd40"));
	const struct perf_default *flops = flops_of(&cpu, 0);
	ck_assert_uint_eq(flops->parts[0].code.config, 0x80c0);
	ck_assert_uint_eq(flops->parts[1].code.config, 0x80c1);
	ck_assert_uint_eq(flops->parts[0].code.type, PERF_TYPE_RAW);
	uint64_t named = encoded("arm_v1::", "FP_SCALE_OPS_SPEC");
	ck_assert(named == 0 || (named & 0xffff) == 0x80c0);
}
END_TEST

/* As on such a machine itself, where names have no PMU prefix. */
START_TEST(a_forced_pmu_knows_the_names_of_the_table)
{
	static const struct {
		const char *pmu, *cpuinfo;
		const uint64_t *configs;
	} machines[] = {
		{ "spr", INTEL("143"), intel_flops },
		{ "amd64_fam19h_zen4", AMD("25", "17"), zen4_flops },
	};
	struct perf_cpu cpu = cpu_of(machines[_i].cpuinfo);
	setenv("LIBPFM_FORCE_PMU", machines[_i].pmu, 1);
	assert_parts("", flops_of(&cpu, 0), machines[_i].configs);
}
END_TEST

START_TEST(a_name_that_is_none_is_refused_with_a_reason)
{
	struct perf_code code = { .config = 77 };
	struct reason reason = { "", "" };
	ck_assert_int_eq(library->encode(library->context, "NO_SUCH_EVENT", &code, &reason), STATUS_NOT_FOUND);
	ck_assert_uint_eq(code.config, 77);
	ck_assert_str_eq(reason.text, "libpfm4 rejects NO_SUCH_EVENT: event not found");
	ck_assert(strstr(reason.remedy, "showevtinfo"));
}
END_TEST

START_TEST(kernel_names_and_exclusions_are_parsed)
{
	struct perf_code code;
	struct reason reason;
	ck_assert_int_eq(library->encode(library->context, "cycles:u", &code, &reason), STATUS_OK);
	ck_assert(
		code.type == PERF_TYPE_HARDWARE && code.config == PERF_COUNT_HW_CPU_CYCLES && code.no_kernel && !code.no_user);
	ck_assert_int_eq(library->encode(library->context, "instructions", &code, &reason), STATUS_OK);
	ck_assert(code.config == PERF_COUNT_HW_INSTRUCTIONS && !code.no_kernel && !code.no_user);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("perf events");
	TCase *tables = tcase_create("tables"), *named = tcase_create("libpfm4");
	tcase_add_checked_fixture(tables, setup, teardown);
	tcase_add_test(tables, the_cpu_is_read_from_cpuinfo);
	tcase_add_test(tables, flops_have_the_weights_of_their_formula);
	tcase_add_test(tables, the_kernels_own_events_have_their_roles_under_any_name);
	tcase_add_checked_fixture(named, setup, teardown);
	tcase_add_checked_fixture(named, open_library, close_library);
	tcase_add_test(named, sapphire_rapids_and_its_kin_encode);
	tcase_add_test(named, zen_encodes);
	tcase_add_test(named, neoverse_has_the_architectures_codes);
	tcase_add_loop_test(named, a_forced_pmu_knows_the_names_of_the_table, 0, 2);
	tcase_add_test(named, a_name_that_is_none_is_refused_with_a_reason);
	tcase_add_test(named, kernel_names_and_exclusions_are_parsed);
	suite_add_tcase(suite, tables);
	suite_add_tcase(suite, named);
	return suite_run(suite);
}
