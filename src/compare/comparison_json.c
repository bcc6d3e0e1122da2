#include "src/compare/comparison_json.h"
#include "src/compare/comparison.h"
#include "src/compare/comparison_text.h"

#include "src/base/formats/json.h"
#include "src/compare/compare_json.h"

void summary_as_json(struct json *json, const struct summary *summary)
{
	json_text(json, "label", summary->label);
	json_text(json, "run", summary->run[0] ? summary->run : NULL);
	json_text(json, "command", summary->command[0] ? summary->command : NULL);
	json_text(json, "host", summary->host[0] ? summary->host : NULL);
	json_number(json, "cpus", summary->cpus);
	json_number(json, "batch_size", summary->batch_size);
	json_unsigned(json, "batches", summary->batches);
	json_unsigned(json, "judged", summary->seen);
	json_unsigned(json, "warmup", summary->warmup);
	json_unsigned(json, "epochs", summary->epochs);
	json_unsigned(json, "lost_events", summary->lost_events);
	if (summary->damaged_blocks || summary->damaged_bytes) {
		json_unsigned(json, "damaged_blocks", summary->damaged_blocks);
		json_unsigned(json, "damaged_bytes", summary->damaged_bytes);
	}
	json_number(json, "median_s", summary->median_s);
	json_number(json, "mad_s", summary->mad_s);
	json_number(json, "mean_s", summary->mean_s);
	json_number(json, "p95_s", summary->p95_s);
	json_number(json, "samples_per_s", summary->samples_per_s);
	json_number(json, "steps_per_s", summary->steps_per_s);
	json_number(json, "peak_bytes", summary->peak_bytes);
	json_number(json, "growth_bytes", summary->growth_bytes);
	json_number(json, "gpu_peak_bytes", summary->gpu_peak_bytes);
	json_number(json, "loss", summary->loss);
	json_number(json, "train_s", summary->train_s);
	json_number(json, "flops_per_sample", summary->flops_per_sample);
	json_number(json, "flops_per_s", summary->flops_per_s);
	json_number(json, "requests", summary->requests);
	json_number(json, "request_p95_s", summary->request_p95_s);
	json_number(json, "request_p99_s", summary->request_p99_s);
	json_number(json, "request_failed_ratio", summary->request_failed_ratio);
	json_number(json, "gpu_busy_ratio", summary->gpu_busy_ratio);
	json_number(json, "gpu_used_bytes", summary->gpu_used_bytes);
	json_number(json, "energy_j", summary->joules);
	json_number(json, "energy_per_sample_j", summary->joules_per_sample);
	json_number(json, "energy_per_batch_j", summary->joules_per_batch);
	if (summary->gauge_count)
		json_open_object(json, "gauges");
	for (size_t i = 0; i < summary->gauge_count; i++)
		json_number(json, summary->gauges[i].name, summary->gauges[i].last);
	if (summary->gauge_count)
		json_close_object(json);
}

static void write_row(struct json *json, const struct comparison_row *row)
{
	static const char *const groups[] = { [ROW_STEP] = "step",
		[ROW_PHASE] = "phase",
		[ROW_OPERATION] = "operation",
		[ROW_MEMORY] = "memory",
		[ROW_REQUEST] = "request",
		[ROW_GPU] = "gpu",
		[ROW_ENERGY] = "energy",
		[ROW_GAUGE] = "gauge" };
	static const char *const units[] = { [ROW_SECONDS] = "s",
		[ROW_PER_SECOND] = "1/s",
		[ROW_BYTES] = "bytes",
		[ROW_NUMBER] = NULL,
		[ROW_RATIO] = "ratio",
		[ROW_JOULES] = "J",
		[ROW_FLOPS] = "FLOP/s" };
	json_open_object(json, NULL);
	json_text(json, "group", groups[row->group]);
	json_text(json, "what", row->what);
	json_text(json, "unit", units[row->unit]);
	json_number(json, "a", row->a);
	json_number(json, "b", row->b);
	json_number(json, row->group == ROW_PHASE ? "difference" : "ratio", row->change);
	json_number(json, "low", row->low);
	json_number(json, "high", row->high);
	json_number(json, "effect", row->effect);
	json_text(json, "verdict", row->verdict == VERDICT_NONE ? NULL : verdict_word(row->verdict));
	json_close_object(json);
}

void comparison_as_json(struct buffer *out, const struct comparison *comparison)
{
	struct json json = { .out = out };
	char sentence[600];
	comparison_sentence(comparison, sentence, sizeof sentence);
	json_open_object(&json, NULL);
	json_text(&json, "sentence", sentence);
	json_text(&json, "verdict",
		comparison->judged && comparison->judged->verdict != VERDICT_NONE ? verdict_word(comparison->judged->verdict)
																		  : NULL);
	json_bool(&json, "is_rough", comparison->is_rough);
	json_open_object(&json, "a");
	summary_as_json(&json, comparison->a);
	json_close_object(&json);
	json_open_object(&json, "b");
	summary_as_json(&json, comparison->b);
	json_close_object(&json);
	json_open_array(&json, "rows");
	for (size_t i = 0; i < comparison->row_count; i++)
		write_row(&json, &comparison->rows[i]);
	json_close_array(&json);
	json_number(&json, "difference_s", comparison->difference_s);
	json_open_array(&json, "explained");
	for (unsigned i = 0; i < 3 && comparison->explains[i]; i++) {
		json_open_object(&json, NULL);
		json_text(&json, "phase", comparison->explains[i]->what);
		json_number(&json, "difference_s", comparison->explains[i]->change);
		json_number(&json, "share_ratio", comparison->explains[i]->change / comparison->difference_s);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_open_array(&json, "meta");
	for (size_t i = 0; i < comparison->meta_count; i++) {
		json_open_object(&json, NULL);
		json_text(&json, "key", comparison->meta[i].key);
		json_text(&json, "a", comparison->meta[i].a);
		json_text(&json, "b", comparison->meta[i].b);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_open_array(&json, "notes");
	for (size_t i = 0; i < comparison->note_count; i++)
		json_text(&json, NULL, comparison->notes[i]);
	json_close_array(&json);
	json_close_object(&json);
	buffer_puts(out, "\n");
}
