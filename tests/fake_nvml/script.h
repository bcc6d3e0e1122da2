/* script.h: what the fake driver says, read from the file that FAKE_NVML names, and read again whenever that file is
 * another one (write a new one and rename it over the old). A line is a word and its values; # begins a comment.
 *
 *   driver VERSION          time SECONDS            the driver's own clock stands still there; else it goes on from the
 * start of the library fail SYMBOL CODE [GPU]  slow SYMBOL MS          of every symbol that begins so: what it returns,
 * how long it takes burn SYMBOL US                                  how much CPU it takes crash SYMBOL            hang
 * SYMBOL             it ends its process; it never returns SYMBOL field/ID: that field, among those that a call asks
 * for xid NUMBER CODE GPU                             an event, sent once for each NUMBER that is above the last gpu
 * [NAME]              part [NAME]             what follows is about this one, a part belongs to the gpu before it uuid
 * UUID               pci DOMAIN:BUS:DEVICE   instance N FIGURE VALUE            see FAKE_FIGURES; one that has no line
 * is not supported process PID KIND MEMORY [USE]                   PID: a number, or `watched` (what -p of this
 * process's command line says); KIND: compute, graphics, mps sample PID USE [AGE_S]                          of use,
 * beside those of the processes
 *
 * VALUE: a number (with k, M, G, Ki, Mi, Gi), `none` (all ones), or !CODE; then any of ~AMPLITUDE/PERIOD_S,
 * +PER_SECOND, %WRAP. */
#ifndef PMTOP_TESTS_FAKE_NVML_SCRIPT_H
#define PMTOP_TESTS_FAKE_NVML_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_FIGURES(X) \
	X(busy) \
	X(memory_busy) \
	X(memory) \
	X(used) \
	X(reserved) \
	X(clock) \
	X(clock_memory) \
	X(clock_max) \
	X(clock_memory_max) \
	X(temperature) \
	X(temperature_memory) \
	X(temperature_limit) \
	X(power) \
	X(power_limit) \
	X(energy) \
	X(reasons) \
	X(throttled_power) \
	X(throttled_brake) \
	X(throttled_heat_software) \
	X(throttled_heat) \
	X(throttled_thermal) \
	X(pcie_sent) \
	X(pcie_received) \
	X(nvlink_sent) \
	X(nvlink_received) \
	X(replays) \
	X(ecc_corrected) \
	X(ecc_uncorrected) \
	X(generation) \
	X(generation_max) \
	X(width) \
	X(width_max) \
	X(sm) \
	X(occupancy) \
	X(tensor) \
	X(dram) \
	X(gpm_pcie_sent) \
	X(gpm_pcie_received) \
	X(gpm_nvlink_sent) \
	X(gpm_nvlink_received) \
	X(mig) \
	X(gpm) \
	X(slices)

enum fake_figure {
#define FAKE_FIGURE_ID(name) FAKE_##name,
	FAKE_FIGURES(FAKE_FIGURE_ID)
#undef FAKE_FIGURE_ID
		FAKE_FIGURE_COUNT
};

enum { FAKE_GPUS = 16, FAKE_PARTS = 8, FAKE_PROCESSES = 200, FAKE_SAMPLES = 16, FAKE_RULES = 32, FAKE_EVENTS = 8 };

struct fake_value {
	bool is_set, is_none;
	int code;
	double base, amplitude, period_s, per_s, wrap;
};
/* memory −1 = not available; use −1 = none */
struct fake_process {
	uint32_t pid;
	char kind;
	double memory, use;
};
struct fake_sample {
	uint32_t pid, use;
	double age_s;
};

struct fake_device {
	bool is_there;
	char name[96], uuid[96];
	unsigned domain, bus, device, instance;
	struct fake_value figures[FAKE_FIGURE_COUNT];
	unsigned process_count, sample_count;
	struct fake_process processes[FAKE_PROCESSES];
	struct fake_sample samples[FAKE_SAMPLES];
};

/* gpu −1 = all */
struct fake_rule {
	char symbol[64];
	int code, gpu;
	double slow_ms, burn_us;
	bool hangs, crashes;
	unsigned calls[FAKE_GPUS];
};
struct fake_event {
	unsigned number, code, gpu;
};

struct fake_script {
	char driver[64];
	double time_s; /* −1 = goes on */
	unsigned gpu_count, rule_count, event_count;
	struct fake_rule rules[FAKE_RULES];
	struct fake_event events[FAKE_EVENTS];
	struct fake_device devices[FAKE_GPUS][1 + FAKE_PARTS]; /* the GPU, then its parts */
};

/* Reads the script if it is another one than at the last call. */
void fake_script_refresh(struct fake_script *script);
/* 0, or the code that stands for it. *out is −1 where it is `none`. */
int fake_value_now(const struct fake_script *script, const struct fake_value *value, double *out);

#endif
