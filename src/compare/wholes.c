#include "src/compare/wholes.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define LESS false
#define MORE true
#define OF(member) offsetof(struct summary, member)

const struct whole_figure whole_figures[] = {
	{ "samples/s", "samples a second", NULL, ROW_STEP, ROW_PER_SECOND, MORE, OF(samples_per_s) },
	{ "steps/s", "steps a second", NULL, ROW_STEP, ROW_PER_SECOND, MORE, OF(steps_per_s) },
	{ "step", "step, median", NULL, ROW_STEP, ROW_SECONDS, LESS, OF(median_s) },
	{ "train-time", "training time", "time", ROW_STEP, ROW_SECONDS, LESS, OF(train_s) },
	{ "loss", "loss at the end", "loss", ROW_STEP, ROW_NUMBER, LESS, OF(loss) },
	{ "request-p95", "requests, p95", "req. p95", ROW_REQUEST, ROW_SECONDS, LESS, OF(request_p95_s) },
	{ "request-p99", "requests, p99", NULL, ROW_REQUEST, ROW_SECONDS, LESS, OF(request_p99_s) },
	{ "request-failed", "requests, failed", NULL, ROW_REQUEST, ROW_RATIO, LESS, OF(request_failed_ratio) },
	{ "memory", "memory, peak", NULL, ROW_MEMORY, ROW_BYTES, LESS, OF(peak_bytes) },
	{ "growth", "memory, growth", NULL, ROW_MEMORY, ROW_BYTES, LESS, OF(growth_bytes) },
	{ "gpu-memory", "GPU memory, peak", NULL, ROW_MEMORY, ROW_BYTES, LESS, OF(gpu_peak_bytes) },
	{ "gpu-used", "GPU memory used, peak", "GPU mem.", ROW_MEMORY, ROW_BYTES, LESS, OF(gpu_used_bytes) },
	{ "gpu", "GPU use, mean", "GPU use", ROW_GPU, ROW_RATIO, MORE, OF(gpu_busy_ratio) },
	{ "flops/s", "FLOP/s", "FLOP/s", ROW_GPU, ROW_FLOPS, MORE, OF(flops_per_s) },
	{ "energy", "energy", "energy", ROW_ENERGY, ROW_JOULES, LESS, OF(joules) },
	{ "energy/sample", "energy a sample", "J/sample", ROW_ENERGY, ROW_JOULES, LESS, OF(joules_per_sample) },
	{ "energy/batch", "energy a batch", NULL, ROW_ENERGY, ROW_JOULES, LESS, OF(joules_per_batch) },
};
const size_t whole_figure_count = sizeof whole_figures / sizeof *whole_figures;

double whole_value(const struct summary *summary, const struct whole_figure *figure)
{
	return *(const double *)(const void *)((const char *)summary + figure->offset);
}

const struct whole_figure *whole_find(const char *word)
{
	for (size_t i = 0; i < whole_figure_count; i++)
		if (strcmp(whole_figures[i].word, word) == 0)
			return &whole_figures[i];
	return NULL;
}

bool whole_has_gauge(const char *name) { return strncmp(name, "cuda.", 5) == 0; }

bool gauge_is_loss(const char *name)
{
	static const char *const words[] = { "loss", "error", "perplexity", "ppl", "wer", "mae", "mse", "rmse" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t length = strlen(words[i]), whole = strlen(name);
		const char *end = whole >= length ? name + whole - length : NULL;
		/* The last word of the name: "val_loss", "eval/loss". */
		if (end && strcasecmp(end, words[i]) == 0 && (end == name || strchr("_/.- ", end[-1])))
			return true;
	}
	return false;
}
