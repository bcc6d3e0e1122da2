#include "src/region/header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/region/region.h"

static const struct rule {
	const char *name;
	size_t entry_size; /* in version 1.0; later versions may have longer entries */
	uint64_t min, max; /* entries */
} rules[PMTOP_SECTION_TYPES] = {
	[PMTOP_SECTION_LANES] = { "lanes", sizeof(struct pmtop_lane), 1, REGION_LANES_MAX },
	[PMTOP_SECTION_SLOTS] = { "slots", sizeof(struct pmtop_slot), 1, 1u << 26 },
	[PMTOP_SECTION_NAMES] = { "names", sizeof(struct pmtop_name), 1, 1u << 20 },
	[PMTOP_SECTION_NAME_BYTES] = { "name bytes", 1, 1, 1u << 28 },
	[PMTOP_SECTION_STATE] = { "state", sizeof(struct pmtop_state), 1, 1 },
	[PMTOP_SECTION_META] = { "meta", sizeof(struct pmtop_meta_entry), 0, 1u << 16 },
	[PMTOP_SECTION_GAUGES] = { "gauges", sizeof(struct pmtop_value), 0, 1u << 16 },
	[PMTOP_SECTION_COUNTERS] = { "counters", sizeof(struct pmtop_value), 0, 1u << 16 },
	[PMTOP_SECTION_TOTALS] = { "totals", sizeof(struct pmtop_total), 0, 1u << 20 },
	[PMTOP_SECTION_TALLIES] = { "tallies", sizeof(struct pmtop_tally), 0, 1u << 20 },
	[PMTOP_SECTION_HISTORY] = { "history", sizeof(struct pmtop_bin), 0, 1u << 20 },
	[PMTOP_SECTION_EPOCHS] = { "epochs", sizeof(struct pmtop_epoch), 0, 1u << 20 },
};

__attribute__((format(printf, 3, 4))) static enum region_status refuse(
	char *message, enum region_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, REGION_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return status;
}

static enum region_status damaged(char *message, const char *part)
{
	return refuse(message, REGION_DAMAGED, "region header damaged (%s)", part);
}

static bool fits(const struct pmtop_section *section, const struct rule *rule, uint64_t size)
{
	return section->offset >= PMTOP_HEADER_SIZE && section->offset % 8 == 0 && section->offset <= size &&
		section->size <= size - section->offset && section->entry_size >= rule->entry_size &&
		(rule->entry_size == 1 || section->entry_size % 8 == 0) && section->count >= rule->min &&
		section->count <= rule->max && section->count <= section->size / section->entry_size;
}

static bool is_power_of_two(uint64_t n) { return n && !(n & (n - 1)); }

/* Checks the fields at fixed offsets in all versions first: later ones may move everything else, including the
 * checksum. */
static enum region_status check_version(const struct pmtop_header *header, char *message)
{
	if (memcmp(header->magic, PMTOP_MAGIC, sizeof header->magic))
		return refuse(message, REGION_DAMAGED, "not a pmtop region");
	if (header->endian == __builtin_bswap32(PMTOP_ENDIAN))
		return refuse(message, REGION_WRONG_VERSION,
			"region was written by a big-endian machine; this pmtop reads little-endian ones");
	if (header->endian != PMTOP_ENDIAN)
		return damaged(message, "byte order");
	if (header->abi_major != PMTOP_ABI_MAJOR)
		return refuse(message, REGION_WRONG_VERSION,
			"region has format version %u.%u; this pmtop reads 1.x: use the pmtop that came with its pmtop.h",
			header->abi_major, header->abi_minor);
	return REGION_OK;
}

enum region_status header_check(const struct pmtop_header *header, uint64_t file_size,
	struct pmtop_section sections[PMTOP_SECTION_TYPES], char message[REGION_MESSAGE_SIZE])
{
	enum region_status status = check_version(header, message);
	if (status != REGION_OK)
		return status;
	if (header->header_size != PMTOP_HEADER_SIZE ||
		header->crc != pmtop_crc32c(header, offsetof(struct pmtop_header, crc)))
		return damaged(message, "checksum");
	if (header->incompat_flags)
		return refuse(message, REGION_WRONG_VERSION,
			"region needs feature %#x of format version 1.%u, which this pmtop does not have",
			(uint32_t)header->incompat_flags, header->abi_minor);
	if (header->clock_id != PMTOP_CLOCK_MONOTONIC)
		return refuse(message, REGION_WRONG_VERSION,
			"region uses clock %u of format version 1.%u, which this pmtop does not know", header->clock_id,
			header->abi_minor);
	if (header->section_count > PMTOP_SECTIONS_MAX || header->file_size < PMTOP_HEADER_SIZE)
		return damaged(message, "sizes");
	if (header->file_size > file_size)
		return refuse(message, REGION_CUT_SHORT, "region was cut short");
	memset(sections, 0, PMTOP_SECTION_TYPES * sizeof sections[0]);
	for (uint32_t i = 0; i < header->section_count; i++) {
		const struct pmtop_section *section = &header->sections[i];
		if (section->type == 0 || section->type >= PMTOP_SECTION_TYPES)
			continue;
		if (sections[section->type].type || !fits(section, &rules[section->type], header->file_size))
			return damaged(message, rules[section->type].name);
		sections[section->type] = *section;
	}
	for (uint32_t type = 1; type < PMTOP_SECTION_TYPES; type++)
		if (!sections[type].type)
			return damaged(message, rules[type].name);
	const struct pmtop_section *lanes = &sections[PMTOP_SECTION_LANES], *slots = &sections[PMTOP_SECTION_SLOTS];
	if (slots->count % lanes->count || !is_power_of_two(slots->count / lanes->count))
		return damaged(message, rules[PMTOP_SECTION_SLOTS].name);
	return REGION_OK;
}
