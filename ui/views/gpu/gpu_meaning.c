/* One sentence on a GPU's figures, the trend of its memory, and why there is no GPU. */
#include "ui/views/gpu/gpu_meaning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/model/gpus/gpus_words.h"
#include "src/model/memory/memory_words.h"
#include "src/rules/note.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/widgets/parts.h"

/* -- the meaning: a note of the rule files. Its text begins with "GPU", so that the overview can insert a number -- */

bool gpu_meaning(const struct scene *scene, const struct gpu *gpu, char out[GPU_WORDS_SIZE])
{
	struct note note;
	bool is_ours = gpu->is_ours || gpu->lost[0] != '\0';
	bool is_known = is_ours && alerts_note_of(scene->alerts, "gpu_note", scene->model, gpu_run(scene, gpu), gpu, &note);
	out[0] = '\0';
	if (is_known)
		snprintf(out, GPU_WORDS_SIZE, "%s", note.text);
	else if (!is_ours && gpu_now(gpu, METRIC_GPU_BUSY) >= 0)
		snprintf(out, GPU_WORDS_SIZE, "GPU not known to be used by the run");
	return is_known && note.severity > SEVERITY_INFO;
}

/* -- memory -- */

void gpu_verdict_line(const struct gpu *gpu, struct line *line)
{
	bool is_growing = gpu_memory_is_growing(gpu), is_per_batch = !isnan(gpu->slope_per_batch);
	bool is_known = memory_verdict_is_known(gpu->verdict);
	enum role role = is_growing ? ROLE_WARNING : ROLE_NORMAL;
	double slope = is_per_batch ? gpu->slope_per_batch : gpu->slope.per_s;
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	if (!is_known) {
		line_add(line, 0, ROLE_DIM, gpu->slope.points == 0 ? "trend unclear: too few samples" : "trend unclear");
		return;
	}
	line_add(line, 0, role, "%s%s", is_growing ? "⚠ " : "", memory_verdict_word(gpu->verdict));
	if (gpu->slope.points > 0 && (is_growing || fabs(slope) >= 1))
		line_add(
			line, 2, role, "%s%s/%s", slope >= 0 ? "+" : "", format_bytes(text, slope), is_per_batch ? "batch" : "s");
	if (!isnan(gpu->full_in_s))
		line_add(line, 1, role, "full in %s", parts_waiting(text, gpu->full_in_s));
	line_add(line, 3, ROLE_DIM, "%s", gpu_memory_meaning(gpu));
}

/* -- where there is none -- */

const struct missing *gpu_missing(const struct model *model, const char *figure)
{
	const struct missing *like = NULL;
	for (size_t i = 0; i < model->missing_count; i++) {
		if (strcasecmp(model->missing[i].figure, figure) == 0)
			return &model->missing[i];
		if (strlen(figure) > 4 && strncasecmp(model->missing[i].figure, figure, strlen(figure)) == 0)
			like = &model->missing[i];
	}
	return like;
}

void gpu_absent_line(const struct model *model, struct line *line)
{
	const struct missing *missing = gpu_missing(model, "gpu");
	for (size_t i = 0; i < model->missing_count && !missing; i++)
		missing = model->missing[i].subject == MISSING_GPU ? &model->missing[i] : NULL;
	line_start(line, " · ");
	line_add(line, 0, ROLE_DIM, "GPU – %s", missing ? missing->text : "no driver reports one");
	if (missing && missing->remedy[0] != '\0')
		line_add(line, 2, ROLE_DIM, "%s", missing->remedy);
	line_add(line, 1, ROLE_KEY, "[5] details");
}

void gpu_absent_text(const struct model *model, char *out, size_t size)
{
	size_t length = 0;
	for (size_t i = 0; i < model->missing_count && length < size; i++) {
		const struct missing *missing = &model->missing[i];

		if (missing->subject != MISSING_GPU)
			continue;
		int written =
			snprintf(out + length, size - length, missing->remedy[0] != '\0' ? "%s: %s.\nTry: %s.\n" : "%s: %s.\n",
				missing->figure[3] == '\0' ? "Why" : missing->figure, missing->text, missing->remedy);

		length += written > 0 ? (size_t)written : 0;
	}
	if (length < size)
		snprintf(out + length, size - length, "%s%s", length == 0 ? "No driver reports a GPU here.\n" : "",
			"pmtop measures steps with the host clock: asynchronous GPU work counts where the CPU waits for it.\n"
			"pmtop doctor checks drivers, libraries and permissions, and says how to get each.");
}
