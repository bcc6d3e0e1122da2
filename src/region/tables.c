#include "src/region/tables.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "src/region/guard.h"
#include "src/region/reader.h"
#include "src/region/region.h"

static double seconds(uint64_t ns) { return (double)ns * 1e-9; }

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

#define COUNT_OF(region, field, section) region_count(region, offsetof(struct pmtop_state, field), section)

/* FNV-1a over 64-bit words: different states have different versions, except by chance. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, p + i, sizeof word);
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 29;
	}
	return hash;
}

static uint64_t mix_entries(const struct region *region, uint64_t hash, enum pmtop_section_type type, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pmtop_value value;
		region_copy_raw(&value, region_entry(region, type, i), sizeof value);
		hash = mix(hash, &value, sizeof value);
	}
	return hash;
}

enum region_status region_read_state(struct region *region, struct region_state *out)
{
	struct stat file;
	struct pmtop_state state;
	guard_install();
	if (!fstat(region->fd, &file) && file.st_size < (off_t)region->size)
		return REGION_CUT_SHORT;
	enum region_status status = region_copy(region, &state, region_entry(region, PMTOP_SECTION_STATE, 0), sizeof state);
	if (status == REGION_OK)
		region->state = state;
	else if (status != REGION_BUSY || !region->has_state)
		return status;
	region->has_state = true;
	const struct pmtop_state *s = &region->state;
	memset(out, 0, sizeof *out);
	out->mode = s->mode;
	out->epochs_planned = s->epochs_planned;
	out->batches_per_epoch = s->batches_per_epoch;
	out->samples_per_batch = s->samples_per_batch;
	out->in_epoch = s->flags & PMTOP_IN_EPOCH;
	out->in_batch = s->flags & PMTOP_IN_BATCH;
	out->is_ended = s->flags & PMTOP_ENDED;
	out->epoch_index = s->epoch_index;
	out->epochs_begun = s->epochs_begun;
	out->epoch_begin_ns = (int64_t)s->epoch_begin_ns;
	out->batch_index = s->batch_index;
	out->batches_in_epoch = s->batches_in_epoch;
	out->batch_begin_ns = (int64_t)s->batch_begin_ns;
	out->loss = double_of(s->loss_bits);
	out->refused = s->refused;
	_Static_assert(sizeof out->refused_for / sizeof out->refused_for[0] == PMTOP_REFUSALS, "refusals as in the layout");
	for (size_t i = 0; i < PMTOP_REFUSALS; i++)
		out->refused_for[i] = region_load(
			region_entry(region, PMTOP_SECTION_LANES, 0) + offsetof(struct pmtop_lane, refused) + i * sizeof(uint32_t));
	out->meta_count = COUNT_OF(region, meta_count, PMTOP_SECTION_META);
	out->gauge_count = COUNT_OF(region, gauge_count, PMTOP_SECTION_GAUGES);
	out->counter_count = COUNT_OF(region, counter_count, PMTOP_SECTION_COUNTERS);
	uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), s, sizeof *s);
	hash = mix_entries(region, hash, PMTOP_SECTION_GAUGES, out->gauge_count);
	out->version = mix_entries(region, hash, PMTOP_SECTION_COUNTERS, out->counter_count);
	return region_cut_or(region, REGION_OK);
}

uint32_t region_state_sequence(const struct region *region)
{
	return region_load(region_entry(region, PMTOP_SECTION_STATE, 0));
}

enum region_status region_read_meta(
	struct region *region, uint32_t i, const char **key, size_t *key_length, const char **value, size_t *value_length)
{
	struct pmtop_meta_entry *meta = &region->meta;
	if (i >= COUNT_OF(region, meta_count, PMTOP_SECTION_META))
		return region_cut_or(region, REGION_NONE);
	enum region_status status = region_copy(region, meta, region_entry(region, PMTOP_SECTION_META, i), sizeof *meta);
	if (status != REGION_OK)
		return status;
	if (meta->key_length > sizeof meta->key || meta->value_length > sizeof meta->value)
		return REGION_DAMAGED;
	*key = meta->key;
	*key_length = meta->key_length;
	*value = meta->value;
	*value_length = meta->value_length;
	return REGION_OK;
}

static enum region_status read_value(
	struct region *region, enum pmtop_section_type type, uint32_t count, uint32_t i, struct pmtop_value *value)
{
	if (i >= count)
		return region_cut_or(region, REGION_NONE);
	region_copy_raw(value, region_entry(region, type, i), sizeof *value);
	return region_cut_or(region, REGION_OK);
}

enum region_status region_read_gauge(struct region *region, uint32_t i, uint32_t *name, double *value)
{
	struct pmtop_value gauge;
	enum region_status status =
		read_value(region, PMTOP_SECTION_GAUGES, COUNT_OF(region, gauge_count, PMTOP_SECTION_GAUGES), i, &gauge);
	if (status == REGION_OK) {
		*name = gauge.name;
		*value = double_of(gauge.value);
	}
	return status;
}

enum region_status region_read_counter(struct region *region, uint32_t i, uint32_t *name, double *total)
{
	struct pmtop_value counter;
	enum region_status status = read_value(
		region, PMTOP_SECTION_COUNTERS, COUNT_OF(region, counter_count, PMTOP_SECTION_COUNTERS), i, &counter);
	if (status == REGION_OK) {
		*name = counter.name;
		*total = (double)counter.value;
	}
	return status;
}

uint32_t region_name_count(struct region *region) { return COUNT_OF(region, name_count, PMTOP_SECTION_NAMES); }

enum region_status region_read_name(struct region *region, uint32_t id, const char **text, size_t *length)
{
	struct pmtop_name name;
	uint64_t bytes = region->sections[PMTOP_SECTION_NAME_BYTES].size;
	if (id == 0 || id > region_name_count(region))
		return region_cut_or(region, REGION_NONE);
	region_copy_raw(&name, region_entry(region, PMTOP_SECTION_NAMES, id - 1), sizeof name);
	if (name.length > PMTOP_NAME_LENGTH || name.offset > bytes || name.length > bytes - name.offset)
		return region_cut_or(region, REGION_DAMAGED);
	const unsigned char *from = region_entry(region, PMTOP_SECTION_NAME_BYTES, 0) + name.offset;
	for (uint32_t i = 0; i < name.length; i++)
		region->name[i] = (char)__atomic_load_n(&from[i], __ATOMIC_RELAXED);
	region->name[name.length] = '\0';
	*text = region->name;
	*length = name.length;
	return region_cut_or(region, REGION_OK);
}

/* -- totals -- */

uint32_t region_total_count(struct region *region)
{
	return COUNT_OF(region, total_count, PMTOP_SECTION_TOTALS) + COUNT_OF(region, tally_count, PMTOP_SECTION_TALLIES);
}

static enum region_status read_tally(struct region *region, uint32_t i, struct region_total *out)
{
	struct pmtop_tally tally;
	enum region_status status =
		region_copy(region, &tally, region_entry(region, PMTOP_SECTION_TALLIES, i), sizeof tally);
	if (status != REGION_OK)
		return status;
	memset(out, 0, sizeof *out);
	out->kind = tally.kind;
	out->lane = tally.lane;
	out->mode = tally.mode;
	out->name = tally.name;
	out->parent = tally.parent;
	out->depth = tally.depth;
	out->upto = tally.upto;
	out->count = tally.count;
	out->total_s = out->self_s = out->min_s = out->max_s = out->last_s = out->squares_s2 = out->cpu_s =
		out->memory_bytes = NAN;
	return REGION_OK;
}

/* Copies the figures consistently, and tries to include the histogram (4 KiB). If the writer is too busy for that, the
 * histogram may be a few events ahead, which does not matter for quantiles. */
static enum region_status copy_total(struct region *region, uint32_t i, struct pmtop_total *total)
{
	const unsigned char *entry = region_entry(region, PMTOP_SECTION_TOTALS, i);
	size_t figures = offsetof(struct pmtop_total, buckets);
	for (int tries = 0; tries < 8; tries++) {
		uint32_t sequence = region_load(entry);
		region_copy_raw(total, entry, sizeof *total);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (sequence % 2 == 0 && region_load(entry) == sequence)
			return region_cut_or(region, REGION_OK);
	}
	enum region_status status = region_copy(region, total, entry, figures);
	region_copy_raw(total->buckets, entry + figures, sizeof total->buckets);
	return region_cut_or(region, status);
}

enum region_status region_read_total(struct region *region, uint32_t i, struct region_total *out)
{
	struct pmtop_total total;
	uint32_t totals = COUNT_OF(region, total_count, PMTOP_SECTION_TOTALS);
	if (i >= region_total_count(region))
		return region_cut_or(region, REGION_NONE);
	if (i >= totals)
		return read_tally(region, i - totals, out);
	enum region_status status = copy_total(region, i, &total);
	if (status != REGION_OK)
		return status;
	memset(out, 0, sizeof *out);
	out->kind = total.kind;
	out->lane = total.lane;
	out->mode = total.mode;
	out->name = total.name;
	out->parent = total.parent;
	out->depth = total.depth;
	out->upto = total.upto;
	out->count = total.count;
	out->total_s = seconds(total.total_ns);
	out->self_s = seconds(total.self_ns);
	out->min_s = total.count ? seconds(total.min_ns) : NAN;
	out->max_s = total.count ? seconds(total.max_ns) : NAN;
	out->last_s = total.count ? seconds(total.last_ns) : NAN;
	out->squares_s2 = ((double)total.squares_high * 0x1p64 + (double)total.squares_low) * 1e-18;
	out->cpu_s = total.cpu_count ? seconds(total.cpu_ns) : NAN;
	out->memory_bytes = total.memory_count ? (double)(int64_t)total.memory_bytes : NAN;
	out->has_histogram = true;
	memcpy(out->histogram, total.buckets, sizeof out->histogram);
	return REGION_OK;
}

/* -- history -- */

/* A bin that is being updated is copied as it is: at most the newest step is missing in some of its fields. */
static bool copy_bin(struct region *region, uint32_t i, uint64_t next, struct pmtop_bin *bin)
{
	const unsigned char *entry = region_entry(region, PMTOP_SECTION_HISTORY, i);
	if (region_copy(region, bin, entry, sizeof *bin) == REGION_BUSY)
		region_copy_raw(bin, entry, sizeof *bin);
	return bin->count != 0 && bin->first >= next && bin->count <= UINT64_MAX - bin->first;
}

/* Waits for a merge of bins, which takes about 20 µs. If the writer died during a merge, some bins are duplicates:
 * those that begin before the end of the bin before them, and are skipped. */
enum region_status region_read_history(struct region *region, struct region_bin *out, size_t max, size_t *count)
{
	const unsigned char *merges =
		region_entry(region, PMTOP_SECTION_STATE, 0) + offsetof(struct pmtop_state, history_sequence);
	size_t filled = 0;
	for (int tries = 0; tries < 5; tries++) {
		uint32_t sequence = region_load(merges), bins = COUNT_OF(region, bin_count, PMTOP_SECTION_HISTORY);
		uint64_t next = 0;
		filled = 0;
		for (uint32_t i = 0; i < bins && filled < max; i++) {
			struct pmtop_bin bin;
			if (!copy_bin(region, i, next, &bin))
				continue;
			next = bin.first + bin.count;
			out[filled++] = (struct region_bin){
				.first = bin.first,
				.count = bin.count,
				.sum_s = seconds(bin.sum_ns),
				.min_s = seconds(bin.min_ns),
				.max_s = seconds(bin.max_ns),
				.begin_ns = (int64_t)bin.begin_ns,
			};
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((sequence % 2 == 0 && region_load(merges) == sequence) || !region_wait(region))
			break;
	}
	*count = filled;
	return region_cut_or(region, REGION_OK);
}

static size_t copy_epochs(struct region *region, uint64_t first, uint64_t begun, struct region_epoch *out)
{
	size_t filled = 0;
	for (uint64_t k = first; k < begun; k++) {
		struct pmtop_epoch epoch;
		const unsigned char *entry =
			region_entry(region, PMTOP_SECTION_EPOCHS, k % region->sections[PMTOP_SECTION_EPOCHS].count);
		if (region_copy(region, &epoch, entry, sizeof epoch) != REGION_OK || epoch.ordinal != (uint32_t)(k + 1))
			continue; /* overwritten by a newer epoch meanwhile */
		out[filled++] = (struct region_epoch){
			.index = epoch.index,
			.mode = epoch.mode,
			.begin_ns = (int64_t)epoch.begin_ns,
			.end_ns = (int64_t)epoch.end_ns,
			.batches = epoch.batches,
			.sum_s = seconds(epoch.sum_ns),
			.min_s = epoch.batches ? seconds(epoch.min_ns) : NAN,
			.max_s = epoch.batches ? seconds(epoch.max_ns) : NAN,
		};
	}
	return filled;
}

/* The state's sequence is also odd while an epoch is written. If it has not changed, the rows include exactly the
 * batches that the state counts. */
enum region_status region_read_epochs(
	struct region *region, struct region_epoch *out, size_t max, size_t *count, uint64_t *dropped, uint64_t *upto)
{
	enum { TRIES = 200 };
	const unsigned char *sequence =
		region_entry(region, PMTOP_SECTION_STATE, 0) + offsetof(struct pmtop_state, sequence);
	uint64_t retained = region->sections[PMTOP_SECTION_EPOCHS].count;
	retained = retained < max ? retained : max;
	for (int i = 0; i < TRIES; i++) {
		struct region_state state;
		uint32_t before = region_load(sequence);
		enum region_status status = region_read_state(region, &state);
		if (status != REGION_OK)
			return status;
		*dropped = state.epochs_begun > retained ? state.epochs_begun - retained : 0;
		*upto = region->state.batches;
		*count = copy_epochs(region, *dropped, state.epochs_begun, out);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((before % 2 == 0 && region_load(sequence) == before) || !region_wait(region))
			break;
	}
	return region_cut_or(region, REGION_OK);
}
