#include "src/compare/summary/summary_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/json_tree.h"
#include "src/base/text.h"
#include "src/compare/summary/summary_file.h"

static uint64_t as_count(double count) { return count >= 0 && count < 1e15 ? (uint64_t)count : 0; }

static double first_known(double a, double b) { return isfinite(a) ? a : b; }

/* Children follow their parent, one level deeper. */
static void find_parent(const struct summary *summary, struct summary_operation *operation)
{
	for (const struct summary_operation *before = operation; operation->depth && before-- > summary->operations;) {
		if (before->depth >= operation->depth)
			continue;
		if (before->depth + 1 == operation->depth)
			snprintf(operation->parent, sizeof operation->parent, "%s", before->name);
		return;
	}
}

static void take_operations(const struct json_value *operations, struct summary *out)
{
	for (const struct json_value *value = operations ? operations->first : NULL;
		 value && out->operation_count < SUMMARY_OPERATIONS_MAX; value = value->next) {
		struct summary_operation *operation = &out->operations[out->operation_count++];
		*operation = (struct summary_operation){ .depth = (unsigned)as_count(json_member_number(value, "depth")),
			.count = as_count(json_member_number(value, "count")),
			.mean_s = json_member_number(value, "mean_s"),
			.p50_s = NAN,
			.p95_s = json_member_number(value, "p95_s"),
			.total_s = json_member_number(value, "total_s"),
			.share_ratio = json_member_number(value, "share_ratio") };
		summary_take_text(operation->name, sizeof operation->name, value, "name");
		find_parent(out, operation);
		/* Estimates the phases from the totals of the whole run. */
		if (operation->depth || out->phase_count == SUMMARY_PHASES_MAX || !isfinite(operation->share_ratio) ||
			!isfinite(out->mean_s))
			continue;
		struct summary_phase *phase = &out->phases[out->phase_count++];
		*phase = (struct summary_phase){ .total_s = operation->total_s,
			.share_ratio = operation->share_ratio,
			.mean_s = operation->share_ratio * out->mean_s };
		summary_take_text(phase->name, sizeof phase->name, value, "name");
	}
}

/* Figures of the whole run that a report has. */
static void take_wholes(const struct json_value *report, struct summary *out)
{
	const struct json_value *requests = json_member(report, "requests", JSON_OBJECT),
							*energy = json_member(report, "energy", JSON_OBJECT),
							*machine = json_member(report, "machine", JSON_OBJECT),
							*gpus = json_member(machine, "gpus", JSON_ARRAY);
	double busy = 0, used = 0;
	size_t count = 0;
	out->requests = json_member_number(requests, "count");
	out->request_failed_ratio = json_member_number(requests, "failed") / out->requests;
	out->request_p50_s = json_member_number(requests, "p50_s");
	out->request_p95_s = json_member_number(requests, "p95_s");
	out->request_p99_s = json_member_number(requests, "p99_s");
	out->joules = json_member_number(energy, "energy_j");
	out->joules_per_batch = json_member_number(energy, "per_batch_j");
	out->joules_per_sample = json_member_number(energy, "per_sample_j");
	for (const struct json_value *gpu = gpus ? gpus->first : NULL; gpu; gpu = gpu->next, count++) {
		busy += json_member_number(json_member(gpu, "utilisation_ratio", JSON_OBJECT), "mean");
		used += json_member_number(json_member(gpu, "memory_used_bytes", JSON_OBJECT), "max");
	}
	out->gpu_busy_ratio = count ? busy / (double)count : NAN;
	out->gpu_used_bytes = count ? used : NAN;
	summary_take_gauges(json_member(report, "gauges", JSON_OBJECT), out);
}

enum status summary_of_report(const struct json_value *report, struct summary *out, struct reason *why_not)
{
	const struct json_value *step = json_member(report, "step", JSON_OBJECT),
							*batch = json_member(report, "batch", JSON_OBJECT);
	const struct json_value *recent = json_member(report, "recent", JSON_OBJECT),
							*memory = json_member(report, "memory", JSON_OBJECT);
	const struct json_value *meta = json_member(report, "meta", JSON_OBJECT);
	double time_ns = json_member_number(report, "time_ns");
	const struct json_value *operations = json_member(report, "operations", JSON_ARRAY);
	take_wholes(report, out);
	if (!(json_member_number(batch, "count") > 0) && !(operations && operations->first) && !(out->requests > 0))
		return reason_set(why_not, STATUS_DAMAGED, "save it again after some batches", "the report has no batches");
	out->origin = ORIGIN_REPORT;
	summary_take_text(out->run, sizeof out->run, report, "run");
	summary_take_text(out->mode, sizeof out->mode, report, "mode");
	summary_take_text(out->verdict, sizeof out->verdict, memory, "verdict");
	out->made_ns = time_ns > 0 && time_ns < 9e18 ? (int64_t)time_ns : 0;
	out->cpus =
		json_member_number(json_member(json_member(report, "system", JSON_OBJECT), "cpu", JSON_OBJECT), "count");
	out->batches = out->seen = as_count(json_member_number(batch, "count"));
	/* The figures of all steps; else those of the last 200; else those of batches. */
	out->median_s = first_known(json_member_number(step, "p50_s"),
		first_known(json_member_number(recent, "p50_s"), json_member_number(batch, "p50_s")));
	out->p95_s = first_known(json_member_number(step, "p95_s"),
		first_known(json_member_number(recent, "p95_s"), json_member_number(batch, "p95_s")));
	out->mean_s = out->middle_s = first_known(json_member_number(step, "mean_s"), json_member_number(batch, "mean_s"));
	if (recent && !isfinite(json_member_number(step, "p50_s")))
		out->seen = as_count(json_member_number(recent, "count"));
	out->steps_per_s = 1 / out->mean_s;
	out->train_s = out->mean_s * (double)out->batches;
	out->samples_per_s = json_member_number(batch, "samples_per_s");
	out->loss = json_member_number(batch, "loss");
	/* A report has no peak of the tree: use the larger of the process's peak and the tree's present size. */
	out->peak_bytes = fmax(json_member_number(memory, "peak_rss_bytes"), json_member_number(memory, "tree_rss_bytes"));
	out->growth_bytes = json_member_number(memory, "growth_bytes");
	for (const struct json_value *value = meta ? meta->first : NULL; value && out->meta_count < SUMMARY_META_MAX;
		 value = value->next) {
		text_clean(out->meta[out->meta_count].key, sizeof out->meta->key, value->key, strlen(value->key));
		summary_take_text(out->meta[out->meta_count++].value, sizeof out->meta->value, meta, value->key);
	}
	const char *size = summary_meta(out, "batch_size");
	out->batch_size = size && strtod(size, NULL) > 0 ? strtod(size, NULL) : NAN;
	take_operations(operations, out);
	return STATUS_OK;
}
