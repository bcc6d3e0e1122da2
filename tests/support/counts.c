#include "src/explain/explain.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/counts.h"

enum { TRAINER = 48213, WORKERS = 4 };

/* Counts per second of CPU time. */
static const struct {
	enum perf_role role;
	const char *name;
	double per_s;
	bool is_software;
} events[] = {
	{ PERF_ROLE_TASK_CLOCK, "task-clock", 1e9, true },
	{ PERF_ROLE_MINOR_FAULTS, "minor-faults", 1240, true },
	{ PERF_ROLE_MAJOR_FAULTS, "major-faults", 2, true },
	{ PERF_ROLE_SWITCHES, "context-switches", 310, true },
	{ PERF_ROLE_MIGRATIONS, "cpu-migrations", 4, true },
	{ PERF_ROLE_CYCLES, "cycles", 3.41e9, false },
	{ PERF_ROLE_INSTRUCTIONS, "instructions", 2.05e9, false },
	{ PERF_ROLE_CACHE_REFERENCES, "cache-references", 41e6, false },
	{ PERF_ROLE_CACHE_MISSES, "cache-misses", 14.2e6, false },
	{ PERF_ROLE_BRANCHES, "branches", 380e6, false },
	{ PERF_ROLE_BRANCH_MISSES, "branch-misses", 3.1e6, false },
	{ PERF_ROLE_STALLED_BACK, "stalled-cycles-backend", 1.9e9, false },
	{ PERF_ROLE_FLOPS, "fp_arith_inst_retired", 4.6e9, false },
	{ PERF_ROLE_OTHER, "mem_load_retired.l3_miss", 9.9e6, false },
};
enum { EVENTS = sizeof events / sizeof events[0] };

static void name_events(const struct counts *counts, struct sample_set *set)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		if (counts->is_software_only && !events[i].is_software)
			continue;
		struct record *record = sample_set_add(set, RECORD_PERF_EVENT, 0, set->time_ns);

		record->perf_event.event = i;
		record->perf_event.role = events[i].role;
		record->perf_event.name = events[i].name;
	}
	if (counts->is_software_only)
		sample_set_missing(set, set->time_ns, "cycles, instructions", "this virtual machine passes no CPU counters on",
			"run it where the CPU's PMU is seen");
}

static void count(const struct counts *counts, struct sample_set *set, int32_t pid, double cpu_s)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		if (counts->is_software_only && !events[i].is_software)
			continue;
		struct record *record = sample_set_add(set, RECORD_PERF_COUNT, 0, set->time_ns);

		record->perf_count.pid = pid;
		record->perf_count.event = i;
		record->perf_count.value = floor(events[i].per_s * cpu_s);
		record->perf_count.counted_ratio = events[i].is_software ? 1 : counts->counted_ratio;
	}
}

void counts_play(const struct counts *counts, struct stage *stage, double until_s)
{
	struct sample_set set = SAMPLE_SET_INIT;

	for (double at_s = 0.5; at_s <= until_s; at_s += 0.5) {
		stage_play(stage, at_s);
		sample_set_clear(&set);
		set.time_ns = stage->begin_ns + (int64_t)(at_s * (double)NS_PER_S);
		set.source = "perf";
		if (at_s < 1)
			name_events(counts, &set);
		count(counts, &set, TRAINER, 0.98 * at_s + 0.4 * sin(at_s / 5));
		for (int32_t worker = 1; worker <= WORKERS; worker++)
			count(counts, &set, TRAINER + worker, 0.5 * at_s);
		model_apply(stage->model, &set);
		explain_flagged(stage->model);
	}
	sample_set_release(&set);
	stage_draw(stage);
}
