#include "src/sources/synthetic_scenarios.h"

#include <string.h>

#include "src/samples/sample_set.h"

#define GROWS(metric, who, per_s) { METRIC_##metric, who, per_s }
#define LEVEL(metric, who, value) { METRIC_##metric, who, value }
#define THROTTLE(why) (1u << GPU_THROTTLE_##why)
#define SECOND 1e9      /* a second of a figure in nanoseconds, a second long */
enum { SECOND_GPU = 1 << 1 };

const struct scenario scenarios[] = {
	{ "clean", "nothing is wrong", .every = 0 },
	{ "slow-fetch", "every 25th batch waits for a worker that takes longer than usual", .every = 25, .seconds = 0.5, .phase = SYNTHETIC_DATA, .in_worker = true },
	{ "busy-data", "every 25th batch has more work in its data", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_DATA, .cpu_ratio = 0.98,
		.effects = { GROWS(PROCESS_CPU_USER, OF_TRAINER, SECOND), GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, SECOND) } },
	{ "slow-worker", "one of four workers takes longer, so that every 4th batch waits", .every = 4, .seconds = 0.3, .phase = SYNTHETIC_DATA, .in_worker = true },
	{ "worker-disk", "every 40th batch waits for a worker that waits for the disk", .every = 40, .seconds = 0.8, .phase = SYNTHETIC_DATA, .in_worker = true, .worker_state = 'D',
		.effects = { GROWS(PROCESS_READ, OF_ONE_WORKER, 40e6), GROWS(PROCESS_DISK_WAIT, OF_ONE_WORKER, 0.9 * SECOND), GROWS(DISK_READ, OF_DISK, 40e6), GROWS(DISK_READS, OF_DISK, 800),
			GROWS(DISK_READ_TIME, OF_DISK, 0.9 * SECOND), GROWS(DISK_BUSY, OF_DISK, 0.95 * SECOND), GROWS(SYSTEM_PRESSURE_IO, OF_MACHINE, 0.9 * SECOND) } },
	{ "stop-worker", "a worker is stopped now and then", .every = 40, .seconds = 0.9, .phase = SYNTHETIC_DATA, .in_worker = true, .worker_state = 'T' },
	{ "cold-read", "every 25th batch reads what is not in the page cache", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_DATA, .cpu_ratio = 0.1, .blocks_per_s = 80000, .trainer_state = 'D',
		.effects = { GROWS(PROCESS_READ, OF_TRAINER, 41e6), GROWS(PROCESS_DISK_WAIT, OF_TRAINER, 0.9 * SECOND), GROWS(DISK_READ, OF_DISK, 41e6), GROWS(DISK_READS, OF_DISK, 900),
			GROWS(DISK_READ_TIME, OF_DISK, 0.9 * SECOND), GROWS(DISK_BUSY, OF_DISK, 0.95 * SECOND), GROWS(SYSTEM_CPU_IO_WAIT, OF_MACHINE, 0.9 * SECOND) } },
	{ "major-faults", "every 25th batch touches a mapped file whose pages are gone", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_FORWARD, .cpu_ratio = 0.1, .major_per_s = 6000, .blocks_per_s = 50000,
		.trainer_state = 'D', .effects = { GROWS(PROCESS_MAJOR_FAULTS, OF_TRAINER, 6000), GROWS(PROCESS_READ, OF_TRAINER, 25e6), GROWS(DISK_READ, OF_DISK, 25e6), GROWS(DISK_READS, OF_DISK, 6000),
			GROWS(DISK_READ_TIME, OF_DISK, 0.9 * SECOND), GROWS(DISK_BUSY, OF_DISK, 0.9 * SECOND) } },
	{ "checkpoint", "every 50th step writes a checkpoint and waits for the disk", .every = 50, .seconds = 0.4, .phase = SYNTHETIC_BETWEEN, .span = "checkpoint", .cpu_ratio = 0.1, .trainer_state = 'D',
		.effects = { GROWS(PROCESS_WRITTEN, OF_TRAINER, 200e6), GROWS(DISK_WRITTEN, OF_DISK, 200e6), GROWS(DISK_WRITES, OF_DISK, 400), GROWS(DISK_WRITE_TIME, OF_DISK, 2 * SECOND),
			GROWS(DISK_BUSY, OF_DISK, SECOND), GROWS(SYSTEM_PRESSURE_IO, OF_MACHINE, 0.9 * SECOND) } },
	{ "cpu-hog", "others take the CPU now and then", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_FORWARD, .queue_ratio = 0.97, .forced_per_s = 300,
		.effects = { GROWS(PROCESS_RUN_QUEUE_WAIT, OF_TRAINER, 0.97 * SECOND), GROWS(PROCESS_SWITCHES_FORCED, OF_TRAINER, 300), GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, 5.2 * SECOND),
			GROWS(SYSTEM_PRESSURE_CPU, OF_MACHINE, 0.97 * SECOND) } },
	{ "child", "a process of the run takes the CPU now and then", .every = 40, .seconds = 0.7, .phase = SYNTHETIC_FORWARD, .queue_ratio = 0.97, .forced_per_s = 300, .child = "preprocess",
		.effects = { GROWS(PROCESS_RUN_QUEUE_WAIT, OF_TRAINER, 0.97 * SECOND), GROWS(PROCESS_SWITCHES_FORCED, OF_TRAINER, 300), GROWS(PROCESS_CPU_USER, OF_CHILD, 0.98 * SECOND),
			GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, 5.2 * SECOND) } },
	{ "compiler", "every 40th batch waits for a compiler", .every = 40, .seconds = 0.8, .phase = SYNTHETIC_FORWARD, .child = "cc1plus",
		.effects = { GROWS(PROCESS_CPU_USER, OF_CHILD, 0.95 * SECOND), GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, 0.95 * SECOND) } },
	{ "quota", "the cgroup's CPU quota is used up now and then", .every = 25, .seconds = 0.6, .phase = SYNTHETIC_BACKWARD, .queue_ratio = 0.96,
		.effects = { GROWS(PROCESS_RUN_QUEUE_WAIT, OF_TRAINER, 0.96 * SECOND), GROWS(CGROUP_THROTTLED, OF_MACHINE, 0.97 * SECOND), GROWS(CGROUP_THROTTLED_PERIODS, OF_MACHINE, 10) }, .levels = { LEVEL(CGROUP_CPU_LIMIT, OF_MACHINE, 1) } },
	{ "stopped", "the trainer is stopped now and then", .every = 40, .seconds = 0.9, .phase = SYNTHETIC_FORWARD, .trainer_state = 'T' },
	{ "swapping", "memory is short, and what was swapped out is needed again", .every = 25, .seconds = 0.4, .phase = SYNTHETIC_FORWARD, .cpu_ratio = 0.1, .major_per_s = 9000, .blocks_per_s = 72000,
		.trainer_state = 'D', .effects = { GROWS(PROCESS_MAJOR_FAULTS, OF_TRAINER, 9000), GROWS(PROCESS_READ, OF_TRAINER, 37e6), GROWS(SYSTEM_SWAP_IN, OF_MACHINE, 37e6),
			GROWS(SYSTEM_SWAP_OUT, OF_MACHINE, 37e6), GROWS(SYSTEM_PRESSURE_MEMORY, OF_MACHINE, 0.8 * SECOND), GROWS(DISK_BUSY, OF_DISK, SECOND), GROWS(DISK_READ, OF_DISK, 37e6) },
		.levels = { LEVEL(SYSTEM_MEMORY_AVAILABLE, OF_MACHINE, 1.5e9), LEVEL(SYSTEM_SWAP_FREE, OF_MACHINE, 3e9), LEVEL(PROCESS_SWAP, OF_TRAINER, 2e9) } },
	{ "fault-storm", "every 25th batch maps, touches and unmaps memory", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_FORWARD, .cpu_ratio = 0.98, .minor_per_s = 900000,
		.effects = { GROWS(PROCESS_MINOR_FAULTS, OF_TRAINER, 900000), GROWS(PROCESS_CPU_SYSTEM, OF_TRAINER, 0.95 * SECOND), GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, 0.95 * SECOND) } },
	{ "gc", "every 25th batch waits for a garbage collection", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_FORWARD, .span = "gc", .cpu_ratio = 0.98,
		.effects = { GROWS(PROCESS_CPU_USER, OF_TRAINER, 0.98 * SECOND), GROWS(SYSTEM_CPU_BUSY, OF_MACHINE, 0.98 * SECOND) } },
	{ "sleep", "every 25th forward waits", .every = 25, .seconds = 0.2, .phase = SYNTHETIC_FORWARD },
	{ "bigger", "every 25th batch has four times the samples", .every = 25, .samples_ratio = 4 },
	{ "clock", "someone sets the clock by an hour", .step_clock_at = 60, .clock_s = 3600 },
	{ "suspended", "the machine was suspended for ten minutes", .step_clock_at = 60, .suspend_s = 600, .every = 60, .seconds = 0.5, .phase = SYNTHETIC_FORWARD },
	{ "drift", "slower by a third since batch 150", .slower_from = 150, .slower_ratio = 1.34 },
	{ "kinds", "every now and then a batch of another kind, 1.4 times as long", .other_share = 0.3, .other_ratio = 1.4 },
	{ "accumulation", "the optimizer steps with every 4th batch: nothing is wrong", .accumulate = 4 },
	{ "hang", "backward stands still from batch 100 on", .hang_at = 100 },
	{ "slow-first", "the first batch takes far longer", .first_s = 2.5 },
	{ "data-bound", "half of the time goes into data; there is no GPU", .shares = { 0.5, 0.15, 0.25, 0.06, 0.04 }, .node = { .is_bare = true } },
	{ "forward-bound", "most of the time goes into forward", .shares = { 0.05, 0.6, 0.25, 0.06, 0.04 } },
	{ "backward-bound", "most of the time goes into backward", .shares = { 0.05, 0.2, 0.65, 0.06, 0.04 } },
	{ "slow-answers", "inference, and an answer takes longer than two seconds", .step_s = 2.4, .is_inference = true },
	{ "leak", "the trainer keeps 2 MB a batch", .leak_bytes = 2e6, .leaks = METRIC_PROCESS_ANONYMOUS },
	{ "worker-leak", "one worker keeps 2 MB a batch", .leak_bytes = 2e6, .leaks = METRIC_PROCESS_ANONYMOUS, .leaker = OF_ONE_WORKER },
	{ "shm-leak", "2 MB a batch stay in /dev/shm", .leak_bytes = 2e6, .leaks = METRIC_PROCESS_SHARED },
	{ "page-cache", "the page cache grows, and nothing is wrong", .leak_bytes = 2e6, .leaks = METRIC_PROCESS_FILE },
	{ "sawtooth", "memory grows and is given back", .leak_bytes = 6e6, .leaks = METRIC_PROCESS_ANONYMOUS, .sawtooth = 50 },
	{ "leak-fast", "the trainer keeps 40 MB a batch: the machine is full in minutes", .leak_bytes = 40e6, .leaks = METRIC_PROCESS_ANONYMOUS },
	{ "spikes", "memory spikes now and then", .spike_every = 200, .spike_bytes = 2.5e9 },
	{ "big", "the trainer has 20 GB resident", .levels = { LEVEL(PROCESS_RESIDENT, OF_TRAINER, 20e9) } },
	{ "memory-full", "nearly all of the machine's memory is in use, most of it by this run", .levels = { LEVEL(PROCESS_RESIDENT, OF_TRAINER, 50e9), LEVEL(SYSTEM_MEMORY_AVAILABLE, OF_MACHINE, 3e9) } },
	{ "memory-of-others", "nearly all of the machine's memory is in use by others", .levels = { LEVEL(SYSTEM_MEMORY_AVAILABLE, OF_MACHINE, 3e9) } },
	{ "thrashing", "the machine swaps all the time", .levels = { LEVEL(SYSTEM_MEMORY_AVAILABLE, OF_MACHINE, 1e9), LEVEL(SYSTEM_SWAP_FREE, OF_MACHINE, 2e9), LEVEL(SYSTEM_SWAP_IN, OF_MACHINE, 20e6),
		LEVEL(SYSTEM_SWAP_OUT, OF_MACHINE, 20e6), LEVEL(PROCESS_SWAP, OF_TRAINER, 1e9) } },
	{ "container-full", "the container's memory is nearly full", .levels = { LEVEL(CGROUP_MEMORY, OF_MACHINE, 7.7e9), LEVEL(CGROUP_MEMORY_ANONYMOUS, OF_MACHINE, 7.4e9), LEVEL(CGROUP_MEMORY_FILE, OF_MACHINE, 0.2e9), LEVEL(CGROUP_MEMORY_SHARED, OF_MACHINE, 0.1e9), LEVEL(CGROUP_MEMORY_LIMIT, OF_MACHINE, 8e9) } },
	{ "throttled", "the container's CPU quota holds the run up all the time", .levels = { LEVEL(CGROUP_CPU_LIMIT, OF_MACHINE, 2), LEVEL(CGROUP_THROTTLED, OF_MACHINE, 0.8e9) } },
	{ "disk-full", "the disk is nearly full", .levels = { LEVEL(SYSTEM_SPACE_FREE, OF_MACHINE, 1.5e9) } },
	{ "disk-busy", "the disk is busy all the time", .levels = { LEVEL(DISK_BUSY, OF_DISK, 0.96e9), LEVEL(DISK_READ, OF_DISK, 300e6), LEVEL(DISK_READS, OF_DISK, 3000), LEVEL(DISK_READ_TIME, OF_DISK, 4e9) } },
	{ "shm-full", "/dev/shm is nearly full", .levels = { LEVEL(SYSTEM_SHM_USED, OF_MACHINE, 31e9) } },
	{ "cpu-full", "others keep all CPUs busy", .levels = { LEVEL(SYSTEM_CPU_BUSY, OF_MACHINE, 7.8e9) } },
	{ "io-wait", "a third of the CPUs' time waits for the disk", .levels = { LEVEL(SYSTEM_CPU_IO_WAIT, OF_MACHINE, 2.8e9), LEVEL(PROCESS_READ, OF_TRAINER, 40e6), LEVEL(DISK_BUSY, OF_DISK, 0.9e9) } },
	{ "worker-gone", "a worker is killed, and no batch comes any more", .worker_gone_at = 150, .hang_at = 151 },
	{ "worker-stuck", "now and then a worker waits for the disk for a long time", .every = 120, .seconds = 14, .phase = SYNTHETIC_DATA, .in_worker = true, .worker_state = 'D' },
	{ "worker-stopped", "now and then a worker is stopped for a long time", .every = 120, .seconds = 14, .phase = SYNTHETIC_DATA, .in_worker = true, .worker_state = 'T' },
	/* the node's GPUs and counters */
	{ "gpu-heat", "a GPU gets too hot now and then and halves its clock", .every = 40, .episode = 8, .cpu_ratio = 0.05, .step_s = 0.3,
		.node = { .clock_ratio = 0.4, .throttle = THROTTLE(HEAT), .hotter_celsius = 24, .which = SECOND_GPU } },
	{ "gpu-power-cap", "now and then the GPUs' power limit is lowered, and their clocks with it", .every = 40, .episode = 8, .cpu_ratio = 0.98, .step_s = 0.3,
		.node = { .clock_ratio = 0.42, .throttle = THROTTLE(POWER_CAP), .limit_w = 350 } },
	{ "gpu-power-limit", "the GPUs' power limit is low, and they are at it all the time",
		.node = { .clock_ratio = 0.7, .throttle = THROTTLE(POWER_CAP), .limit_w = 400, .is_always_held = true } },
	{ "gpu-waits-for-data", "the GPUs wait for workers that are on the CPU all the time", .shares = { 0.6, 0.14, 0.18, 0.04, 0.04 }, .fetch_ratio = 0.97,
		.levels = { LEVEL(PROCESS_CPU_USER, OF_ONE_WORKER, 0.95e9), LEVEL(SYSTEM_CPU_BUSY, OF_MACHINE, 4.9e9) } },
	{ "gpu-waits-for-disk", "the GPUs wait for workers that wait for the disk", .shares = { 0.6, 0.14, 0.18, 0.04, 0.04 }, .fetch_ratio = 0.97, .worker_usually = 'D',
		.levels = { LEVEL(PROCESS_CPU_USER, OF_ONE_WORKER, 0.05e9), LEVEL(PROCESS_DISK_WAIT, OF_ONE_WORKER, 0.85e9), LEVEL(PROCESS_READ, OF_ONE_WORKER, 60e6), LEVEL(DISK_READ, OF_DISK, 240e6),
			LEVEL(DISK_READ_TIME, OF_DISK, 3.6e9), LEVEL(DISK_BUSY, OF_DISK, 0.97e9) } },
	{ "gpu-underused", "the GPUs compute less than half of the time", .node = { .busy_ratio = 0.5 } },
	{ "gpu-small-kernels", "the GPUs are always busy, with a fifth of their multiprocessors", .node = { .fill_ratio = 0.28 } },
	{ "gpu-fp32", "the GPUs compute with 32 bits, beside their tensor cores", .node = { .lacks_tensors = true } },
	{ "gpu-leak", "20 MB more of a GPU stay allocated with every batch", .node = { .kept_bytes = 20e6 } },
	{ "gpu-cache", "the allocator reserves some more of a GPU than the program uses", .node = { .cached_bytes = 4e9 } },
	{ "gpu-fragmented", "the allocator reserves ever more of a GPU, for no piece that it has is large enough", .node = { .cached_bytes = 28e9 } },
	{ "gpu-memory-full", "nearly all memory of a GPU is in use", .node = { .reserved_bytes = 82.3e9 } },
	{ "gpu-neighbour", "another process comes on a GPU of the run", .slower_from = 150, .slower_ratio = 1.4, .node = { .neighbour_at = 150 } },
	{ "gpu-lost", "a GPU falls off the bus, and the run stands still", .hang_at = 150, .node = { .lost_at = 150 } },
	{ "gpu-hidden", "the driver does not say which processes use the GPUs", .node = { .hides_processes = true } },
	{ "pcie-narrow", "a GPU's PCIe link has 4 lanes of 16", .shares = { 0.2, 0.28, 0.36, 0.12, 0.04 }, .node = { .pcie_width = 4, .which = SECOND_GPU } },
	{ "ecc", "a GPU finds a memory error that it cannot correct", .node = { .faulty_at = 100 } },
	{ "cpu-heat", "the CPUs are too hot and slow down", .node = { .cpu_throttles_per_s = 12 } },
	{ "bare", "the machine has no GPUs, counters and meters", .node = { .is_bare = true } },
	{ "no-counters", "the CPUs offer no counters", .node = { .has_no_counters = true } },
};
const size_t scenario_count = sizeof scenarios / sizeof *scenarios;

const struct scenario *scenario_find(const char *name, size_t length)
{
	for (size_t i = 0; i < scenario_count; i++)
		if (strlen(scenarios[i].name) == length && strncmp(scenarios[i].name, name, length) == 0)
			return &scenarios[i];
	return NULL;
}
