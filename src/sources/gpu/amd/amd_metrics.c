#include "src/sources/gpu/amd/amd_metrics.h"

#include <math.h>
#include <string.h>

#include "src/samples/sample_set.h"

enum { HEADER_SIZE = 4, NONE = 0 };

/* Offsets by version. The unit of energy is defined from version 1.4 on; before, it differs from chip to chip. */
static const struct metrics_layout {
	uint8_t format, content;
	uint16_t min;     /* bytes; early versions of 1.6 had another, shorter table */
	uint16_t by_name; /* u64, reasons with the same meaning on every chip */
	/* u32, reasons that each chip numbers in its own way: only whether there is any is known */
	uint16_t by_chip;
	uint16_t residencies, energy; /* u32 × 5; u64 */
} layouts[] = {
	{ 1, 0, 76, NONE, 68, NONE, NONE },
	{ 1, 1, 96, NONE, 68, NONE, NONE },
	{ 1, 2, 104, NONE, 68, NONE, NONE },
	{ 1, 3, 120, 112, 68, NONE, NONE },
	{ 1, 4, 48, NONE, 40, NONE, 24 },
	{ 1, 5, 112, NONE, 104, NONE, 88 },
	{ 1, 6, 1024, NONE, NONE, 36, 16 },
	{ 1, 7, 1024, NONE, NONE, 44, 24 },
	{ 1, 8, 1024, NONE, NONE, 44, 24 },
	{ 2, 1, 112, NONE, 108, NONE, NONE },
	{ 2, 2, 128, 120, 108, NONE, NONE },
	{ 2, 3, 128, 120, 108, NONE, NONE },
	{ 2, 4, 128, 120, 108, NONE, NONE },
};

/* SMU_THROTTLER_… of drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h: from the first bit to the last. */
static const struct {
	uint8_t first, last, reason;
} bits[] = {
	{ 0, 7, GPU_THROTTLE_POWER_CAP },       /* package power, also of an APU */
	{ 16, 23, GPU_THROTTLE_CURRENT },       /* thermal and electrical design current */
	{ 32, 43, GPU_THROTTLE_HEAT_SOFTWARE }, /* a sensor is at its limit */
	{ 44, 47, GPU_THROTTLE_HEAT },          /* voltage regulator hot, PROCHOT */
	{ 56, 56, GPU_THROTTLE_POWER_BRAKE },   /* the platform's power */
	{ 57, 57, GPU_THROTTLE_HARDWARE },      /* reliability limit */
};

static uint64_t little(const unsigned char *bytes, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

static uint32_t reasons_of(uint64_t status)
{
	uint32_t reasons = 0;
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
		for (unsigned bit = bits[i].first; bit <= bits[i].last; bit++)
			if (status >> bit & 1)
				reasons |= 1u << bits[i].reason;
	return reasons;
}

/* All ones: the driver does not fill it in for this chip. */
static void read_throttle(const unsigned char *bytes, const struct metrics_layout *layout, struct amd_metrics *out)
{
	uint64_t by_name = layout->by_name ? little(bytes + layout->by_name, 8) : UINT64_MAX;
	uint32_t by_chip = layout->by_chip ? (uint32_t)little(bytes + layout->by_chip, 4) : UINT32_MAX;
	out->has_throttle = by_name != UINT64_MAX || by_chip != UINT32_MAX;
	if (by_name != UINT64_MAX)
		out->throttle = reasons_of(by_name);
	else if (by_chip != UINT32_MAX && by_chip != 0)
		out->throttle = 1u << GPU_THROTTLE_HARDWARE;
}

static const struct metrics_layout *find_layout(unsigned format, unsigned content, size_t size)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].format == format && layouts[i].content == content && size >= layouts[i].min)
			return &layouts[i];
	return NULL;
}

enum status amd_metrics_parse(
	const unsigned char *bytes, size_t length, struct amd_metrics *out, struct reason *why_not)
{
	if (length < HEADER_SIZE || little(bytes, 2) < HEADER_SIZE || little(bytes, 2) > length)
		return reason_set(why_not, STATUS_DAMAGED, NULL, "the driver's gpu_metrics could not be parsed");
	size_t size = (size_t)little(bytes, 2);
	const struct metrics_layout *layout = find_layout(bytes[2], bytes[3], size);
	if (!layout)
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL,
			"pmtop does not know this version of gpu_metrics (%u.%u, %zu bytes)", bytes[2], bytes[3], size);
	*out = (struct amd_metrics){ .energy_j = NAN };
	read_throttle(bytes, layout, out);
	out->has_residencies = layout->residencies != NONE;
	for (unsigned i = 0; out->has_residencies && i < AMD_RESIDENCIES; i++)
		out->residencies[i] = (uint32_t)little(bytes + layout->residencies + 4 * i, 4);
	uint64_t energy = layout->energy ? little(bytes + layout->energy, 8) : UINT64_MAX;
	if (energy != UINT64_MAX && energy != 0)
		out->energy_j = (double)energy / 65536;
	return STATUS_OK;
}

uint32_t amd_metrics_residency_reason(unsigned number)
{
	static const uint8_t reasons[AMD_RESIDENCIES] = { GPU_THROTTLE_HEAT, GPU_THROTTLE_POWER_CAP,
		GPU_THROTTLE_HEAT_SOFTWARE, GPU_THROTTLE_HEAT_SOFTWARE, GPU_THROTTLE_HEAT_SOFTWARE };
	return number < AMD_RESIDENCIES ? 1u << reasons[number] : 0;
}
