/* pmtop list: prints the runs that pmtop can watch, as a table or as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/session/command.h"
#include "src/session/output.h"
#include "src/session/runs/runs.h"

/* Enough for NVML to start while the driver stays loaded. If the driver has to load first, the list has no GPUs. */
#define GPU_WAIT_S 1.5

static void add_gpus(struct json *json, const struct gpu_users *users, const struct run_row *row)
{
	json_open_array(json, "gpus");
	for (size_t i = 0; i < row->gpu_use_count; i++) {
		json_open_object(json, NULL);
		json_text(json, "gpu", users->devices[row->gpu_uses[i].device].label);
		json_number(json, "process_memory_bytes", row->gpu_uses[i].memory_bytes);
		json_close_object(json);
	}
	json_close_array(json);
}

static void list_as_json(struct buffer *out, const struct gpu_users *users, const struct run_row *rows, size_t count)
{
	struct json json = { .out = out };
	json_open_array(&json, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct run_row *row = &rows[i];
		json_open_object(&json, NULL);
		if (!row->is_elsewhere)
			json_integer(&json, "pid", row->pid);
		json_text(&json, "run", row->run[0] ? row->run : NULL);
		json_text(&json, "rank", row->rank[0] ? row->rank : NULL);
		json_text(&json, "run_id", row->run_id[0] ? row->run_id : NULL);
		if (row->is_slowest)
			json_bool(&json, "is_slowest", true);
		json_text(&json, "command", row->command[0] ? row->command : NULL);
		if (row->has_batch) {
			json_integer(&json, "epoch_ordinal", row->epoch);
			json_integer(&json, "batches_in_epoch", (int64_t)row->batch);
		}
		json_number(&json, "rate_per_s", row->rate_per_s);
		json_number(&json, "rss_bytes", row->resident_bytes);
		if (row->gpu_use_count)
			add_gpus(&json, users, row);
		json_text(&json, "state", row->state);
		json_text(&json, "how", row->how);
		json_bool(&json, "live", row->is_live);
		json_close_object(&json);
	}
	json_close_array(&json);
	buffer_puts(out, "\n");
}

static void add_cell(struct buffer *out, const char *text, size_t width)
{
	size_t cells = text_cells(text);
	buffer_puts(out, text);
	buffer_printf(out, "%*s", (int)(cells < width ? width - cells : 0) + 2, "");
}

static void add_part(struct buffer *out, bool has, uint64_t done, uint64_t planned, size_t width)
{
	char text[48] = "-";
	if (has && planned)
		snprintf(text, sizeof text, "%llu/%llu", (unsigned long long)done, (unsigned long long)planned);
	else if (has)
		snprintf(text, sizeof text, "%llu", (unsigned long long)done);
	add_cell(out, text, width);
}

static void list_as_table(struct buffer *out, const struct gpu_users *users, const struct run_row *rows, size_t count)
{
	static const char *const heads[] = { "PID", "RUN", "RANK", "EPOCH", "BATCH", "RATE", "MEMORY", "GPU", "STATE" };
	static const size_t widths[] = { 7, 16, 5, 7, 13, 8, 9, 14, 22 };
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		add_cell(out, heads[i], widths[i]);
	buffer_puts(out, "HOW TO WATCH IT\n");
	for (size_t i = 0; i < count; i++) {
		const struct run_row *row = &rows[i];
		char number[NUMBER_SIZE], pid[16], state[sizeof row->state + 16], rate[NUMBER_SIZE + 2] = "-",
																							 gpu[GPU_WORDS_SIZE];
		snprintf(pid, sizeof pid, "%d", (int)row->pid);
		if (row->is_elsewhere)
			snprintf(pid, sizeof pid, "-");
		if (row->rate_per_s > 0)
			snprintf(rate, sizeof rate, "%s/s", format_rate(number, row->rate_per_s));
		add_cell(out, pid, widths[0]);
		add_cell(out, row->run[0] ? row->run : row->command[0] ? row->command : "-", widths[1]);
		add_cell(out, row->rank[0] ? row->rank : "-", widths[2]);
		add_part(out, row->has_batch, row->epoch, row->epochs, widths[3]);
		add_part(out, row->has_batch, row->batch, row->batches, widths[4]);
		add_cell(out, rate, widths[5]);
		add_cell(out, row->resident_bytes > 0 ? format_bytes(number, row->resident_bytes) : "-", widths[6]);
		add_cell(
			out, row->gpu_use_count ? gpu_use_words(users, row->gpu_uses, row->gpu_use_count, gpu) : "-", widths[7]);
		snprintf(state, sizeof state, "%s%s", row->is_slowest ? "slowest, " : "", row->state);
		add_cell(out, state, widths[8]);
		buffer_printf(out, "%s\n", row->how);
	}
	if (count == 0)
		buffer_puts(out,
			"no instrumented run and no Python process of yours: watch any process with pmtop -p PID; instrument one "
			"with pmtop.torch in Python or pmtop.h in C (man pmtop.h)\n");
}

static enum exit_code run_list(const struct options *options, const struct settings *settings)
{
	struct run_row *rows;
	struct buffer out = BUFFER_INIT;
	struct gpu_users *users = gpu_users_open(options, settings);
	gpu_users_read(users, GPU_WAIT_S);
	size_t count = runs_find(users, &rows);
	runs_print_left_out();
	int code = 0;
	if (options->format == FORMAT_JSON)
		list_as_json(&out, users, rows, count);
	else
		list_as_table(&out, users, rows, count);
	if (options->format != FORMAT_JSON)
		output_fit_locale(&out);
	output_flush(&out, &code);
	buffer_release(&out);
	free(rows);
	gpu_users_close(users);
	return (enum exit_code)code;
}

const struct command list_command = {
	.name = "list",
	.synopsis = "list",
	.summary = "list the runs that pmtop can watch",
	.example = "pmtop list --json",
	.formats = FORMATS_ALL_BUT_SVG,
	.run = run_list,
};
