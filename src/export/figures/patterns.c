#include "src/export/figures/patterns.h"

#include <math.h>
#include <string.h>

#include "src/export/figures/scope.h"
#include "src/export/table.h"
#include "src/model/run/steps/tracks.h"

void pattern_as_json(
	struct json *json, const struct run *run, const struct pattern *pattern, int64_t realtime_offset_ns)
{
	const struct batch *first = track_batch(run_main(run), pattern->first);
	json_text(json, "kind", pattern_kind_name(pattern->kind));
	json_number(json, "period", pattern->period);
	if (pattern->kind == PATTERN_PERIOD) {
		json_text(json, "unit", pattern_unit_name(pattern->unit));
		json_text(json, "counted_by", pattern->is_epoch_first ? "epoch" : pattern->is_by_index ? "index" : NULL);
	}
	json_text(json, "what", pattern->what);
	json_text(json, "phase", pattern->phase == NAME_NONE ? NULL : run_name(run, pattern->phase));
	if (pattern->kind == PATTERN_PERIOD)
		json_bool(json, "is_planned", pattern->is_planned);
	json_unsigned(json, "count", pattern->count);
	json_unsigned(json, "of", pattern->of);
	json_text(json, "candidate", pattern->candidate[0] ? pattern->candidate : NULL);
	json_number(json, "before_s", pattern->before_s);
	json_number(json, "after_s", pattern->after_s);
	json_unsigned(json, "first", pattern->first);
	if (first) {
		if (first->epoch != EPOCH_UNKNOWN)
			json_unsigned(json, "first_epoch", first->epoch);
		json_unsigned(json, "first_batch", first->index);
	}
	json_integer(json, "since_ns", pattern->since_ns + realtime_offset_ns);
}

void patterns_as_json(
	struct json *json, const struct alerts *alerts, const struct run *run, unsigned index, int64_t realtime_offset_ns)
{
	const struct patterns *patterns = alerts_patterns(alerts, index);
	json_open_array(json, "patterns");
	for (size_t i = 0; patterns && i < patterns->count; i++) {
		json_open_object(json, NULL);
		pattern_as_json(json, run, &patterns->list[i], realtime_offset_ns);
		json_close_object(json);
	}
	json_close_array(json);
}

void patterns_as_table(struct buffer *out, const struct alerts *alerts, const struct model *model, int run)
{
	const struct patterns *patterns = run < 0 ? NULL : alerts_patterns(alerts, (unsigned)run);
	char words[PATTERN_WORDS_SIZE];
	if (!patterns || patterns->count == 0)
		return;
	table_title(out, "PATTERNS");
	for (size_t i = 0; i < patterns->count; i++) {
		const struct pattern *pattern = &patterns->list[i];
		buffer_printf(out, "%s\n", pattern_words(pattern, &model->runs[run], words, sizeof words));
		if (pattern->candidate[0])
			buffer_printf(out, "    matches %s\n", pattern->candidate);
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

static bool was_written(const struct lines *lines, int run, const struct pattern *pattern)
{
	for (size_t i = 0; i < lines->pattern_count; i++)
		if (lines->patterns[i].run == run && lines->patterns[i].kind == pattern->kind &&
			lines->patterns[i].since_ns == pattern->since_ns)
			return true;
	return false;
}

/* Remove patterns that ended, so that they are printed again if they return. */
void patterns_as_lines(
	struct buffer *out, struct lines *lines, const struct alerts *alerts, const struct model *model, int run)
{
	const struct patterns *patterns = run < 0 ? NULL : alerts_patterns(alerts, (unsigned)run);
	const struct lines before = *lines;
	char words[PATTERN_WORDS_SIZE];
	lines->pattern_count = 0;
	for (size_t i = 0; patterns && i < patterns->count; i++) {
		const struct pattern *pattern = &patterns->list[i];
		if (!was_written(&before, run, pattern)) {
			buffer_printf(out, "  Pattern: %s", pattern_words(pattern, &model->runs[run], words, sizeof words));
			buffer_printf(out, pattern->candidate[0] ? "; matches %s\n" : "\n", pattern->candidate);
		}
		lines->patterns[lines->pattern_count].run = run;
		lines->patterns[lines->pattern_count].kind = pattern->kind;
		lines->patterns[lines->pattern_count++].since_ns = pattern->since_ns;
	}
}
