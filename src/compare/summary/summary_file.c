#include "src/compare/summary/summary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/files/new_file.h"
#include "src/base/formats/json.h"
#include "src/base/formats/json_tree.h"
#include "src/base/text.h"
#include "src/compare/summary/summary_report.h"

static const char format_name[] = "pmtop summary";
enum { FILE_MAX = 64 << 20 };

/* Figures that are a key and a number in the object of that name; "" is the whole. */
#define FIGURES(X) \
	X("", cpus) \
	X("", batch_size) \
	X("", loss) \
	X("step", total_s) \
	X("step", samples) \
	X("step", median_s) \
	X("step", mad_s) \
	X("step", mean_s) \
	X("step", p95_s) \
	X("step", least_s) \
	X("step", most_s) \
	X("step", middle_s) \
	X("step", samples_per_s) \
	X("step", steps_per_s) \
	X("memory", peak_bytes) \
	X("memory", growth_bytes) \
	X("memory", gpu_peak_bytes) \
	X("", train_s) \
	X("", flops_per_sample) \
	X("requests", requests) \
	X("requests", request_failed_ratio) \
	X("requests", request_p50_s) \
	X("requests", request_p95_s) \
	X("requests", request_p99_s) \
	X("gpu", gpu_busy_ratio) \
	X("gpu", gpu_used_bytes) \
	X("energy", joules) \
	X("energy", joules_per_sample) \
	X("energy", joules_per_batch)
#define COUNTS(X) \
	X("", batches) \
	X("", epochs) \
	X("", lost_events) \
	X("step", seen) \
	X("step", warmup)
#define TEXTS(X) \
	X(label) \
	X(command) \
	X(run) \
	X(host) \
	X(mode) \
	X(version)

/* -- writing -- */

/* Six digits give a step of 100 s to 0.1 ms, which is enough. */
static double rounded(double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.6g", value);
	return strtod(text, NULL);
}

static void write_series(struct json *json, const char *key, const double *values, size_t count)
{
	json_open_array(json, key);
	for (size_t i = 0; i < count; i++)
		json_number(json, NULL, rounded(values[i]));
	json_close_array(json);
}

static void write_part(struct json *json, const struct summary *summary, const char *part)
{
#define WRITE_FIGURE(of, name) \
	if (!strcmp(of, part)) \
		json_number(json, #name, summary->name);
#define WRITE_COUNT(of, name) \
	if (!strcmp(of, part)) \
		json_unsigned(json, #name, summary->name);
	COUNTS(WRITE_COUNT)
	FIGURES(WRITE_FIGURE)
#undef WRITE_FIGURE
#undef WRITE_COUNT
}

static void write_phases(struct json *json, const struct summary *summary)
{
	json_open_array(json, "phases");
	for (unsigned i = 0; i < summary->phase_count; i++) {
		const struct summary_phase *phase = &summary->phases[i];
		json_open_object(json, NULL);
		json_text(json, "name", phase->name);
		json_number(json, "mean_s", rounded(phase->mean_s));
		json_number(json, "share_ratio", rounded(phase->share_ratio));
		json_number(json, "total_s", phase->total_s);
		if (phase->seconds)
			write_series(json, "seconds", phase->seconds, summary->step_count);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_operations(struct json *json, const struct summary *summary)
{
	json_open_array(json, "operations");
	for (size_t i = 0; i < summary->operation_count; i++) {
		const struct summary_operation *operation = &summary->operations[i];
		json_open_object(json, NULL);
		json_text(json, "name", operation->name);
		json_text(json, "parent", operation->parent[0] ? operation->parent : NULL);
		json_unsigned(json, "depth", operation->depth);
		json_unsigned(json, "count", operation->count);
		json_number(json, "mean_s", operation->mean_s);
		json_number(json, "p50_s", operation->p50_s);
		json_number(json, "p95_s", operation->p95_s);
		json_number(json, "total_s", operation->total_s);
		json_number(json, "share_ratio", operation->share_ratio);
		json_close_object(json);
	}
	json_close_array(json);
}

/* Writes one line for each member and each object of a list, for diff(1). */
static void break_lines(struct buffer *out, const struct buffer *in)
{
	bool is_in_text = false, is_escaped = false, is_list_of_objects = false;
	unsigned depth = 0;
	for (size_t i = 0; i < in->length; i++) {
		char sign = in->data[i];
		bool is_quoted = is_in_text;
		if (sign == '"' && !is_escaped)
			is_in_text = !is_in_text;
		is_escaped = is_in_text && sign == '\\' && !is_escaped;
		if (is_quoted || is_in_text) {
			buffer_add(out, &sign, 1);
			continue;
		}
		bool opens = sign == '{' || sign == '[', closes = sign == '}' || sign == ']';
		if (depth == 1 && sign == '[')
			is_list_of_objects = in->data[i + 1] == '{';
		depth += opens;
		if (closes && (depth == 1 || (depth == 2 && sign == ']' && is_list_of_objects)))
			buffer_puts(out, depth == 1 ? "\n" : "\n  ");
		depth -= closes;
		buffer_add(out, &sign, 1);
		if (sign == ':')
			buffer_puts(out, " ");
		else if ((opens || sign == ',') &&
			(depth == 1 || (depth == 2 && is_list_of_objects && (sign == ',' || sign == '['))))
			buffer_puts(out, depth == 1 ? "\n  " : "\n    ");
		else if (sign == ',')
			buffer_puts(out, " ");
	}
}

void summary_write(struct buffer *out, const struct summary *summary)
{
	struct buffer compact = BUFFER_INIT;
	struct json json = { .out = &compact };
	json_open_object(&json, NULL);
	json_text(&json, "format", format_name);
	json_unsigned(&json, "summary_version", SUMMARY_VERSION);
	if (summary->made_ns)
		json_integer(&json, "made_ns", summary->made_ns);
#define WRITE_TEXT(name) json_text(&json, #name, summary->name[0] ? summary->name : NULL);
	TEXTS(WRITE_TEXT)
#undef WRITE_TEXT
	write_part(&json, summary, "");
	json_open_object(&json, "meta");
	for (size_t i = 0; i < summary->meta_count; i++)
		json_text(&json, summary->meta[i].key, summary->meta[i].value);
	json_close_object(&json);
	json_open_object(&json, "memory");
	json_text(&json, "verdict", summary->verdict[0] ? summary->verdict : NULL);
	write_part(&json, summary, "memory");
	json_close_object(&json);
	static const char *const parts[] = { "requests", "gpu", "energy" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		json_open_object(&json, parts[i]);
		write_part(&json, summary, parts[i]);
		json_close_object(&json);
	}
	json_open_object(&json, "gauges");
	for (size_t i = 0; i < summary->gauge_count; i++)
		json_number(&json, summary->gauges[i].name, summary->gauges[i].last);
	json_close_object(&json);
	write_operations(&json, summary);
	json_open_object(&json, "step");
	write_part(&json, summary, "step");
	json_unsigned(&json, "stride", summary->stride);
	json_close_object(&json);
	write_series(&json, "steps", summary->steps, summary->step_count);
	write_phases(&json, summary);
	json_close_object(&json);
	break_lines(out, &compact);
	buffer_puts(out, "\n");
	out->failed |= compact.failed;
	buffer_release(&compact);
}

enum status summary_save(const char *path, const struct summary *summary, struct reason *why_not)
{
	struct buffer text = BUFFER_INIT;
	summary_write(&text, summary);
	if (text.failed) {
		buffer_release(&text);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	int error = new_file_write(path, NEW_FILE_PRIVATE, text.data, text.length);
	buffer_release(&text);
	return error
		? reason_set(why_not, STATUS_IO, "name another file with --save", "cannot write %s: %s", path, strerror(error))
		: STATUS_OK;
}

/* -- reading -- */

void summary_take_text(char *out, size_t size, const struct json_value *object, const char *key)
{
	const char *text = json_member_text(object, key);
	if (text)
		text_clean(out, size, text, strlen(text));
}

void summary_take_gauges(const struct json_value *object, struct summary *out)
{
	for (const struct json_value *value = object ? object->first : NULL; value && out->gauge_count < SUMMARY_GAUGES_MAX;
		 value = value->next) {
		if (value->kind != JSON_NUMBER)
			continue;
		struct summary_gauge *gauge = &out->gauges[out->gauge_count++];
		text_clean(gauge->name, sizeof gauge->name, value->key, strlen(value->key));
		gauge->last = value->number;
	}
}

static uint64_t count_of(const struct json_value *object, const char *key)
{
	double count = json_member_number(object, key);
	return count >= 0 && count < 1e15 ? (uint64_t)count : 0;
}

/* Reads `count` numbers, none negative; NULL: the array is something else. */
static double *read_series(const struct json_value *array, size_t count)
{
	if (!array || array->count != count)
		return NULL;
	double *values = malloc((count ? count : 1) * sizeof *values);
	size_t at = 0;
	for (const struct json_value *value = array->first; values && value; value = value->next) {
		if (value->kind != JSON_NUMBER || value->number < 0) {
			free(values);
			return NULL;
		}
		values[at++] = value->number;
	}
	return values;
}

static bool read_phases(const struct json_value *array, struct summary *out)
{
	for (const struct json_value *value = array ? array->first : NULL; value; value = value->next) {
		if (out->phase_count == SUMMARY_PHASES_MAX)
			return false;
		struct summary_phase *phase = &out->phases[out->phase_count];
		*phase = (struct summary_phase){ .total_s = json_member_number(value, "total_s"),
			.seconds = read_series(json_member(value, "seconds", JSON_ARRAY), out->step_count) };
		summary_take_text(phase->name, sizeof phase->name, value, "name");
		if (!phase->seconds || !phase->name[0] || !isfinite(phase->total_s)) {
			free(phase->seconds);
			return false;
		}
		out->phase_count++;
	}
	return true;
}

static void read_operations(const struct json_value *array, struct summary *out)
{
	for (const struct json_value *value = array ? array->first : NULL;
		 value && out->operation_count < SUMMARY_OPERATIONS_MAX; value = value->next) {
		struct summary_operation *operation = &out->operations[out->operation_count++];
		*operation = (struct summary_operation){ .depth = (unsigned)count_of(value, "depth"),
			.count = count_of(value, "count"),
			.mean_s = json_member_number(value, "mean_s"),
			.p50_s = json_member_number(value, "p50_s"),
			.p95_s = json_member_number(value, "p95_s"),
			.total_s = json_member_number(value, "total_s"),
			.share_ratio = json_member_number(value, "share_ratio") };
		summary_take_text(operation->name, sizeof operation->name, value, "name");
		summary_take_text(operation->parent, sizeof operation->parent, value, "parent");
	}
}

static enum status read_summary(const struct json_value *root, struct summary *out, struct reason *why_not)
{
	const struct json_value *steps = json_member(root, "steps", JSON_ARRAY),
							*meta = json_member(root, "meta", JSON_OBJECT);
	double version = json_member_number(root, "summary_version");
	if (!(version >= SUMMARY_VERSION && version <= SUMMARY_VERSION))
		return reason_set(why_not, STATUS_UNSUPPORTED, "write it again with pmtop check --save",
			"the summary has version %g, not %d", version, SUMMARY_VERSION);
#define READ_TEXT(name) summary_take_text(out->name, sizeof out->name, root, #name);
#define READ_FIGURE(part, name) \
	out->name = json_member_number(*part ? json_member(root, part, JSON_OBJECT) : root, #name);
#define READ_COUNT(part, name) out->name = count_of(*part ? json_member(root, part, JSON_OBJECT) : root, #name);
	TEXTS(READ_TEXT)
	FIGURES(READ_FIGURE)
	COUNTS(READ_COUNT)
#undef READ_TEXT
#undef READ_FIGURE
#undef READ_COUNT
	summary_take_text(out->verdict, sizeof out->verdict, json_member(root, "memory", JSON_OBJECT), "verdict");
	double made_ns = json_member_number(root, "made_ns");
	out->made_ns = made_ns > 0 && made_ns < 9e18 ? (int64_t)made_ns : 0;
	uint64_t stride = count_of(json_member(root, "step", JSON_OBJECT), "stride");
	out->stride = stride ? (unsigned)stride : 1;
	for (const struct json_value *value = meta ? meta->first : NULL; value && out->meta_count < SUMMARY_META_MAX;
		 value = value->next) {
		text_clean(out->meta[out->meta_count].key, sizeof out->meta->key, value->key, strlen(value->key));
		summary_take_text(out->meta[out->meta_count++].value, sizeof out->meta->value, meta, value->key);
	}
	read_operations(json_member(root, "operations", JSON_ARRAY), out);
	summary_take_gauges(json_member(root, "gauges", JSON_OBJECT), out);
	out->origin = ORIGIN_SAVED;
	if (!steps || steps->count > SUMMARY_STEPS_MAX || !(out->steps = read_series(steps, steps->count)))
		return reason_set(
			why_not, STATUS_DAMAGED, "write it again with pmtop check --save", "its steps are not a list of times");
	out->step_count = steps->count;
	for (size_t i = 0; i < out->step_count; i++)
		if (!(out->steps[i] > 0))
			return reason_set(
				why_not, STATUS_DAMAGED, "write it again with pmtop check --save", "one of its steps takes no time");
	if (!read_phases(json_member(root, "phases", JSON_ARRAY), out))
		return reason_set(why_not, STATUS_DAMAGED, "write it again with pmtop check --save",
			"one of its phases has not as many values as there are steps");
	if (out->step_count && (out->seen < out->step_count || !(out->total_s > 0)))
		return reason_set(
			why_not, STATUS_DAMAGED, "write it again with pmtop check --save", "its steps contradict its totals");
	return summary_finish(out) ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
}

bool summary_is_file(const char *path)
{
	char begin[64];
	size_t length = 0;
	struct stat file;
	if (stat(path, &file) < 0 || !S_ISREG(file.st_mode) ||
		file_read(AT_FDCWD, path, begin, sizeof begin, &length) != STATUS_OK)
		return false;
	return begin[strspn(begin, " \t\r\n")] == '{';
}

static enum status read_file(const char *path, struct buffer *out, struct reason *why_not)
{
	char part[64 * 1024];
	size_t length;
	FILE *file = fopen(path, "re");
	if (!file)
		return reason_set(why_not, status_of_errno(errno), NULL, "%s", strerror(errno));
	while ((length = fread(part, 1, sizeof part, file)) > 0 && out->length <= FILE_MAX)
		buffer_add(out, part, length);
	bool is_whole = !ferror(file);
	fclose(file);
	if (out->length > FILE_MAX)
		return reason_set(why_not, STATUS_INVALID, NULL, "too large for a summary");
	return !is_whole  ? reason_set(why_not, STATUS_IO, NULL, "it cannot be read")
		: out->failed ? reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory")
					  : STATUS_OK;
}

enum status summary_load(const char *path, struct summary *out, struct reason *why_not)
{
	struct buffer text = BUFFER_INIT;
	struct json_tree *tree = NULL;
	struct reason why = { 0 };
	summary_init(out);
	enum status status = read_file(path, &text, &why);
	if (status == STATUS_OK && text.length == 0)
		status = reason_set(&why, STATUS_DAMAGED, NULL, "it is empty");
	if (status == STATUS_OK)
		status = json_tree_read(text.data, text.length, &tree, &why);
	if (status == STATUS_OK) {
		const struct json_value *root = json_tree_root(tree);
		const char *format = json_member_text(root, "format");
		if (format && strcmp(format, format_name) == 0)
			status = read_summary(root, out, &why);
		else if (!format && json_member(root, "self", JSON_OBJECT) && json_member(root, "time_ns", JSON_NUMBER))
			status = summary_of_report(root, out, &why);
		else
			status =
				reason_set(&why, STATUS_DAMAGED, "write one with pmtop check --save=FILE or pmtop report --format=json",
					"neither a summary nor a report of pmtop");
	}
	json_tree_free(tree);
	buffer_release(&text);
	if (status != STATUS_OK) {
		summary_release(out);
		return reason_set(why_not, status, why.remedy, "%s: %.160s", path, why.text);
	}
	snprintf(out->label, sizeof out->label, "%s", path);
	return STATUS_OK;
}
