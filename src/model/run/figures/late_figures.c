#include "src/model/run/figures/late_figures.h"

#include <stdio.h>
#include <string.h>

#include "src/model/run/run_private.h"

const struct late_figure *run_late_figure(
	const struct run *run, uint32_t name, uint32_t mode, const struct rolling **window)
{
	for (size_t i = 0; name && i < run->late_figure_count; i++) {
		if (run->late_figures[i].name == name && run->late_figures[i].mode == mode) {
			if (window)
				*window = run->priv->late_windows[i];
			return &run->late_figures[i];
		}
	}
	return NULL;
}

void run_add_late_figure(struct run *run, uint32_t name, uint32_t mode, double value)
{
	size_t at = 0;
	while (at < run->late_figure_count && (run->late_figures[at].name != name || run->late_figures[at].mode != mode))
		at++;
	if (at == RUN_LATE_FIGURES_MAX)
		return;
	struct late_figure *figure = &run->late_figures[at];
	struct rolling **window = &run->priv->late_windows[at];
	if (at == run->late_figure_count) {
		run->late_figure_count++;
		*figure = (struct late_figure){ .name = name, .mode = mode };
		*window = rolling_new(RUN_RECENT);
	}
	figure->last = value;
	figure->count++;
	figure->mean += (value - figure->mean) / (double)figure->count;
	rolling_push(*window, value);
	figure->median = rolling_median(*window);
}

void run_release_late_figures(struct run *run)
{
	for (size_t i = 0; i < run->late_figure_count; i++)
		rolling_free(run->priv->late_windows[i]);
}

enum figure_unit late_figure_label(char *out, size_t size, const char *name)
{
	static const struct {
		const char *suffix;
		enum figure_unit unit;
	} units[] = { { "_s", FIGURE_SECONDS }, { "_bytes", FIGURE_BYTES }, { "_ratio", FIGURE_RATIO } };
	size_t length = strlen(name);
	enum figure_unit unit = FIGURE_NUMBER;
	for (size_t i = 0; i < sizeof units / sizeof *units && unit == FIGURE_NUMBER; i++) {
		size_t suffix = strlen(units[i].suffix);
		if (length <= suffix || strcmp(name + length - suffix, units[i].suffix) != 0)
			continue;
		unit = units[i].unit;
		length -= suffix;
	}
	bool is_of_gpu = strncmp(name, "gpu.", 4) == 0 && length > 4;
	size_t skipped = is_of_gpu ? 4 : 0;
	snprintf(out, size, "%.*s%s", (int)(length - skipped), name + skipped,
		!is_of_gpu                   ? ""
			: unit == FIGURE_SECONDS ? " (GPU clock)"
									 : " (GPU)");
	return unit;
}
