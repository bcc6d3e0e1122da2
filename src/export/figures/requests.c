#include "src/export/figures/requests.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/export/table.h"

static const struct {
	const char *key, *title;
	double seconds;
} windows[] = {
	{ "last_1m", "last minute", 60 },
	{ "last_5m", "last 5 minutes", 300 },
	{ "last_1h", "last hour", 3600 },
};
enum { WINDOWS = sizeof windows / sizeof *windows };

/* -- JSON -- */

static void write_figures(struct json *json, const struct request_figures *figures)
{
	json_unsigned(json, "count", figures->count);
	json_number(json, "rate_per_s", figures->rate_per_s);
	json_unsigned(json, "failed", figures->failed);
	json_unsigned(json, "over_sla", figures->over_sla);
	json_number(json, "mean_s", figures->mean_s);
	json_number(json, "p50_s", figures->p50_s);
	json_number(json, "p95_s", figures->p95_s);
	json_number(json, "p99_s", figures->p99_s);
	json_number(json, "max_s", figures->max_s);
}

static void write_rows(
	struct json *json, const struct model *model, const struct requests *requests, int64_t realtime_offset_ns)
{
	struct request_figures figures;
	struct request_late late[REQUEST_LATE_MAX];
	json_open_array(json, "patterns");
	for (size_t i = 0; i < requests_patterns(requests); i++) {
		json_open_object(json, NULL);
		json_text(json, "pattern", requests_pattern(requests, i, model->now_ns, &figures));
		write_figures(json, &figures);
		json_close_object(json);
	}
	json_close_array(json);
	json_open_array(json, "hours");
	for (size_t i = 0; i < requests_hours(requests); i++) {
		int64_t begin_ns = requests_hour(requests, i, &figures);
		json_open_object(json, NULL);
		json_integer(json, "begin_ns", begin_ns + realtime_offset_ns);
		write_figures(json, &figures);
		json_close_object(json);
	}
	json_close_array(json);
	json_open_array(json, "late");
	for (size_t i = 0, count = requests_late(requests, late, REQUEST_LATE_MAX); i < count; i++) {
		json_open_object(json, NULL);
		json_integer(json, "time_ns", late[i].time_ns + realtime_offset_ns);
		json_number(json, "seconds", late[i].seconds);
		json_text(json, "pattern", late[i].pattern);
		json_text(json, "name", late[i].name);
		json_close_object(json);
	}
	json_close_array(json);
}

void json_requests(struct json *json, const struct model *model, const struct run *run, int64_t realtime_offset_ns)
{
	struct request_figures figures;
	if (!run->requests)
		return;
	json_open_object(json, "requests");
	json_number(json, "sla_s", requests_sla_s(run->requests));
	requests_whole(run->requests, model->now_ns, &figures);
	write_figures(json, &figures);
	for (size_t i = 0; i < WINDOWS; i++) {
		json_open_object(json, windows[i].key);
		requests_window(run->requests, windows[i].seconds, model->now_ns, &figures);
		write_figures(json, &figures);
		json_close_object(json);
	}
	write_rows(json, model, run->requests, realtime_offset_ns);
	json_close_object(json);
}

/* -- tables -- */

static void add_header(struct buffer *out, const char *title, const char *first, double sla_s)
{
	table_title(out, title);
	table_name(out, 0, first);
	buffer_printf(out, "    Count  Failed     p50 (s)   p95 (s)   p99 (s)   Max (s) > %g s\n", sla_s);
	table_rule(out, '-');
}

static void add_row(struct buffer *out, const char *name, const struct request_figures *figures)
{
	table_name(out, 0, name);
	buffer_printf(out, "%9" PRIu64 "%8" PRIu64 "  ", figures->count, figures->failed);
	table_seconds(out, 10, figures->p50_s);
	table_seconds(out, 10, figures->p95_s);
	table_seconds(out, 10, figures->p99_s);
	table_seconds(out, 10, figures->max_s);
	buffer_printf(out, "%7" PRIu64 "\n", figures->over_sla);
}

void report_requests(struct buffer *out, const struct model *model, const struct run *run)
{
	struct request_figures figures;
	char name[64];
	if (!run->requests)
		return;
	double sla_s = requests_sla_s(run->requests);
	add_header(out, "REQUESTS", "Pattern", sla_s);
	for (size_t i = 0; i < requests_patterns(run->requests); i++) {
		const char *pattern = requests_pattern(run->requests, i, model->now_ns, &figures);
		add_row(out, pattern, &figures);
	}
	table_rule(out, '-');
	for (size_t i = 0; i < WINDOWS; i++) {
		requests_window(run->requests, windows[i].seconds, model->now_ns, &figures);
		add_row(out, windows[i].title, &figures);
	}
	requests_whole(run->requests, model->now_ns, &figures);
	add_row(out, "ALL", &figures);
	table_rule(out, '=');
	buffer_puts(out, "\n");
	add_header(out, "REQUESTS BY THE HOUR", "Hour since the first request", sla_s);
	int64_t first_ns = 0;
	for (size_t i = 0; i < requests_hours(run->requests); i++) {
		int64_t begin_ns = requests_hour(run->requests, i, &figures);
		first_ns = i ? first_ns : begin_ns;
		snprintf(name, sizeof name, "%" PRId64 ", until %.0f min ago", (begin_ns - first_ns) / (3600 * NS_PER_S) + 1,
			model->now_ns > begin_ns + 3600 * NS_PER_S ? (double)(model->now_ns - begin_ns) / 60e9 - 60 : 0);
		add_row(out, name, &figures);
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}
