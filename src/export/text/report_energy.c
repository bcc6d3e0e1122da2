#include "src/export/text/report_energy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/figures/scope.h"
#include "src/export/table.h"

enum { CELLS = 15, VALUE_CELLS = 11 };

static void add_joules(struct buffer *out, const double *joules, size_t count)
{
	char text[NUMBER_SIZE];
	for (size_t i = 0; i < count; i++)
		table_right(out, CELLS, format_joules(text, joules[i]));
}

/* -- energy used -- */

static void add_sum(struct buffer *out, const char *name, double watts, double joules, double per_batch)
{
	char text[NUMBER_SIZE];
	if (isnan(watts) && isnan(joules))
		return;
	table_name(out, 0, name);
	table_right(out, CELLS, format_watts(text, watts));
	add_joules(out, (const double[]){ joules, per_batch }, 2);
	buffer_puts(out, "\n");
}

static void add_sums(struct buffer *out, const struct energy *energy)
{
	bool has_both = !isnan(energy->cpu_joules) && !isnan(energy->gpu_joules);
	table_name(out, 0, "");
	buffer_puts(out, "          Power   Since attach        A batch\n");
	table_rule(out, '-');
	add_sum(out, "CPUs of the machine, memory", energy->cpu_watts, energy->cpu_joules, energy->cpu_joules_per_batch);
	add_sum(out, "GPUs of the run", energy->gpu_watts, energy->gpu_joules, energy->gpu_joules_per_batch);
	if (has_both)
		add_sum(out, "Both", energy_total(energy->cpu_watts, energy->gpu_watts),
			energy->cpu_joules + energy->gpu_joules, energy->joules_per_batch);
	for (size_t i = 0; i < energy->meter_count; i++) {
		char name[ENERGY_NAME_SIZE + 8];
		snprintf(name, sizeof name, "meter %s", energy->meters[i].name);
		add_sum(out, name, energy->meters[i].watts, energy->meters[i].joules, NAN);
	}
	table_rule(out, '-');
}

/* The columns that some epoch of the run fills; the sum only beside both of its parts. */
struct epoch_columns {
	bool has_cpus, has_gpus, has_co2;
};

static void add_epoch(struct buffer *out, const struct run *run, const struct energy *energy,
	const struct epoch_energy *used, const struct epoch *epoch, struct epoch_columns columns)
{
	char name[64], number[RUN_EPOCH_NAME_SIZE];
	double both = energy_total(used->cpu_joules, used->gpu_joules), co2_g = energy_co2_g(energy, both);
	snprintf(name, sizeof name, "%s%s", run_epoch_name(run, epoch->ordinal, number),
		epoch->end_ns == 0   ? " (running)"
			: used->is_whole ? ""
							 : " (partly)");
	table_name(out, 0, name);
	add_joules(out, &used->cpu_joules, columns.has_cpus);
	add_joules(out, &used->gpu_joules, columns.has_gpus);
	add_joules(out, &both, columns.has_cpus && columns.has_gpus);
	if (columns.has_co2 && !isnan(co2_g))
		buffer_printf(out, "%*.3g g", CELLS - 2, co2_g);
	buffer_puts(out, "\n");
}

static void add_epochs(struct buffer *out, const struct model *model, unsigned run)
{
	const struct energy *energy = &model->energy;
	struct epoch_columns columns = { .has_co2 = !isnan(energy->grid_g_per_kwh) };
	bool has_any = false;
	for (size_t i = 0; i < energy->epoch_count; i++) {
		columns.has_cpus |= energy->epochs[i].run == run && !isnan(energy->epochs[i].cpu_joules);
		columns.has_gpus |= energy->epochs[i].run == run && !isnan(energy->epochs[i].gpu_joules);
	}
	for (size_t i = 0; i < energy->epoch_count && (columns.has_cpus || columns.has_gpus); i++) {
		const struct epoch *epoch =
			energy->epochs[i].run == run ? scope_epoch(&model->runs[run], energy->epochs[i].ordinal) : NULL;
		if (!epoch)
			continue;
		if (!has_any) {
			table_name(out, 0, "Epoch");
			buffer_printf(out, "%s%s%s%s\n", columns.has_cpus ? "           CPUs" : "",
				columns.has_gpus ? "           GPUs" : "",
				columns.has_cpus && columns.has_gpus ? "     As metered" : "",
				columns.has_co2 ? "            CO2" : "");
			table_rule(out, '-');
		}
		has_any = true;
		add_epoch(out, &model->runs[run], energy, &energy->epochs[i], epoch, columns);
	}
	if (has_any)
		table_rule(out, '-');
}

/* -- the rest -- */

static void add_value(struct buffer *out, const char *name, const char *value, const char *after)
{
	table_name(out, 0, name);
	table_right(out, VALUE_CELLS, value);
	buffer_printf(out, "%s%s\n", *after ? "   " : "", after);
}

static void add_co2(struct buffer *out, const struct energy *energy)
{
	char text[NUMBER_SIZE], after[64];
	if (isnan(energy->co2_g))
		return;
	snprintf(text, sizeof text, "%.3g g", energy->co2_g);
	snprintf(after, sizeof after, "(at %g g a kWh)", energy->grid_g_per_kwh);
	add_value(out, "CO2 since attach", text, after);
	if (isnan(energy->co2_g_per_epoch))
		return;
	snprintf(text, sizeof text, "%.3g g", energy->co2_g_per_epoch);
	add_value(out, "CO2 an epoch", text, "");
}

static void add_heat(struct buffer *out, const struct energy *energy)
{
	char text[NUMBER_SIZE], limit[NUMBER_SIZE], after[48];
	for (size_t i = 0; i < energy->sensor_count; i++) {
		const struct heat_sensor *sensor = &energy->sensors[i];
		if (isnan(sensor->celsius))
			continue;
		snprintf(after, sizeof after, isnan(sensor->limit_celsius) ? "%.0s" : "(limit %s)",
			format_celsius(limit, sensor->limit_celsius));
		add_value(out, sensor->name, format_celsius(text, sensor->celsius), after);
	}
	if (energy->cpu_clock_hz > 0)
		add_value(out, "CPU clock", format_hertz(text, energy->cpu_clock_hz), "");
	if (energy->throttles_per_s > 0)
		add_value(out, "Thermal throttling", format_rate(text, energy->throttles_per_s), "times a second");
}

void report_energy(struct buffer *out, const struct model *model, int run)
{
	const struct energy *energy = &model->energy;
	char text[NUMBER_SIZE];
	bool is_metered = energy_is_metered(energy);
	if (!is_metered && !energy_has_heat(energy))
		return;
	buffer_puts(out, "\n");
	table_title(out, is_metered ? "ENERGY" : "TEMPERATURES");
	if (is_metered)
		add_sums(out, energy);
	if (is_metered && run >= 0)
		add_epochs(out, model, (unsigned)run);
	if (is_metered && !isnan(energy->joules_per_sample))
		add_value(out, "A sample", format_joules(text, energy->joules_per_sample), "");
	if (is_metered)
		add_co2(out, energy);
	add_heat(out, energy);
	table_rule(out, '=');
}

/* -- a line -- */

/* "12.1kJ", the form in lines. */
static void add_close(struct buffer *out, const char *before, double joules, const char *after)
{
	char text[NUMBER_SIZE];
	if (isnan(joules))
		return;
	format_joules(text, joules);
	char *blank = strchr(text, ' ');
	if (blank)
		memmove(blank, blank + 1, strlen(blank));
	buffer_printf(out, "%s%s%s", before, text, after);
}

void energy_as_line(
	struct buffer *out, const struct energy *energy, const struct epoch_energy *used, const struct epoch *epoch)
{
	double both = energy_total(used->cpu_joules, used->gpu_joules), co2_g = energy_co2_g(energy, both);
	bool has_cpus = !isnan(used->cpu_joules);
	if (epoch->index == EPOCH_UNKNOWN)
		buffer_puts(out, "  Energy of the epoch:");
	else
		buffer_printf(out, "  Energy of epoch %" PRIu32 ":", epoch->index);
	add_close(out, " CPUs ", used->cpu_joules, "");
	add_close(out, has_cpus ? ", GPUs " : " GPUs ", used->gpu_joules, "");
	if (used->is_whole && epoch->batches)
		add_close(out, ", ", both / (double)epoch->batches, " a batch");
	if (!isnan(co2_g))
		buffer_printf(out, ", %.3gg CO2", co2_g);
	buffer_puts(out, used->is_whole ? "\n" : " (metered in part)\n");
}
