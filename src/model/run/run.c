/* What others read of a run: names, meta, gauges, counters, tracks. */
#include "src/model/run/run.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/code/code_phases.h"
#include "src/model/run/run_private.h"

const char *run_meta(const struct run *run, const char *key)
{
	for (size_t i = 0; i < run->meta_count; i++)
		if (strcmp(run->meta[i].key, key) == 0)
			return run->meta[i].value;
	return NULL;
}

const char *run_name(const struct run *run, uint32_t id)
{
	switch (id) {
	case NAME_NONE: return "train";
	case NAME_UNATTRIBUTED: return "unattributed";
	case NAME_BETWEEN: {
		const char *text = run_meta(run, "between");
		return text && *text ? text : "between";
	}
	default: {
		if (name_is_sampled(id) && id - NAME_SAMPLED < CODE_PHASE_COUNT)
			return code_phase_name((enum code_phase)(id - NAME_SAMPLED));
		const char *text = run->priv ? names_text(&run->priv->names, id) : NULL;
		return text ? text : "(unnamed)";
	}
	}
}

bool run_gauge(const struct run *run, const char *name, double *value, const struct series **series)
{
	for (size_t i = 0; i < run->gauge_count; i++) {
		if (strcmp(run_name(run, run->gauges[i].name), name) != 0)
			continue;
		*value = run->gauges[i].value;
		if (series)
			*series = run->gauges[i].series;
		return true;
	}
	return false;
}

struct allocator run_allocator(const struct run *run)
{
	struct allocator out = { NAN, NAN, NAN };
	const struct {
		const char *name;
		double *value;
	} gauges[] = {
		{ "cuda.allocated_bytes", &out.allocated_bytes },
		{ "cuda.reserved_bytes", &out.reserved_bytes },
		{ "cuda.peak_bytes", &out.peak_bytes },
	};
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++)
		if (run_gauge(run, gauges[i].name, gauges[i].value, NULL) &&
			!(*gauges[i].value >= 0 && isfinite(*gauges[i].value)))
			*gauges[i].value = NAN;
	return out;
}

const struct counter *run_counter(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->counter_count; i++)
		if (strcmp(run_name(run, run->counters[i].name), name) == 0)
			return &run->counters[i];
	return NULL;
}

const struct track *run_main(const struct run *run) { return &run->tracks[run->main_track]; }

/* Of an inferred run. False: no epoch has this ordinal. */
static bool find_index(const struct run *run, uint32_t ordinal, uint32_t *out)
{
	for (size_t i = run->epoch_count; i-- > 0;) {
		if (run->epochs[i].ordinal != ordinal)
			continue;
		*out = run->epochs[i].index;
		return true;
	}
	*out = run->state.epoch_index;
	return ordinal > 0 && run->state.epochs_begun == ordinal;
}

uint32_t run_published_number(const struct run *run, uint32_t ordinal)
{
	uint32_t others = 0, main_mode = run_main(run)->mode, index;
	if ((run->is_counted || run->has_loop_epochs) && find_index(run, ordinal, &index))
		return index < EPOCH_UNKNOWN ? index + 1 : 0;
	for (size_t i = 0; i < run->epoch_count && run->epochs[i].ordinal <= ordinal; i++)
		others += run->epochs[i].mode != main_mode;
	return ordinal > others ? ordinal - others : 0;
}

uint32_t run_epoch_number(const struct run *run, uint32_t ordinal)
{
	return run->priv->awaits_number ? 0 : run_published_number(run, ordinal);
}

const char *run_epoch_name(const struct run *run, uint32_t ordinal, char out[RUN_EPOCH_NAME_SIZE])
{
	uint32_t number = run_epoch_number(run, ordinal);
	snprintf(out, RUN_EPOCH_NAME_SIZE, number ? "%" PRIu32 : "–", number);
	return out;
}

bool run_has_epochs(const struct run *run)
{
	return run->state.epochs_begun > 0 || run->state.epochs_planned > 0 || run->epoch_count > 0;
}

static uint64_t count_of(const struct run *run, const char *key)
{
	const char *count = run_meta(run, key);
	return count ? strtoull(count, NULL, 10) : 0;
}

uint64_t run_whole(const struct run *run, uint64_t *before)
{
	*before = count_of(run, RUN_INFERRED "steps_before");
	return count_of(run, RUN_INFERRED "steps_planned");
}

uint64_t run_batches_planned(const struct run *run)
{
	uint64_t count = run_main(run)->count, before, whole = run_whole(run, &before);
	uint64_t planned = whole && !before ? whole : run_has_epochs(run) ? 0 : run->state.batches_per_epoch;
	return planned >= count ? planned : 0;
}

struct inferred run_inferred(const struct run *run)
{
	const char *line = run_meta(run, RUN_INFERRED "line"), *certain = run_meta(run, RUN_INFERRED "certain");
	return (struct inferred){ .what = run->is_counted ? run_meta(run, "counted_by") : NULL,
		.file = run_meta(run, RUN_INFERRED "file"),
		.line = line ? (unsigned)strtoul(line, NULL, 10) : 0,
		.is_certain = certain && *certain == 'y',
		.is_chosen = run_meta(run, RUN_INFERRED "chosen") != NULL,
		.is_at_least = run_meta(run, RUN_INFERRED "at_least") != NULL };
}

bool run_epoch_is_at_least(const struct run *run, const struct epoch *epoch)
{
	return run_inferred(run).is_at_least && (epoch->planned == 0 || epoch->batches < epoch->planned);
}

bool run_track_is_at_least(const struct run *run, const struct track *track)
{
	struct inferred inferred = run_inferred(run);
	return inferred.is_at_least || (inferred.what && track != run_main(run));
}

bool run_has_content(const struct run *run)
{
	return run->track_count > 0 || run->operation_count > 0 || run->open_span_count > 0 || run->requests;
}

const struct track *run_track_of(const struct run *run, uint32_t mode)
{
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			return &run->tracks[i];
	return NULL;
}

unsigned run_accumulation(const struct run *run)
{
	const char *text = run_meta(run, "accumulation");
	char *end;
	unsigned long count = text && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	return count > 1 && count < 1000000 && *end == '\0' ? (unsigned)count : 0;
}

unsigned track_kind(const struct track *track, uint32_t kind)
{
	for (unsigned i = 1; i < track->kind_count; i++)
		if (track->kinds[i].kind == kind)
			return i;
	return 0;
}

const char *track_kind_name(const struct run *run, const struct track *track, uint32_t kind)
{
	if (track->kind_count < 2)
		return NULL;
	if (kind != NAME_NONE)
		return run_name(run, kind);
	return run->priv && run->priv->accumulate && track_kind(track, run->priv->accumulate) ? "step" : "usual";
}
