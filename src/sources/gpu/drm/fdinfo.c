#include "src/sources/gpu/drm/fdinfo.h"

#include <math.h>
#include <string.h>

/* A ratio above this is no measurement. Ratios above 1 are possible: several queues of one name that the driver does
 * not count (amdgpu's compute). */
#define BUSY_MAX 64.0
/* No GPU has more (an exabyte). */
#define BYTES_MAX 1e18

struct span {
	const char *at;
	size_t length;
};

/* -- words -- */

static bool is_word(struct span span, const char *word)
{
	return strlen(word) == span.length && memcmp(span.at, word, span.length) == 0;
}

static bool starts_with(struct span span, const char *prefix, struct span *rest)
{
	size_t length = strlen(prefix);
	if (span.length <= length || memcmp(span.at, prefix, length) != 0)
		return false;
	*rest = (struct span){ span.at + length, span.length - length };
	return true;
}

static struct span trim(struct span span)
{
	while (span.length && (*span.at == ' ' || *span.at == '\t')) {
		span.at++;
		span.length--;
	}
	while (span.length &&
		(span.at[span.length - 1] == ' ' || span.at[span.length - 1] == '\t' || span.at[span.length - 1] == '\r'))
		span.length--;
	return span;
}

static bool copy_name(struct span span, char out[FDINFO_NAME_SIZE])
{
	if (span.length == 0 || span.length >= FDINFO_NAME_SIZE)
		return false;
	memcpy(out, span.at, span.length);
	out[span.length] = '\0';
	return true;
}

/* Parses digits; the rest is the unit. */
static bool read_number(struct span value, uint64_t *out, struct span *unit)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < value.length && value.at[i] >= '0' && value.at[i] <= '9'; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(value.at[i] - '0'), &number))
			return false;
	if (i == 0)
		return false;
	*unit = trim((struct span){ value.at + i, value.length - i });
	*out = number;
	return true;
}

struct unit {
	const char *word;
	uint64_t factor;
};

static const struct unit plain_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit time_units[] = { { "ns", 1 }, { "", 1 }, { NULL, 0 } };
static const struct unit clock_units[] = { { "Hz", 1 }, { "KHz", 1000 }, { "kHz", 1000 }, { "MHz", 1000000 }, { "", 1 },
	{ NULL, 0 } };
static const struct unit memory_units[] = { { "KiB", 1024 }, { "MiB", 1024 * 1024 }, { "GiB", 1024 * 1024 * 1024 },
	{ "", 1 }, { NULL, 0 } };

static bool read_value(struct span value, const struct unit *units, uint64_t *out)
{
	struct span unit;
	uint64_t number;
	if (!read_number(value, &number, &unit))
		return false;
	for (; units->word; units++)
		if (is_word(unit, units->word))
			return !__builtin_mul_overflow(number, units->factor, out);
	return false;
}

/* -- lines -- */

static struct fdinfo_engine *engine_of(struct fdinfo *info, struct span name)
{
	struct fdinfo_engine engine = { .capacity = 1 };
	if (!copy_name(name, engine.name))
		return NULL;
	for (unsigned i = 0; i < info->engine_count; i++)
		if (strcmp(info->engines[i].name, engine.name) == 0)
			return &info->engines[i];
	if (info->engine_count == FDINFO_ENGINES_MAX)
		return NULL;
	info->engines[info->engine_count] = engine;
	return &info->engines[info->engine_count++];
}

static struct fdinfo_region *region_of(struct fdinfo *info, struct span name)
{
	struct fdinfo_region region = { .resident_bytes = NAN, .memory_bytes = NAN, .total_bytes = NAN };
	if (!copy_name(name, region.name))
		return NULL;
	for (unsigned i = 0; i < info->region_count; i++)
		if (strcmp(info->regions[i].name, region.name) == 0)
			return &info->regions[i];
	if (info->region_count == FDINFO_REGIONS_MAX)
		return NULL;
	info->regions[info->region_count] = region;
	return &info->regions[info->region_count++];
}

/* Longer prefixes come first: "engine-capacity-" is not an engine named "capacity-…". */
static const struct engine_key {
	const char *prefix;
	const struct unit *units;
	size_t offset;
	unsigned known;
} engine_keys[] = {
	{ "engine-capacity-", plain_units, offsetof(struct fdinfo_engine, capacity), 0 },
	{ "engine-", time_units, offsetof(struct fdinfo_engine, busy_ns), ENGINE_BUSY },
	{ "cycles-", plain_units, offsetof(struct fdinfo_engine, cycles), ENGINE_CYCLES },
	{ "total-cycles-", plain_units, offsetof(struct fdinfo_engine, total_cycles), ENGINE_TOTAL_CYCLES },
	{ "maxfreq-", clock_units, offsetof(struct fdinfo_engine, max_hz), ENGINE_MAX_HZ },
};

static bool read_engine(struct fdinfo *info, struct span key, struct span value)
{
	struct span name;
	uint64_t number;
	for (size_t i = 0; i < sizeof engine_keys / sizeof *engine_keys; i++) {
		const struct engine_key *row = &engine_keys[i];
		if (!starts_with(key, row->prefix, &name))
			continue;
		bool is_good = read_value(value, row->units, &number) && (row->known || number > 0);
		struct fdinfo_engine *engine = is_good ? engine_of(info, name) : NULL;
		if (engine) {
			memcpy((char *)engine + row->offset, &number, sizeof number);
			engine->known |= row->known;
		}
		return true;
	}
	return false;
}

static void read_memory(struct fdinfo *info, struct span key, struct span value)
{
	static const struct {
		const char *prefix;
		size_t offset;
	} words[] = {
		{ "resident-", offsetof(struct fdinfo_region, resident_bytes) },
		{ "memory-", offsetof(struct fdinfo_region, memory_bytes) },
		{ "total-", offsetof(struct fdinfo_region, total_bytes) },
	};
	struct span name;
	uint64_t number;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!starts_with(key, words[i].prefix, &name))
			continue;
		struct fdinfo_region *region =
			read_value(value, memory_units, &number) && (double)number <= BYTES_MAX ? region_of(info, name) : NULL;
		double bytes = (double)number;
		if (region)
			memcpy((char *)region + words[i].offset, &bytes, sizeof bytes);
		return;
	}
}

static void read_line(struct fdinfo *info, struct span line)
{
	struct span key, value, unit;
	const char *colon = memchr(line.at, ':', line.length);
	if (!colon || memchr(line.at, '\0', line.length) ||
		!starts_with((struct span){ line.at, (size_t)(colon - line.at) }, "drm-", &key))
		return;
	value = trim((struct span){ colon + 1, line.length - (size_t)(colon + 1 - line.at) });
	key = trim(key);
	if (is_word(key, "driver"))
		copy_name(value, info->driver);
	else if (is_word(key, "pdev"))
		copy_name(value, info->pci);
	else if (is_word(key, "client-id"))
		info->has_client = read_number(value, &info->client, &unit) && unit.length == 0;
	else if (!read_engine(info, key, value))
		read_memory(info, key, value);
}

bool fdinfo_parse(const char *text, size_t length, struct fdinfo *out)
{
	*out = (struct fdinfo){ 0 };
	for (size_t at = 0; at < length;) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t line = end ? (size_t)(end - (text + at)) : length - at;
		read_line(out, (struct span){ text + at, line });
		at += line + 1;
	}
	return out->driver[0] != '\0';
}

/* -- results -- */

static bool is_own(const char *region)
{
	static const char *const names[] = { "vram", "local", "stolen-local" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(region, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* amdgpu's region "cpu" is memory that the GPU cannot reach. */
static double memory_of(const struct fdinfo *info, bool of_its_own)
{
	double sum = NAN;
	for (unsigned i = 0; i < info->region_count; i++) {
		const struct fdinfo_region *region = &info->regions[i];
		double bytes = !isnan(region->resident_bytes) ? region->resident_bytes
			: !isnan(region->memory_bytes)            ? region->memory_bytes
													  : region->total_bytes;
		if (isnan(bytes) || is_own(region->name) != of_its_own || strcmp(region->name, "cpu") == 0)
			continue;
		sum = isnan(sum) ? bytes : sum + bytes;
	}
	return sum;
}

double fdinfo_own_memory(const struct fdinfo *info) { return memory_of(info, true); }

double fdinfo_machine_memory(const struct fdinfo *info) { return memory_of(info, false); }

static double growth(uint64_t old, uint64_t now) { return now > old ? (double)(now - old) : 0; }

double fdinfo_busy(const struct fdinfo_engine *old, const struct fdinfo_engine *now, double elapsed_ns)
{
	unsigned known = old->known & now->known;
	double ratio = NAN, cycles = growth(old->cycles, now->cycles), all = growth(old->total_cycles, now->total_cycles),
		   busy = growth(old->busy_ns, now->busy_ns);
	bool has_clock = known & ENGINE_CYCLES && known & ENGINE_MAX_HZ && now->max_hz > 0 && elapsed_ns > 0;
	if (known & ENGINE_CYCLES && known & ENGINE_TOTAL_CYCLES)
		ratio = all > 0 ? cycles / all : NAN;
	else if (known & ENGINE_BUSY && elapsed_ns > 0 && (busy > 0 || !has_clock))
		ratio = busy / elapsed_ns;
	else if (has_clock)
		ratio = cycles / ((double)now->max_hz * elapsed_ns / 1e9);
	ratio /= (double)now->capacity;
	return ratio > BUSY_MAX ? NAN : ratio > 1 ? 1 : ratio;
}

void fdinfo_keep_larger(struct fdinfo_engine *retained, const struct fdinfo_engine *now)
{
	struct fdinfo_engine before = *retained;
	*retained = *now;
	if (before.busy_ns > retained->busy_ns)
		retained->busy_ns = before.busy_ns;
	if (before.cycles > retained->cycles)
		retained->cycles = before.cycles;
	if (before.total_cycles > retained->total_cycles)
		retained->total_cycles = before.total_cycles;
}
