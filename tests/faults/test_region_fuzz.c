/* tests/fuzz/fuzz_region.c without libFuzzer: random edits from a fixed seed, for a few seconds. */
#include "tests/fuzz/fuzz_region.c"

#include <check.h>

enum { RUN_S = 5 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Values that provoke overflows come more often than by chance. */
static uint64_t interesting(void)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_C(1) << 32,
		UINT32_MAX, 0x7fffffff, 4096, 65536 };
	uint64_t random = next_random();
	return random % 3 ? values[random / 3 % (sizeof values / sizeof values[0])] : random;
}

static size_t make_input(uint8_t *out, size_t size)
{
	uint64_t random = next_random();
	size_t length = 1;
	out[0] = (uint8_t)(random % 8 ? FLAG_CHECKSUM : random >> 8);
	for (uint64_t edits = 1 + random / 8 % 12; edits-- && length + 13 <= size;) {
		uint32_t offset = (uint32_t)next_random();
		uint64_t value = interesting();
		/* Three of four on a field's boundary. */
		offset = offset % 4 ? (offset & ~UINT32_C(15)) | (offset & 1) : offset;
		out[length + 4] = (uint8_t)(value % 5 ? 8 : 1 + value % 8);
		memcpy(out + length, &offset, sizeof offset);
		memcpy(out + length + 5, &value, sizeof value);
		length += 5u + out[length + 4];
	}
	return length;
}

START_TEST(a_damaged_region_never_harms_its_reader)
{
	uint8_t input[256];
	uint64_t runs = 0;
	time_t end = time(NULL) + RUN_S;
	for (; time(NULL) < end; runs++)
		LLVMFuzzerTestOneInput(input, make_input(input, sizeof input));
	ck_assert_uint_gt(runs, 100);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { a_damaged_region_never_harms_its_reader };
	return regions_run("region: fuzzing", NULL, NULL, tests, 1);
}
