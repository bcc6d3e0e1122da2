#include "src/export/text/gpu_lines.h"

#include <math.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/memory/memory_words.h"

#define BYTES_PER_MB 1e6

/* "  GPU 1: XID 94: contained memory error" */
static void add_happenings(struct buffer *out, struct lines *lines, const struct model *model)
{
	const struct gpus *gpus = &model->gpus;
	char label[48];
	uint64_t first = gpus->happening_count > GPU_EVENTS_RETAINED ? gpus->happening_count - GPU_EVENTS_RETAINED : 0;
	for (uint64_t i = lines->gpu_happenings > first ? lines->gpu_happenings : first; i < gpus->happening_count; i++) {
		const struct gpu_happening *happening = &gpus->happenings[i % GPU_EVENTS_RETAINED];
		const struct gpu *gpu = model_gpu(model, happening->instance);
		buffer_printf(out, "  %s: %s\n", gpu ? gpu_label(model, gpu, label, sizeof label) : "GPU", happening->text);
	}
	lines->gpu_happenings = gpus->happening_count;
}

static struct gpu_line *line_of(struct lines *lines, int32_t instance)
{
	size_t at = 0;
	while (at < lines->gpu_count && lines->gpus[at].instance != instance)
		at++;
	if (at == GPUS_MAX)
		return NULL;
	if (at == lines->gpu_count)
		lines->gpus[lines->gpu_count++] = (struct gpu_line){ .instance = instance };
	return &lines->gpus[at];
}

static void add_lost(struct buffer *out, struct gpu_line *line, const struct gpu *gpu, const char *label)
{
	bool is_lost = gpu->lost[0] != '\0';
	if (is_lost && !line->is_lost)
		buffer_printf(out, "  %s is lost: %s\n", label, gpu->lost);
	line->is_lost = is_lost;
}

/* "  GPU 0 memory: leak, 20.04MB a batch, full in 3:36": printed when the memory begins to grow, and once when it
 * stops. */
static void add_memory(struct buffer *out, struct gpu_line *line, const struct gpu *gpu, const char *label)
{
	bool is_growing = gpu_memory_is_growing(gpu), is_same = line->verdict == gpu->verdict;
	char text[NUMBER_SIZE];
	if (is_same || (!is_growing && (line->verdict == MEMORY_NOT_JUDGED || !memory_verdict_is_known(gpu->verdict))))
		return;
	line->verdict = is_growing ? gpu->verdict : MEMORY_NOT_JUDGED;
	buffer_printf(out, "  %s memory: %s", label, memory_verdict_word(gpu->verdict));
	if (is_growing && !isnan(gpu->slope_per_batch))
		buffer_printf(out, ", %.2fMB a batch", gpu->slope_per_batch / BYTES_PER_MB);
	if (!isnan(gpu->full_in_s))
		buffer_printf(out, ", full in %s", format_seconds(text, gpu->full_in_s));
	buffer_puts(out, "\n");
}

void gpus_as_lines(struct buffer *out, struct lines *lines, const struct model *model)
{
	char label[48];
	add_happenings(out, lines, model);
	for (size_t i = 0; i < model->gpus.count; i++) {
		const struct gpu *gpu = &model->gpus.gpus[i];
		struct gpu_line *line = line_of(lines, gpu->instance);
		if (!line)
			continue;
		gpu_label(model, gpu, label, sizeof label);
		add_lost(out, line, gpu, label);
		add_memory(out, line, gpu, label);
	}
}
