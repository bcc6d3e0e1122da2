/* fake_gpus.h: a scripted NVIDIA library (tests/fake_nvml), with a fake /proc. */
#ifndef PMTOP_TESTS_FAKE_GPUS_H
#define PMTOP_TESTS_FAKE_GPUS_H

#include <stdint.h>

#include "src/sources/choices.h"
#include "src/sources/target/target.h"
#include "tests/support/fake_proc.h"

enum { FAKE_TARGET = 100 };

struct fake_gpus {
	struct fake_proc proc; /* with a process FAKE_TARGET, "train.py" */
	struct target target;
	struct source_choices choices; /* of the target; sys and dev are below the fake /proc */
	char folder[64], nvml[512], sys[96], dev[96];
	int64_t begin_ns; /* begin of the readings' times: now, since GPM samples have real ages */
};

/* `kind`: "" for a current driver, "r535", "old", "bare". Two GPUs without processes (FAKE_NODE) by default. */
void fake_gpus_open(struct fake_gpus *gpus, const char *kind);
void fake_gpus_close(struct fake_gpus *gpus);
/* The script from the next call on: FAKE_NODE, then `more`, which may add to GPU 1, the last, and override. */
void fake_gpus_say(const struct fake_gpus *gpus, const char *more);
/* The same without FAKE_NODE. */
void fake_gpus_say_only(const struct fake_gpus *gpus, const char *all);
/* The built library of a kind. */
void fake_gpus_library(const char *kind, char *out, size_t size);
int64_t fake_gpus_at(const struct fake_gpus *gpus, double seconds);

#define FAKE_GPU \
	"busy 90\nmemory_busy 40\nmemory 80Gi\nused 20Gi\nreserved 1Gi\nclock 1500\nclock_memory 2619\nclock_max " \
	"1980\nclock_memory_max 2619\n" \
	"temperature 60\ntemperature_memory 70\ntemperature_limit 87\npower 300.5\npower_limit 700\nenergy " \
	"1000+300\nreasons 0\nthrottled_power 4\nthrottled_brake 1\n" \
	"throttled_heat_software 2\nthrottled_heat 3\npcie_sent 1M+1M\npcie_received 2M+3M\nnvlink_sent " \
	"1Gi\nnvlink_received 2Gi\nreplays 5\necc_corrected 6\n" \
	"ecc_uncorrected 7\ngeneration 4\ngeneration_max 5\nwidth 8\nwidth_max 16\ngpm 1\nsm 50\noccupancy 25\ntensor " \
	"12.5\ndram 75\n"
#define FAKE_NODE \
	"driver 580.82.07\ntime 10\n" \
	"gpu NVIDIA H100 80GB HBM3\npci a:1B:0\n" FAKE_GPU "gpu NVIDIA H100 80GB HBM3\npci a:2c:0\n" FAKE_GPU

/* Measured CPU time of an H100's driver (580) per call: lines for before the GPUs. */
#define FAKE_H100_COSTS \
	"burn field/83 3300\nburn nvmlDeviceGetTotalEnergyConsumption 3500\nburn field/82 4\nburn field/197 83\nburn " \
	"field/198 86\nburn field/94 137\n" \
	"burn field/138 11\nburn field/139 11\nburn field/3 3\nburn field/4 3\nburn field/74 3\nburn field/269 3\nburn " \
	"field/270 410\nburn field/271 450\nburn field/75 448\n" \
	"burn nvmlDeviceGetMaxClockInfo 1050\nburn nvmlDeviceGetTemperatureThreshold 90\nburn nvmlDeviceGetMigMode " \
	"150\nburn nvmlDeviceGetEnforcedPowerLimit 21\n" \
	"burn nvmlDeviceGetCurrPcieLinkWidth 30\nburn nvmlDeviceGetMemoryInfo 7\nburn nvmlDeviceGetUtilizationRates 1\n" \
	"burn nvmlDeviceGetComputeRunningProcesses 54\nburn nvmlDeviceGetGraphicsRunningProcesses 14\nburn " \
	"nvmlDeviceGetMPSComputeRunningProcesses 14\n" \
	"burn nvmlDeviceGetProcessesUtilizationInfo 2000\nburn nvmlGpm 20\n"

#endif
