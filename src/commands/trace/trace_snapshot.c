#include "src/commands/trace/trace_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/session/output.h"
#include "src/trace/snapshot/snapshot_diff.h"
#include "src/trace/snapshot/snapshot_json.h"
#include "src/trace/snapshot/snapshot_text.h"

static struct profile_view view_of(const struct options *options, const struct settings *settings)
{
	return (struct profile_view){ .limit = options->limit > UINT32_MAX ? 0 : (uint32_t)options->limit,
		.width = output_width(),
		.has_color = output_has_color(settings) };
}

int trace_snapshot_count(char *const *paths, int count)
{
	int snapshots = 0;
	for (int i = 0; i < count; i++)
		snapshots += snapshot_is_pickle(paths[i]);
	return snapshots;
}

static void report_loss(const struct snapshot *snapshot)
{
	char loss[400], path[200];
	if (!snapshot_loss(snapshot, loss, sizeof loss)[0])
		return;
	text_clean(path, sizeof path, snapshot->path, strlen(snapshot->path));
	fprintf(stderr, "pmtop: %s: %s\n", path, loss);
}

/* Reads and prints one, then releases it: several need the memory of the largest. */
static enum exit_code print_one(
	struct buffer *out, struct json *json, const char *path, const struct profile_view *view)
{
	struct reason reason = { "", "" };
	struct snapshot *snapshot = malloc(sizeof *snapshot);
	enum status status = snapshot ? snapshot_read(snapshot, path, &reason)
								  : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	if (status == STATUS_OK) {
		if (json)
			snapshot_as_json(json, snapshot, view);
		else
			snapshot_as_text(out, snapshot, view);
		report_loss(snapshot);
		snapshot_release(snapshot);
	}
	free(snapshot);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}

static enum exit_code flush(struct buffer *out, bool is_json, enum exit_code before)
{
	int code = 0;
	if (!is_json)
		output_fit_locale(out);
	output_flush(out, &code);
	buffer_release(out);
	return code ? EXIT_RUNTIME : before;
}

enum exit_code trace_snapshot_print(
	const char *const *paths, int count, const struct options *options, const struct settings *settings)
{
	struct profile_view view = view_of(options, settings);
	struct buffer out = BUFFER_INIT;
	struct json json = { .out = &out };
	bool is_json = options->format == FORMAT_JSON, is_array = is_json && count > 1;
	enum exit_code code = EXIT_OK;
	if (is_array) {
		json_open_object(&json, NULL);
		json_open_array(&json, "snapshots");
	}
	for (int i = 0; i < count; i++) {
		if (i && !is_json)
			buffer_puts(&out, "\n");
		enum exit_code one = print_one(&out, is_json ? &json : NULL, paths[i], &view);
		code = one == EXIT_OK ? code : one;
	}
	if (is_array) {
		json_close_array(&json);
		json_close_object(&json);
	}
	if (is_json && out.length)
		buffer_puts(&out, "\n");
	return flush(&out, is_json, code);
}

enum exit_code trace_snapshot_diff(
	const char *a, const char *b, const struct options *options, const struct settings *settings)
{
	struct profile_view view = view_of(options, settings);
	const char *const paths[] = { a, b };
	struct snapshot *both = calloc(2, sizeof *both);
	struct buffer out = BUFFER_INIT;
	struct json json = { .out = &out };
	struct reason reason = { "", "" };
	enum status status = both ? STATUS_OK : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	int done = 0;
	for (; done < 2 && status == STATUS_OK; done += status == STATUS_OK)
		status = snapshot_read(&both[done], paths[done], &reason);
	if (status == STATUS_OK && options->format == FORMAT_JSON) {
		snapshot_diff_as_json(&json, &both[0], &both[1]);
		buffer_puts(&out, "\n");
	} else if (status == STATUS_OK) {
		snapshot_diff_as_text(&out, &both[0], &both[1], &view);
	}
	while (done > 0)
		snapshot_release(&both[--done]);
	free(both);
	return flush(&out, options->format == FORMAT_JSON, status == STATUS_OK ? EXIT_OK : command_fail(status, &reason));
}
