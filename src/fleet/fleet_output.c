#include "src/fleet/fleet_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/text.h"

enum { TEXT_HOSTS = 16, TEXT_RANKS = 20 };

/* -- words -- */

const char *fleet_words_hosts(const struct fleet_view *view, size_t count, char out[FLEET_WORDS_SIZE])
{
	static const enum fleet_host_state order[] = { FLEET_HOST_LIVE, FLEET_HOST_SILENT, FLEET_HOST_ENDED,
		FLEET_HOST_STARTING, FLEET_HOST_WAITING };
	size_t used = (size_t)snprintf(out, FLEET_WORDS_SIZE, "%zu host%s", count, count == 1 ? "" : "s");
	const char *between = ": ";
	for (size_t i = 0; i < sizeof order / sizeof *order && used < FLEET_WORDS_SIZE; i++) {
		if (!view->host_states[order[i]])
			continue;
		used += (size_t)snprintf(out + used, FLEET_WORDS_SIZE - used, "%s%zu %s", between, view->host_states[order[i]],
			fleet_host_state_name(order[i]));
		between = ", ";
	}
	return out;
}

const char *fleet_words_clock(const struct fleet_host *host, char out[FLEET_WORDS_SIZE])
{
	char ahead[NUMBER_SIZE], error[NUMBER_SIZE];
	const struct fleet_offset *offset = &host->offset;
	if (offset->method == FLEET_CLOCK_EXCHANGE)
		snprintf(out, FLEET_WORDS_SIZE, "%s%s ±%s", offset->wall_s < 0 ? "-" : "+",
			format_seconds(ahead, fabs(offset->wall_s)), format_seconds(error, offset->error_s));
	else
		snprintf(out, FLEET_WORDS_SIZE, "%s", fleet_clock_method_name(offset->method));
	return out;
}

const char *fleet_words_reason(const struct fleet_host *host, char out[FLEET_WORDS_SIZE])
{
	bool is_relayed = !host->reason[0] && host->relay, is_relay = is_relayed && host->relay->name == host->name;
	snprintf(out, FLEET_WORDS_SIZE, "%s%s",
		is_relay         ? "relay"
			: is_relayed ? "through "
						 : "",
		is_relay         ? ""
			: is_relayed ? host->relay->name
						 : host->reason);
	return out;
}

const char *fleet_words_retry(const struct fleet_host *host, char out[FLEET_WORDS_SIZE])
{
	out[0] = '\0';
	if (host->state == FLEET_HOST_ENDED && host->pause_ns)
		snprintf(out, FLEET_WORDS_SIZE, "; next try after %.0f s", seconds_between(0, host->pause_ns));
	return out;
}

const char *fleet_words_self(const struct fleet *fleet, char out[FLEET_WORDS_SIZE])
{
	char cpu[NUMBER_SIZE], memory[NUMBER_SIZE], rate[NUMBER_SIZE];
	struct fleet_self self = fleet_self(fleet);
	size_t used = (size_t)snprintf(out, FLEET_WORDS_SIZE, "pmtop %s CPU, %s, %s%s", format_percent(cpu, self.cpu_ratio),
		format_bytes(memory, self.resident_bytes), format_bytes(rate, self.bytes_per_s),
		isfinite(self.bytes_per_s) ? "/s" : "");
	if (self.relays)
		snprintf(out + used, FLEET_WORDS_SIZE - used, ", %zu relay%s", self.relays, self.relays == 1 ? "" : "s");
	return out;
}

/* -- JSON -- */

static void json_host(struct json *json, const struct fleet_host *host)
{
	bool has_stream = host->version[0] != '\0';
	json_open_object(json, NULL);
	json_text(json, "host", host->name);
	json_text(json, "state", fleet_host_state_name(host->state));
	json_text(json, "reason", host->reason[0] ? host->reason : NULL);
	if (host->state == FLEET_HOST_ENDED && host->pause_ns)
		json_number(json, "retry_s", seconds_between(0, host->pause_ns));
	json_text(json, "relay", host->relay ? host->relay->name : NULL);
	json_text(json, "machine", has_stream ? host->machine : NULL);
	json_text(json, "pmtop", has_stream ? host->version : NULL);
	json_unsigned(json, "ranks", host->rank_count);
	json_text(json, "clock", fleet_clock_method_name(host->offset.method));
	json_number(json, "clock_offset_s", host->offset.wall_s);
	json_number(json, "clock_error_s", host->offset.error_s);
	json_number(json, "bytes_per_s", host->bytes_per_s);
	json_unsigned(json, "starts", host->starts);
	json_close_object(json);
}

static void json_rank(struct json *json, const struct fleet_row *row)
{
	const struct fleet_rank *rank = row->rank;
	json_open_object(json, NULL);
	if (rank->number >= 0)
		json_integer(json, "rank", rank->number);
	json_text(json, "host", row->host->name);
	if (rank->pid)
		json_integer(json, "pid", rank->pid);
	json_text(json, "run", rank->name[0] ? rank->name : NULL);
	json_text(json, "state", fleet_rank_state_name(row->state));
	if (row->has_steps)
		json_unsigned(json, "step", row->step);
	json_number(json, "step_s", row->step_s);
	json_number(json, "own_s", row->own_s);
	json_number(json, "wait_s", row->wait_s);
	json_number(json, "data_s", row->data_s);
	json_number(json, "wait_ratio", row->wait_ratio);
	json_number(json, "lost_s", row->lost_s);
	json_number(json, "lost_ratio", row->lost_ratio);
	json_number(json, "ratio", row->ratio);
	json_number(json, "late_s", row->late_s);
	json_number(json, "still_s", row->still_s);
	json_number(json, "gpu_busy_ratio", rank->gpu_busy_ratio);
	json_number(json, "resident_bytes", rank->resident_bytes);
	json_close_object(json);
}

void fleet_json(struct buffer *out, const struct fleet *fleet, const struct fleet_view *view, int64_t realtime_ns)
{
	struct json json = { .out = out };
	struct fleet_self self = fleet_self(fleet);
	struct fleet_host *const *hosts;
	size_t count = fleet_hosts(fleet, &hosts);
	json_open_object(&json, NULL);
	json_number(&json, "time", (double)realtime_ns * 1e-9);
	json_number(&json, "step_s", view->median_step_s);
	json_bool(&json, "synchronous", view->is_synchronous);
	json_number(&json, "compared_s", view->median_s);
	json_number(&json, "lost_ratio", view->lost_ratio);
	json_number(&json, "clock_error_s", view->clock_error_s);
	json_open_array(&json, "hosts");
	for (size_t i = 0; i < count; i++)
		json_host(&json, hosts[i]);
	json_close_array(&json);
	json_open_array(&json, "ranks");
	for (size_t i = 0; i < view->count; i++)
		json_rank(&json, &view->rows[i]);
	json_close_array(&json);
	json_open_object(&json, "self");
	json_number(&json, "cpu_ratio", self.cpu_ratio);
	json_number(&json, "memory_bytes", self.resident_bytes);
	json_number(&json, "bytes_per_s", self.bytes_per_s);
	json_unsigned(&json, "relays", self.relays);
	json_close_object(&json);
	json_close_object(&json);
	buffer_puts(out, "\n");
}

/* -- text -- */

/* Pads to `cells` columns: printf counts bytes. */
static void add_cell(struct buffer *out, const char *text, size_t cells, bool is_right)
{
	size_t used = text_cells(text), pad = used < cells ? cells - used : 0;
	for (size_t i = 0; is_right && i < pad; i++)
		buffer_puts(out, " ");
	buffer_puts(out, text);
	for (size_t i = 0; !is_right && i < pad; i++)
		buffer_puts(out, " ");
	buffer_puts(out, "  ");
}

static void text_host(struct buffer *out, const struct fleet_host *host)
{
	char clock[FLEET_WORDS_SIZE], reason[FLEET_WORDS_SIZE], retry[FLEET_WORDS_SIZE], rate[NUMBER_SIZE];
	buffer_puts(out, "  ");
	add_cell(out, host->name, 20, false);
	add_cell(out, fleet_host_state_name(host->state), 8, false);
	add_cell(out, fleet_words_clock(host, clock), 22, true);
	format_bytes(rate, host->bytes_per_s);
	add_cell(out, rate, 8, true);
	buffer_printf(out, "%s%s\n", fleet_words_reason(host, reason), fleet_words_retry(host, retry));
}

static void text_hosts(struct buffer *out, const struct fleet *fleet)
{
	struct fleet_host *const *hosts;
	size_t count = fleet_hosts(fleet, &hosts), shown = 0, left = 0;
	buffer_puts(out, "  HOST                  STATE                      CLOCK       B/s  REASON\n");
	for (size_t i = 0; i < count; i++) {
		bool is_wanted = count <= TEXT_HOSTS || hosts[i]->state != FLEET_HOST_LIVE;
		left += is_wanted && shown >= TEXT_HOSTS;
		if (!is_wanted || shown >= TEXT_HOSTS)
			continue;
		text_host(out, hosts[i]);
		shown++;
	}
	if (left)
		buffer_printf(out, "  and %zu more that are not live\n", left);
}

static void text_rank(struct buffer *out, const struct fleet_row *row)
{
	char text[64], number[NUMBER_SIZE];
	buffer_puts(out, "  ");
	add_cell(out, fleet_row_name(row, text, sizeof text), 11, false);
	add_cell(out, row->host->name, 20, false);
	snprintf(text, sizeof text, row->has_steps ? "%llu" : "–", (unsigned long long)row->step);
	add_cell(out, text, 8, true);
	add_cell(out, format_fixed_seconds(number, row->step_s), 8, true);
	snprintf(text, sizeof text, isfinite(row->ratio) ? "%.2f" : "–", row->ratio);
	add_cell(out, text, 6, true);
	add_cell(out, format_fixed_seconds(number, row->own_s), 8, true);
	add_cell(out, format_percent(number, row->wait_ratio), 5, true);
	add_cell(out, format_percent(number, row->lost_ratio), 5, true);
	add_cell(out, format_fixed_seconds(number, row->late_s), 8, true);
	add_cell(out, format_percent(number, row->rank->gpu_busy_ratio), 5, true);
	add_cell(out, format_bytes(number, row->rank->resident_bytes), 8, true);
	buffer_printf(out, "%s\n", fleet_rank_state_name(row->state));
}

void fleet_text(struct buffer *out, const struct fleet *fleet, const struct fleet_view *view)
{
	char words[FLEET_WORDS_SIZE], number[NUMBER_SIZE];
	struct fleet_host *const *hosts;
	size_t count = fleet_hosts(fleet, &hosts);
	buffer_printf(
		out, "%s · %zu rank%s", fleet_words_hosts(view, count, words), view->count, view->count == 1 ? "" : "s");
	buffer_printf(out, " · step %s", format_fixed_seconds(number, view->median_step_s));
	buffer_printf(out, " · clocks ±%s", format_seconds(number, view->clock_error_s));
	buffer_printf(out, " · %s\n", fleet_words_self(fleet, words));
	text_hosts(out, fleet);
	if (view->count)
		buffer_puts(out,
			"  RANK         HOST                      STEP      TIME     ×M       OWN   WAIT   LOST      LATE    GPU   "
			" "
			"MEMORY  STATE\n");
	for (size_t i = 0; i < view->count && i < TEXT_RANKS; i++)
		text_rank(out, &view->rows[i]);
	if (view->count > TEXT_RANKS)
		buffer_printf(out, "  and %zu more ranks (--json has all)\n", view->count - TEXT_RANKS);
}
