#include "src/explain/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/gpu_node.h"

enum { TRAINER = 48213, OTHER = 991, PART_FIRST = 100 };

void gpu_node_default(struct gpu_node *node) { *node = (struct gpu_node){ .count = 1, .power_s = 3 }; }

static const char *add_text(struct sample_set *set, const char *text)
{
	return sample_set_text(set, text, strlen(text));
}

static void emit_gpu(
	const struct gpu_node *node, struct sample_set *set, int32_t instance, int32_t parent, unsigned index, bool is_lost)
{
	struct gpu_row *row = sample_set_allocate(set, sizeof *row);
	char uuid[64], pci[20];

	snprintf(uuid, sizeof uuid, "GPU-%08x-0000-0000-0000-000000000000", (unsigned)instance);
	snprintf(pci, sizeof pci, "0000:%02x:00.0", index + 1);
	*row = (struct gpu_row){
		.instance = instance,
		.parent = parent,
		.index = index,
		.vendor = "NVIDIA",
		.name = parent >= 0 ? "1g.18gb"
			: node->is_old  ? "Tesla P4"
							: "H200",
		.uuid = add_text(set, uuid),
		.pci = add_text(set, pci),
		.driver = "nvidia 580.82",
		.lost = is_lost ? "it has fallen off the bus (XID 79)" : NULL,
	};
	sample_set_add(set, RECORD_GPU, 0, set->time_ns)->gpu = row;
	if (is_lost) {
		struct record *event = sample_set_add(set, RECORD_GPU_EVENT, 0, set->time_ns);

		event->gpu_event.gpu = instance;
		event->gpu_event.code = 79;
		event->gpu_event.text = "GPU has fallen off the bus";
	}
}

static void figure(struct sample_set *set, enum metric metric, int32_t instance, double value)
{
	sample_set_figure(set, set->time_ns, metric, instance, value);
}

static double wave(double at_s, unsigned index, double turn_s) { return sin((at_s + 3.7 * index) * 6.283185 / turn_s); }

static double memory_of(const struct gpu_node *node, unsigned index, double at_s)
{
	return node->is_empty ? 0 : 38.9e9 - 0.4e9 * index + (index == 0 ? node->leak_bytes * at_s : 0);
}

static unsigned throttle_of(const struct gpu_node *node, unsigned index, double at_s)
{
	double phase_s = fmod(at_s, 40);

	if (index > 0)
		return 0;
	return (phase_s >= 20 && phase_s < 20 + node->power_s ? 1u << GPU_THROTTLE_POWER_CAP : 0u) |
		(phase_s >= 30 && phase_s < 30 + node->heat_s ? 1u << GPU_THROTTLE_HEAT : 0u);
}

static void emit_activity(struct sample_set *set, int32_t instance, unsigned index, double at_s)
{
	figure(set, METRIC_GPU_SM_ACTIVE, instance, 0.38 + 0.05 * wave(at_s, index, 19));
	figure(set, METRIC_GPU_SM_OCCUPANCY, instance, 0.21);
	figure(set, METRIC_GPU_TENSOR_ACTIVE, instance, 0.11);
	figure(set, METRIC_GPU_DRAM_ACTIVE, instance, 0.27);
}

static void emit_links(
	const struct gpu_node *node, struct sample_set *set, int32_t instance, unsigned index, double at_s)
{
	figure(set, METRIC_GPU_PCIE_RECEIVED, instance, 1.21e9 * at_s);
	figure(set, METRIC_GPU_PCIE_SENT, instance, 0.31e9 * at_s);
	figure(set, METRIC_GPU_PCIE_GENERATION, instance, 5);
	figure(set, METRIC_GPU_PCIE_GENERATION_MAX, instance, 5);
	figure(set, METRIC_GPU_PCIE_WIDTH, instance, node->is_narrow && index == 0 ? 8 : 16);
	figure(set, METRIC_GPU_PCIE_WIDTH_MAX, instance, 16);
	figure(set, METRIC_GPU_PCIE_REPLAYS, instance, 0);
	figure(set, METRIC_GPU_ECC_CORRECTED, instance, 3);
	figure(set, METRIC_GPU_ECC_UNCORRECTED, instance, 0);
	if (node->count > 1) {
		figure(set, METRIC_GPU_NVLINK_RECEIVED, instance, 118e9 * at_s);
		figure(set, METRIC_GPU_NVLINK_SENT, instance, 121e9 * at_s);
	}
}

static void emit_figures(const struct gpu_node *node, struct sample_set *set, unsigned index, double at_s)
{
	int32_t instance = (int32_t)index;
	unsigned held = throttle_of(node, index, at_s);

	figure(set, METRIC_GPU_BUSY, instance, 0.84 + 0.12 * wave(at_s, index, 31));
	figure(set, METRIC_GPU_MEMORY_BUSY, instance, 0.31);
	figure(set, METRIC_GPU_MEMORY, instance, 150.1e9);
	figure(set, METRIC_GPU_MEMORY_USED, instance, node->is_empty ? 0 : memory_of(node, index, at_s) + 2.3e9);
	figure(set, METRIC_GPU_MEMORY_RESERVED, instance, 0.6e9);
	figure(set, METRIC_GPU_POWER, instance, held ? 699 : 412 + 60 * wave(at_s, index, 23));
	figure(set, METRIC_GPU_POWER_LIMIT, instance, 700);
	figure(set, METRIC_GPU_TEMPERATURE, instance,
		62 + 4 * wave(at_s, index, 60) + (held >> GPU_THROTTLE_HEAT & 1 ? 21 : 0));
	figure(set, METRIC_GPU_TEMPERATURE_LIMIT, instance, 87);
	figure(set, METRIC_GPU_CLOCK, instance, held >> GPU_THROTTLE_HEAT & 1 ? 1215e6 : held ? 1755e6 : 1980e6);
	figure(set, METRIC_GPU_CLOCK_MAX, instance, 1980e6);
	figure(set, METRIC_GPU_CLOCK_MEMORY, instance, 3201e6);
	figure(set, METRIC_GPU_THROTTLE, instance, held);
	figure(set, METRIC_GPU_READING, instance, 2.1e6 * at_s);
	if (node->counted_ratio > 0)
		figure(set, METRIC_GPU_THROTTLED_POWER, instance, node->counted_ratio * 1e9 * at_s);
	if (node->is_old)
		return;
	emit_activity(set, instance, index, at_s);
	emit_links(node, set, instance, index, at_s);
}

static void emit_processes_of_part(struct sample_set *set, unsigned part)
{
	struct gpu_process_row *row = sample_set_allocate(set, sizeof *row);
	struct record *record = sample_set_add(set, RECORD_GPU_PROCESSES, 0, set->time_ns);

	*row = (struct gpu_process_row){ TRAINER, GPU_PROCESS_COMPUTE, "", 3.9e9, NAN };
	record->gpu_processes.gpu = PART_FIRST + (int32_t)part;
	record->gpu_processes.rows = row;
	record->gpu_processes.count = part == 1 ? 1 : 0;
}

static void emit_processes(const struct gpu_node *node, struct sample_set *set, unsigned index, double at_s)
{
	struct gpu_process_row *rows = sample_set_allocate(set, 2 * sizeof *rows);
	struct record *record = sample_set_add(set, RECORD_GPU_PROCESSES, 0, set->time_ns);

	rows[0] = (struct gpu_process_row){ TRAINER + (int32_t)index % 5, GPU_PROCESS_COMPUTE, "",
		memory_of(node, index, at_s), 0.81 };
	rows[1] = (struct gpu_process_row){ OTHER, GPU_PROCESS_GRAPHICS, "Xorg", 2.3e9, 0.02 };
	record->gpu_processes.gpu = (int32_t)index;
	record->gpu_processes.rows = rows;
	record->gpu_processes.count = 2;
}

static void emit_part(struct sample_set *set, unsigned part, double at_s)
{
	int32_t instance = PART_FIRST + (int32_t)part;

	emit_activity(set, instance, part, at_s);
	figure(set, METRIC_GPU_MEMORY, instance, 18.1e9);
	figure(set, METRIC_GPU_MEMORY_USED, instance, 4.1e9 + 2e9 * part);
}

static void emit(const struct gpu_node *node, struct sample_set *set, double at_s, double before_s)
{
	for (unsigned i = 0; i < node->count; i++) {
		bool is_last = i + 1 == node->count, is_lost = is_last && node->lost_s > 0 && at_s >= node->lost_s;

		if (before_s <= 0 || (is_lost && before_s < node->lost_s))
			emit_gpu(node, set, (int32_t)i, -1, i, is_lost);
		for (unsigned part = 0; i == 0 && part < node->parts && before_s <= 0; part++)
			emit_gpu(node, set, PART_FIRST + (int32_t)part, 0, part, false);
		if (is_lost)
			continue;
		emit_figures(node, set, i, at_s);
		if (!node->hides_processes)
			emit_processes(node, set, i, at_s);
	}
	for (unsigned part = 0; part < node->parts; part++) {
		emit_part(set, part, at_s);
		emit_processes_of_part(set, part);
	}
	if (node->hides_processes && before_s <= 0)
		sample_set_missing(set, set->time_ns, "GPU processes", "GPU 0: 3 hidden: they run outside this container",
			"run the container with --pid=host");
}

void gpu_node_play(const struct gpu_node *node, struct stage *stage, double until_s)
{
	struct sample_set set = SAMPLE_SET_INIT;
	double before_s = 0;

	for (double at_s = 0.5; at_s <= until_s; at_s += 0.5) {
		stage_play(stage, at_s);
		sample_set_clear(&set);
		set.time_ns = stage->begin_ns + (int64_t)(at_s * (double)NS_PER_S);
		set.source = "gpu";
		emit(node, &set, at_s, before_s);
		model_apply(stage->model, &set);
		explain_flagged(stage->model);
		before_s = at_s;
	}
	sample_set_release(&set);
	stage_draw(stage);
}
