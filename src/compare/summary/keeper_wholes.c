#include "src/compare/summary/keeper_wholes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/summary/summary.h"
#include "src/model/energy/energy.h"
#include "src/model/model.h"

static void take_gauges(struct summary *summary, const struct run *run)
{
	for (size_t i = 0; i < run->gauge_count && summary->gauge_count < SUMMARY_GAUGES_MAX; i++) {
		const char *name = run_name(run, run->gauges[i].name);
		if (!isfinite(run->gauges[i].value))
			continue;
		struct summary_gauge *gauge = &summary->gauges[summary->gauge_count++];
		text_clean(gauge->name, sizeof gauge->name, name, strlen(name));
		gauge->last = run->gauges[i].value;
	}
}

static void take_requests(struct summary *summary, const struct requests *requests, int64_t now_ns)
{
	struct request_figures figures;
	requests_whole(requests, now_ns, &figures);
	if (!figures.count)
		return;
	summary->requests = (double)figures.count;
	summary->request_failed_ratio = (double)figures.failed / (double)figures.count;
	summary->request_p50_s = figures.p50_s;
	summary->request_p95_s = figures.p95_s;
	summary->request_p99_s = figures.p99_s;
}

/* The GPUs that the run used. Memory is what its processes had; where the driver does not say, what was in use. */
static void take_gpus(struct summary *summary, const struct gpus *gpus)
{
	double busy = 0, used = 0;
	unsigned busy_count = 0, used_count = 0;
	for (size_t i = 0; i < gpus->count; i++) {
		const struct gpu_totals *totals = &gpus->gpus[i].totals;
		double bytes =
			isfinite(totals->run_memory_bytes.max) ? totals->run_memory_bytes.max : totals->memory_used_bytes.max;
		if (!totals->was_ours)
			continue;
		if (isfinite(totals->busy_ratio.mean)) {
			busy += totals->busy_ratio.mean;
			busy_count++;
		}
		if (isfinite(bytes)) {
			used += bytes;
			used_count++;
		}
	}
	summary->gpu_busy_ratio = busy_count ? busy / busy_count : NAN;
	summary->gpu_used_bytes = used_count ? used : NAN;
}

static double outermost_total(const struct summary *summary)
{
	double sum = NAN;
	for (size_t i = 0; i < summary->operation_count; i++)
		if (summary->operations[i].depth == 0 && isfinite(summary->operations[i].total_s))
			sum = (isnan(sum) ? 0 : sum) + summary->operations[i].total_s;
	return sum;
}

static void take_run(struct summary *summary, const struct run *run, int64_t now_ns)
{
	const struct track *track = run_main(run);
	const char *flops = run_meta(run, "flops_per_sample");
	double number = flops ? strtod(flops, NULL) : NAN;
	summary->flops_per_sample = number > 0 && isfinite(number) ? number : NAN;
	summary->train_s = track->step.count ? track->step.total_s : outermost_total(summary);
	take_gauges(summary, run);
	if (run->requests)
		take_requests(summary, run->requests, now_ns);
}

void keeper_take_wholes(struct summary *summary, const struct model *model, const struct run *run)
{
	if (run)
		take_run(summary, run, model->now_ns);
	take_gpus(summary, &model->gpus);
	summary->joules = energy_total(model->energy.cpu_joules, model->energy.gpu_joules);
	summary->joules_per_batch = model->energy.joules_per_batch;
	summary->joules_per_sample = model->energy.joules_per_sample;
}
