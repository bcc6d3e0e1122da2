#include "src/sources/perf/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/file.h"

enum { CPUINFO_SIZE = 8192 };

/* -- the events -- */

#define SOFTWARE(event) \
	.part_count = 1, .parts = { { .code = { .type = PERF_TYPE_SOFTWARE, .config = event }, .weight = 1 } }
#define HARDWARE(event) \
	.part_count = 1, .parts = { { .code = { .type = PERF_TYPE_HARDWARE, .config = event }, .weight = 1 } }
#define NAMED(event) .part_count = 1, .parts = { { .names = { event }, .weight = 1 } }
#define RAW(event) .code = { .type = PERF_TYPE_RAW, .config = event }

enum { GROUP_SOFTWARE, GROUP_PIPELINE, GROUP_MISSES, GROUP_FLOPS };

/* Floating-point operations:
 *
 *   Intel     FP_ARITH_INST_RETIRED counts instructions by width and type, a fused multiply-add twice: times the
 *             elements of a vector (Intel SDM volume 3B, "Floating-Point Arithmetic Instructions Retired"; AMX and
 *             half precision are counted elsewhere and not here)
 *   AMD       RETIRED_SSE_AVX_FLOPS counts operations, a multiply-accumulate as two (Processor Programming
 *             Reference, PMCx003). Zen 5, which libpfm4 4.13 does not know, has it with unit mask 0x0f
 *   Neoverse  FP_FIXED_OPS_SPEC counts operations of scalars and 128-bit vectors, FP_SCALE_OPS_SPEC those of
 *             scalable vectors per 128 bits of their length: times length ÷ 128 (Arm ARM, DDI 0487, D13.11; both are
 *             speculative). V1: 256 bits; V2, N2, V3, N3: 128; A64FX: 512 */
#define SCALE_OPS 0x80c0
#define FIXED_OPS 0x80c1
#define NEOVERSE(part, length_bits) \
	{ \
		PERF_ROLE_FLOPS, "FP_SCALE_OPS_SPEC + FP_FIXED_OPS_SPEC", GROUP_FLOPS, \
			.maker = MAKER_ARM, .model = part, .part_count = 2, .parts = { \
				{ RAW(SCALE_OPS), .weight = length_bits / 128.0 }, \
				{ RAW(FIXED_OPS), .weight = 1 } \
			} \
	}
#define FP_ARITH "FP_ARITH_INST_RETIRED:"

static const struct perf_default default_events[] = {
	{ PERF_ROLE_TASK_CLOCK, "task-clock", GROUP_SOFTWARE, SOFTWARE(PERF_COUNT_SW_TASK_CLOCK) },
	{ PERF_ROLE_MINOR_FAULTS, "minor-faults", GROUP_SOFTWARE, SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MIN) },
	{ PERF_ROLE_MAJOR_FAULTS, "major-faults", GROUP_SOFTWARE, SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MAJ) },
	{ PERF_ROLE_SWITCHES, "context-switches", GROUP_SOFTWARE, .is_in_kernel = true,
		SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES) },
	{ PERF_ROLE_MIGRATIONS, "cpu-migrations", GROUP_SOFTWARE, .is_in_kernel = true,
		SOFTWARE(PERF_COUNT_SW_CPU_MIGRATIONS) },

	{ PERF_ROLE_CYCLES, "cycles", GROUP_PIPELINE, HARDWARE(PERF_COUNT_HW_CPU_CYCLES) },
	{ PERF_ROLE_INSTRUCTIONS, "instructions", GROUP_PIPELINE, HARDWARE(PERF_COUNT_HW_INSTRUCTIONS) },
	{ PERF_ROLE_STALLED_FRONT, "stalled-cycles-frontend", GROUP_PIPELINE,
		HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND) },
	{ PERF_ROLE_STALLED_FRONT, "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE", GROUP_PIPELINE, .maker = MAKER_INTEL,
		NAMED("IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE") },
	{ PERF_ROLE_STALLED_BACK, "stalled-cycles-backend", GROUP_PIPELINE,
		HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_BACKEND) },
	{ PERF_ROLE_STALLED_BACK, "CYCLE_ACTIVITY:STALLS_TOTAL", GROUP_PIPELINE, .maker = MAKER_INTEL,
		NAMED("CYCLE_ACTIVITY:STALLS_TOTAL") },

	{ PERF_ROLE_CACHE_REFERENCES, "cache-references", GROUP_MISSES, HARDWARE(PERF_COUNT_HW_CACHE_REFERENCES) },
	{ PERF_ROLE_CACHE_MISSES, "cache-misses", GROUP_MISSES, HARDWARE(PERF_COUNT_HW_CACHE_MISSES) },
	{ PERF_ROLE_BRANCHES, "branches", GROUP_MISSES, HARDWARE(PERF_COUNT_HW_BRANCH_INSTRUCTIONS) },
	{ PERF_ROLE_BRANCH_MISSES, "branch-misses", GROUP_MISSES, HARDWARE(PERF_COUNT_HW_BRANCH_MISSES) },

	{ PERF_ROLE_FLOPS, "FP_ARITH_INST_RETIRED", GROUP_FLOPS, .maker = MAKER_INTEL, .part_count = 5,
		.parts = { { .names = { FP_ARITH "SCALAR", FP_ARITH "SCALAR_SINGLE:SCALAR_DOUBLE" }, .weight = 1 },
			{ .names = { FP_ARITH "128B_PACKED_DOUBLE" }, .weight = 2 },
			{ .names = { FP_ARITH "4_FLOPS", FP_ARITH "128B_PACKED_SINGLE:256B_PACKED_DOUBLE" }, .weight = 4 },
			{ .names = { FP_ARITH "8_FLOPS", FP_ARITH "256B_PACKED_SINGLE:512B_PACKED_DOUBLE" }, .weight = 8 },
			{ .names = { FP_ARITH "512B_PACKED_SINGLE" }, .weight = 16 } } },
	{ PERF_ROLE_FLOPS, "FP_ARITH_INST_RETIRED", GROUP_FLOPS, .maker = MAKER_INTEL, .part_count = 4,
		.parts = { { .names = { FP_ARITH "SCALAR_SINGLE:SCALAR_DOUBLE" }, .weight = 1 },
			{ .names = { FP_ARITH "128B_PACKED_DOUBLE" }, .weight = 2 },
			{ .names = { FP_ARITH "128B_PACKED_SINGLE:256B_PACKED_DOUBLE" }, .weight = 4 },
			{ .names = { FP_ARITH "256B_PACKED_SINGLE" }, .weight = 8 } } },
	{ PERF_ROLE_FLOPS, "RETIRED_SSE_AVX_FLOPS:ANY", GROUP_FLOPS, .maker = MAKER_AMD, .family_first = 0x17,
		.family_last = 0x19, NAMED("RETIRED_SSE_AVX_FLOPS:ANY") },
	{ PERF_ROLE_FLOPS, "RETIRED_SSE_AVX_FLOPS:ANY", GROUP_FLOPS, .maker = MAKER_AMD, .family_first = 0x1a,
		.family_last = 0x1a, .part_count = 1, .parts = { { RAW(0x0f03), .weight = 1 } } },
	NEOVERSE(0xd40, 256), /* V1 */
	NEOVERSE(0xd4f, 128), /* V2 */
	NEOVERSE(0xd49, 128), /* N2 */
	NEOVERSE(0xd84, 128), /* V3 */
	NEOVERSE(0xd8e, 128), /* N3 */
	{ PERF_ROLE_FLOPS, "FP_SCALE_OPS_SPEC + FP_FIXED_OPS_SPEC", GROUP_FLOPS, .maker = MAKER_FUJITSU, .model = 0x001,
		.part_count = 2, .parts = { { RAW(SCALE_OPS), .weight = 4 }, { RAW(FIXED_OPS), .weight = 1 } } },
};

const struct perf_default *perf_default_events(size_t *count)
{
	*count = sizeof default_events / sizeof *default_events;
	return default_events;
}

bool perf_default_fits(const struct perf_default *standard, const struct perf_cpu *cpu)
{
	return (standard->maker == MAKER_ANY || standard->maker == cpu->maker) &&
		(standard->family_first == 0 ||
			(cpu->family >= standard->family_first && cpu->family <= standard->family_last)) &&
		(standard->model == 0 || standard->model == cpu->model);
}

/* -- roles -- */

static const struct {
	const char *words;
	bool is_software;
} roles[PERF_ROLE_COUNT] = {
#define ROLE_ROW(id, words, is_software) { words, is_software },
	PERF_ROLES(ROLE_ROW)
#undef ROLE_ROW
};

enum perf_role perf_code_role(const struct perf_code *code)
{
	for (size_t i = 0; i < sizeof default_events / sizeof *default_events; i++) {
		const struct perf_part *part = &default_events[i].parts[0];
		if (default_events[i].maker == MAKER_ANY && part->code.type == code->type && part->code.config == code->config)
			return default_events[i].role;
	}
	return PERF_ROLE_OTHER;
}

const char *perf_role_words(enum perf_role role) { return role < PERF_ROLE_COUNT ? roles[role].words : ""; }

bool perf_role_is_software(enum perf_role role) { return role < PERF_ROLE_COUNT && roles[role].is_software; }

/* -- the CPU -- */

static const struct {
	const char *word;
	enum perf_maker maker;
} makers[] = {
	{ "GenuineIntel", MAKER_INTEL },
	{ "AuthenticAMD", MAKER_AMD },
	{ "HygonGenuine", MAKER_AMD },
	{ "0x41", MAKER_ARM },
	{ "0x46", MAKER_FUJITSU },
};

/* The text after "key<blanks>: " at the start of a line; NULL if there is none. */
static const char *find_line(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = text; line && *line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
		if (strncmp(line, key, length) != 0)
			continue;
		const char *at = line + length + strspn(line + length, " \t");
		if (*at == ':')
			return at + 1 + strspn(at + 1, " \t");
	}
	return NULL;
}

static enum perf_maker find_maker(const char *text)
{
	const char *maker = find_line(text, "vendor_id");
	if (!maker)
		maker = find_line(text, "CPU implementer");
	for (size_t i = 0; maker && i < sizeof makers / sizeof *makers; i++)
		if (strncmp(maker, makers[i].word, strlen(makers[i].word)) == 0)
			return makers[i].maker;
	return MAKER_ANY;
}

static bool has_word(const char *line, const char *word)
{
	size_t length = strlen(word), end = line ? strcspn(line, "\n") : 0;
	for (const char *at = line; at && (at = strstr(at, word)) && at < line + end; at += length)
		if ((at == line || at[-1] == ' ') && strchr(" \n", at[length]))
			return true;
	return false;
}

void perf_cpu_read(const char *proc_root, struct perf_cpu *out)
{
	char path[4096], text[CPUINFO_SIZE];
	size_t length;
	*out = (struct perf_cpu){ .maker = MAKER_ANY };
	snprintf(path, sizeof path, "%s/cpuinfo", proc_root);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return;
	const char *family = find_line(text, "cpu family"), *model = find_line(text, "model"),
			   *part = find_line(text, "CPU part");
	out->maker = find_maker(text);
	out->family = family ? (unsigned)strtoul(family, NULL, 10) : 0;
	out->model = part ? (unsigned)strtoul(part, NULL, 16) : model ? (unsigned)strtoul(model, NULL, 10) : 0;
	out->is_virtual = has_word(find_line(text, "flags"), "hypervisor");
}

/* -- errors -- */

const char *perf_errno_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ ENOENT, "ENOENT" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
		{ ENODEV, "ENODEV" },
		{ ENXIO, "ENXIO" },
		{ EACCES, "EACCES" },
		{ EPERM, "EPERM" },
		{ ENOSYS, "ENOSYS" },
		{ EINVAL, "EINVAL" },
		{ ENOSPC, "ENOSPC" },
		{ EBUSY, "EBUSY" },
		{ EMFILE, "EMFILE" },
		{ ENFILE, "ENFILE" },
		{ ESRCH, "ESRCH" },
		{ ENOMEM, "ENOMEM" },
		{ E2BIG, "E2BIG" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].error == error)
			return names[i].name;
	return "another error";
}
