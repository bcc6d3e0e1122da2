#include "src/playback/recording_late.h"

#include <math.h>

static void merge(struct history_row *into, const struct history_row *row)
{
	into->count += row->count;
	into->sum_s += row->sum_s;
	into->min_s = fmin(into->min_s, row->min_s);
	into->max_s = fmax(into->max_s, row->max_s);
}

/* Does not merge the first bin: the first batch of a run is often slow, and shown separately. */
static bool merge_history(struct record *record, struct sample_set *out)
{
	const struct history_row *rows = record->history.rows;
	size_t count = record->history.count, step = 1, merged = 1;
	while (count / step >= 2 * LATE_BINS_MIN)
		step *= 2;
	struct history_row *fewer = sample_set_allocate(out, (count / step + 2) * sizeof *fewer);
	if (!fewer)
		return false;
	fewer[0] = rows[0];
	for (size_t i = 1; i < count; i++) {
		if ((i - 1) % step == 0)
			fewer[merged++] = rows[i];
		else
			merge(&fewer[merged - 1], &rows[i]);
	}
	record->history.rows = fewer;
	record->history.count = merged;
	return true;
}

bool recording_late(const struct sample_set *snapshot, struct sample_set *out)
{
	out->time_ns = snapshot->time_ns;
	out->source = snapshot->source;
	out->is_snapshot = snapshot->is_snapshot;
	for (size_t i = 0; i < snapshot->count; i++) {
		const struct record *from = &snapshot->records[i];
		struct record *record = sample_set_add(out, (enum record_kind)from->kind, from->run, from->time_ns);
		if (!record)
			return false;
		*record = *from;
		if (from->kind == RECORD_HISTORY && from->history.count > LATE_BINS_MIN && !merge_history(record, out))
			return false;
	}
	out->failed |= snapshot->failed;
	return true;
}
