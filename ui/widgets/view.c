#include "ui/widgets/view.h"

#include <string.h>

const struct run *scene_run(const struct scene *scene)
{
	if (scene->run < 0 || (unsigned)scene->run >= scene->model->run_count || !scene->model->runs[scene->run].is_used)
		return NULL;
	return &scene->model->runs[scene->run];
}

/* Names that programs use for the same phase; pmtop's Python adapters use the first of each. */
static const struct {
	const char *name;
	enum role role;
} known_phases[] = {
	{ "data", ROLE_PHASE_0 },
	{ "load", ROLE_PHASE_0 },
	{ "data_loading", ROLE_PHASE_0 },
	{ "dataloader", ROLE_PHASE_0 },
	{ "forward", ROLE_PHASE_1 },
	{ "backward", ROLE_PHASE_2 },
	{ "optimizer", ROLE_PHASE_3 },
	{ "optimizer_step", ROLE_PHASE_3 },
	{ "step", ROLE_PHASE_3 },
};

const struct track *scene_track(const struct scene *scene, const struct run *run)
{
	const struct track *track = scene->focus.has_mode ? run_track_of(run, scene->focus.mode) : NULL;
	return track ? track : run_main(run);
}

bool scene_has_focus(const struct scene *scene, const struct run *run, const struct track *track)
{
	return !scene->focus.at_live_end && track == scene_track(scene, run);
}

bool is_mode_of(const struct run *run, uint32_t mode, const struct track *track)
{
	return mode == track->mode || strcmp(run_name(run, mode), run_name(run, track->mode)) == 0;
}

bool is_main_mode(const struct run *run, uint32_t mode) { return is_mode_of(run, mode, run_main(run)); }

enum role phase_role(const struct run *run, uint32_t name)
{
	const char *text = run_name(run, name);
	unsigned order = 0;
	for (size_t i = 0; i < sizeof known_phases / sizeof known_phases[0]; i++)
		if (strcmp(text, known_phases[i].name) == 0)
			return known_phases[i].role;
	if (name == NAME_UNATTRIBUTED)
		return ROLE_PHASE_7;
	if (name == NAME_BETWEEN)
		return ROLE_PHASE_6;
	for (size_t i = 0; i < run->operation_count && run->operations[i].name != name; i++)
		order += run->operations[i].depth == 0;
	return (enum role)(ROLE_PHASE_4 + order % 2);
}
