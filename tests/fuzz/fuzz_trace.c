/* Traces of profilers: read, analysed, and shown as text and as JSON, grouped in each way. Nothing that reaches a
 * terminal may hold a control character. */
#include <stdint.h>
#include <stdlib.h>

#include "src/base/buffer.h"
#include "src/trace/output/profile_diff.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/output/profile_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static void check(struct profile_analysis *analysis, enum profile_group group)
{
	struct buffer out = BUFFER_INIT;
	struct profile_view view = { .group = group, .width = 80 + 40 * (int)(group % 2), .limit = 20 };
	profile_as_text(&out, analysis, &view);
	for (size_t i = 0; i < out.length; i++)
		must((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n');
	buffer_clear(&out);
	profile_as_json(&out, &analysis, 1, &view);
	profile_diff_as_text(&out, analysis, analysis, &view);
	buffer_release(&out);
	for (uint32_t i = 0; i < analysis->idle.gpu_count; i++) {
		const struct profile_gpu *gpu = &analysis->idle.gpus[i];
		must(gpu->busy_ns >= 0 && gpu->busy_ns <= gpu->window_ns && gpu->overlap_ns <= gpu->communication_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reason reason;
	struct profile_analysis *analysis = malloc(sizeof *analysis);
	must(analysis != NULL);
	for (int group = GROUP_NAME; group <= GROUP_MODULE; group++)
		if (profile_analyse_memory(analysis, data, size, (enum profile_group)group, &reason) == STATUS_OK) {
			check(analysis, (enum profile_group)group);
			profile_analysis_release(analysis);
		}
	free(analysis);
	return 0;
}
