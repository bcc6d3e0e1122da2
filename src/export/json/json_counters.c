#include "src/export/json/json_counters.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* "context switches" as a key: context_switches; "CPU time" as cpu_time; "stalled, front end" as stalled_front_end. */
static const char *role_key(enum perf_role role, char out[48])
{
	static const char *const words[PERF_ROLE_COUNT] = {
#define ROLE_WORDS(id, words, is_software) words,
		PERF_ROLES(ROLE_WORDS)
#undef ROLE_WORDS
	};
	size_t length = 0;
	for (const char *at = words[role]; *at && length < 47; at++)
		if (*at != ',')
			out[length++] = *at == ' ' ? '_' : (char)tolower((unsigned char)*at);
	out[length] = '\0';
	return out;
}

static void write_events(struct json *json, const struct perf *perf)
{
	char key[48];
	json_open_array(json, "events");
	for (unsigned i = 0; i < perf->event_count; i++) {
		const struct perf_event_now *event = &perf->events[i];
		if (!event->is_used || !isfinite(event->total))
			continue;
		json_open_object(json, NULL);
		json_text(json, "name", event->name);
		json_text(json, "role", role_key(event->role, key));
		json_number(json, "per_s", event->per_s);
		json_number(json, "total", event->total);
		json_number(json, "counted_ratio", event->counted_ratio);
		json_close_object(json);
	}
	json_close_array(json);
}

/* A recording may contain equal names, but a key must be unique. */
static bool has_earlier(const struct perf *perf, unsigned event)
{
	for (unsigned i = 0; i < event; i++)
		if (perf->events[i].is_used && strcmp(perf->events[i].name, perf->events[event].name) == 0)
			return true;
	return false;
}

static void write_processes(struct json *json, const struct perf *perf)
{
	size_t cut = json_cut(json, perf->process_count);
	json_open_array(json, "processes");
	for (size_t i = 0; i < perf->process_count - cut; i++) {
		const struct perf_process *process = &perf->processes[i];
		json_open_object(json, NULL);
		json_integer(json, "pid", process->pid);
		json_open_object(json, "total");
		for (unsigned event = 0; event < perf->event_count; event++)
			if (perf->events[event].is_used && !has_earlier(perf, event))
				json_number(json, perf->events[event].name, process->total[event]);
		json_close_object(json);
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "processes_left_out", cut);
}

void json_counters(struct json *json, const struct model *model, const struct run *run)
{
	const struct perf *perf = &model->perf;
	double mfu = run ? run_mfu(model, run) : NAN;
	const struct {
		const char *key;
		double value;
	} rows[] = {
		{ "cpus", perf->cpus },
		{ "ipc", perf->ipc },
		{ "clock_hz", perf->clock_hz },
		{ "cache_miss_ratio", perf->cache_miss_ratio },
		{ "branch_miss_ratio", perf->branch_miss_ratio },
		{ "stalled_front_ratio", perf->stalled_front_ratio },
		{ "stalled_back_ratio", perf->stalled_back_ratio },
		{ "flops_per_s", perf->flops_per_s },
		{ "flops_per_batch", perf->flops_per_batch },
		{ "flops_per_sample", perf->flops_per_sample },
		{ "memory_bytes_per_s", perf->bytes_per_s },
		{ "flops_per_byte", perf->intensity },
		{ "mfu_ratio", mfu },
	};
	if (perf->seen_ns == 0 && !isfinite(mfu))
		return;
	json_open_object(json, "counters");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		json_number(json, rows[i].key, rows[i].value);
	if (perf->seen_ns) {
		write_events(json, perf);
		write_processes(json, perf);
	}
	json_close_object(json);
}
