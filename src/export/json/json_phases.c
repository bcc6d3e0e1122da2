#include "src/export/json/json_phases.h"

#include "src/model/code/code_phases.h"
#include "src/model/code/step_phases.h"

void json_recent_phases(struct json *json, const struct model *model, const struct run *run)
{
	struct sampled_phases sampled;
	model_recent_phases(model, run, &sampled);
	if (!sampled.is_retained || sampled.samples < STEP_SAMPLES_MIN)
		return;
	json_open_array(json, "phases");
	for (int phase = 0; phase < CODE_PHASE_COUNT; phase++) {
		if (sampled.phases[phase].samples == 0)
			continue;
		json_open_object(json, NULL);
		json_text(json, "name", code_phase_name((enum code_phase)phase));
		json_number(json, "mean_s", sampled.phases[phase].share_ratio * sampled.step_s);
		json_number(json, "share_ratio", sampled.phases[phase].share_ratio);
		json_number(json, "error_ratio", sampled.phases[phase].error_ratio);
		json_unsigned(json, "samples", sampled.phases[phase].samples);
		json_bool(json, "is_sampled", true);
		json_close_object(json);
	}
	json_close_array(json);
	json_unsigned(json, "phases_steps", sampled.steps);
	json_unsigned(json, "phases_samples", sampled.samples);
}

void json_step_phases(struct json *json, const struct run *run, const struct explanation *why)
{
	if (!why->is_sampled || !why->is_retained)
		return;
	json_unsigned(json, "stack_samples", why->stack_samples);
	if (why->stack_samples < STEP_SAMPLES_MIN)
		return;
	json_open_array(json, "phases");
	for (size_t i = 0; i < why->row_count; i++) {
		const struct explain_row *row = &why->rows[i];
		json_open_object(json, NULL);
		json_text(json, "name", run_name(run, row->name));
		json_number(json, "seconds", row->this_s);
		json_number(json, "error_s", row->this_error_s);
		json_number(json, "share_ratio", row->this_s / why->step_s);
		json_number(json, "error_ratio", row->this_error_s / why->step_s);
		json_number(json, "usual_s", row->baseline_s);
		json_number(json, "excess_s", row->excess_s);
		json_number(json, "excess_error_s", row->error_s);
		json_unsigned(json, "samples", row->samples);
		json_bool(json, "is_sampled", true);
		json_close_object(json);
	}
	json_close_array(json);
}
