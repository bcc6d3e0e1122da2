#include "src/commands/overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/commands/player.h"
#include "src/model/model.h"

enum { STEPS_MOST = 1000000 };

struct overlay {
	struct player *player;
	struct model *model;
	struct sample_set set;
	int64_t begin_ns, end_ns;    /* of the recording; 0 = not known */
	uint64_t next;               /* ordinal of the first step that is not taken over */
	size_t room;
	float *steps;
	struct earlier earlier;
};

enum status overlay_open(const char *path, struct overlay **out, struct reason *why_not)
{
	const char *slash = strrchr(path, '/');
	struct model_options options;
	struct overlay *overlay = calloc(1, sizeof *overlay);
	model_options_default(&options);
	if (overlay)
		overlay->model = model_new(&options);
	if (!overlay || !overlay->model) {
		overlay_close(overlay);
		return reason_set(why_not, STATUS_NO_MEMORY, "close some programs", "out of memory");
	}
	enum status status = player_open(path, 0, &overlay->player, why_not);
	if (status == STATUS_OK && player_is_pipe(overlay->player))
		status = reason_set(why_not, STATUS_INVALID, "give the file of a recording: --overlay=run.pmtop", "%s: an earlier run cannot come through a pipe", path);
	if (status != STATUS_OK) {
		overlay_close(overlay);
		return status;
	}
	player_span(overlay->player, &overlay->begin_ns, &overlay->end_ns);
	overlay->earlier = (struct earlier){ .is_shown = true, .is_reading = true, .median_s = NAN };
	snprintf(overlay->earlier.name, sizeof overlay->earlier.name, "%.60s", slash ? slash + 1 : path);
	*out = overlay;
	return STATUS_OK;
}

void overlay_close(struct overlay *overlay)
{
	if (!overlay)
		return;
	player_close(overlay->player);
	model_free(overlay->model);
	sample_set_release(&overlay->set);
	free(overlay->steps);
	free(overlay);
}

struct earlier *overlay_earlier(struct overlay *overlay)
{
	return &overlay->earlier;
}

static bool make_room(struct overlay *overlay, uint64_t count)
{
	if (count <= overlay->room)
		return true;
	if (count > STEPS_MOST)
		return false;
	size_t room = overlay->room ? overlay->room : 1024;
	while (room < count)
		room *= 2;
	float *steps = realloc(overlay->steps, room * sizeof *steps);
	if (!steps)
		return false;
	overlay->steps = steps;
	overlay->room = room;
	return true;
}

/* Of the first run that has batches: a step is known when the next batch has begun. */
static void take_steps(struct overlay *overlay)
{
	const struct model *model = overlay->model;
	const struct track *track = NULL;
	for (unsigned i = 0; i < model->run_count && !track; i++)
		if (run_main(&model->runs[i])->count > 0)
			track = run_main(&model->runs[i]);
	for (; track && overlay->next < track->end && make_room(overlay, overlay->next + 1); overlay->next++) {
		const struct batch *batch = track_batch(track, overlay->next);
		if (batch && isnan(batch->step_s) && overlay->next + 1 >= track->end && overlay->earlier.is_reading)
			break;
		overlay->steps[overlay->next] = batch ? (float)batch->step_s : NAN;
	}
	overlay->earlier.steps = overlay->steps;
	overlay->earlier.count = (size_t)overlay->next;
}

static int ascending(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;
	return (a > b) - (a < b);
}

static double median_step(const float *steps, size_t count)
{
	float *known = malloc((count ? count : 1) * sizeof *known);
	size_t kept = 0;
	if (!known)
		return NAN;
	for (size_t i = 0; i < count; i++)
		if (!isnan(steps[i]))
			known[kept++] = steps[i];
	qsort(known, kept, sizeof *known, ascending);
	double median = kept ? ((double)known[(kept - 1) / 2] + (double)known[kept / 2]) / 2 : NAN;
	free(known);
	return median;
}

bool overlay_read(struct overlay *overlay, int64_t budget_ns)
{
	struct earlier *earlier = &overlay->earlier;
	int64_t until_ns = clock_monotonic_ns() + budget_ns;
	while (earlier->is_reading && clock_monotonic_ns() < until_ns) {
		earlier->is_reading = player_take(overlay->player, &overlay->set);
		if (earlier->is_reading)
			model_apply(overlay->model, &overlay->set);
		take_steps(overlay);
	}
	double whole = (double)(overlay->end_ns - overlay->begin_ns);
	if (whole > 0)
		earlier->read_percent = (int)fmin(100, fmax(0, 100 * (double)(overlay->model->now_ns - overlay->begin_ns) / whole));
	if (!earlier->is_reading && isnan(earlier->median_s))
		earlier->median_s = median_step(earlier->steps, earlier->count);
	return earlier->is_reading;
}
