/* What reading GPUs costs, by group of figures and by call: with the fake library (so without a driver's own time), and
 * with NVIDIA's driver where there is one; CPU and memory of the process that does it, beside one that reads the
 * machine alone. pmtop shows what a driver takes (gpu.reading_time), and rests so long that each group keeps to its
 * share of a CPU (NVIDIA_GROUPS). */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia_counters.h"
#include "src/sources/gpu/nvidia/nvidia_events.h"
#include "src/sources/gpu/nvidia/nvidia_figures.h"
#include "src/sources/gpu/nvidia/nvidia_gpm.h"
#include "src/sources/gpu/nvidia/nvidia_names.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"
#include "src/sources/gpu/nvidia/nvidia_processes.h"
#include "src/sources/gpu/nvidia/nvidia_use.h"
#include "tests/support/fake_gpus.h"

enum { ROUNDS = 9, PROCESSES = 8 };

static int calls_a_round = 2000;
static const char *library; /* which one it is, for the claims */
static struct nvidia *nvidia;
static struct sample_set set;

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static void print_row(const char *claim, double values[ROUNDS], const char *limit, const char *unit, const char *anchor)
{
	qsort(values, ROUNDS, sizeof *values, compare);
	printf("row\t%s\t%.4g\t%.4g\t%.4g\t%s\t%s\t%s\n", claim, values[ROUNDS / 2], values[0], values[ROUNDS - 1], limit,
		unit, anchor);
	fflush(stdout);
}

/* -- by group -- */

/* CPU time, with the time by the clock beside it: of a call that sleeps in the driver the latter is what one waits. */
static void time_rounds(const char *claim, void (*turn)(int number))
{
	double cpu_us[ROUNDS], wall_us[ROUNDS];
	char anchor[80];
	for (int round = 0; round < ROUNDS; round++) {
		int64_t from_ns = clock_thread_cpu_ns(), begin_ns = clock_monotonic_ns();
		for (int i = 0; i < calls_a_round; i++)
			turn(round * 10000 + i);
		cpu_us[round] = (double)(clock_thread_cpu_ns() - from_ns) / 1e3 / calls_a_round;
		wall_us[round] = (double)(clock_monotonic_ns() - begin_ns) / 1e3 / calls_a_round;
	}
	qsort(wall_us, ROUNDS, sizeof *wall_us, compare);
	snprintf(anchor, sizeof anchor, "%.4g us by the clock", wall_us[ROUNDS / 2]);
	print_row(claim, cpu_us, "-", "us", anchor);
}

typedef void group_reader(struct nvidia *, struct nvidia_device *, int64_t, struct sample_set *);
static group_reader *group;

static void read_group(int number)
{
	sample_set_clear(&set);
	/* GPM wants samples that are apart. */
	group(nvidia, nvidia->devices[nvidia->count - 1], clock_monotonic_ns() + number * NS_PER_S, &set);
}

static void time_groups(void)
{
#define GROUP_ROW(name, period_ms, share, of_parts) { #name, nvidia_read_##name },
	static const struct {
		const char *name;
		group_reader *read;
	} groups[] = { NVIDIA_GROUPS(GROUP_ROW) };
#undef GROUP_ROW
	char claim[80];
	for (size_t n = 0; n < sizeof groups / sizeof *groups; n++) {
		group = groups[n].read;
		snprintf(claim, sizeof claim, "GPU refresh: %s, one GPU, %s, CPU", groups[n].name, library);
		time_rounds(claim, read_group);
	}
}

/* As it runs: at 4 Hz, each group at its own pace; 8 GPUs' worth is four times that of the two here. */
static void time_second(void)
{
	double values[ROUNDS];
	char claim[80], anchor[80];
	int64_t begin_ns = clock_monotonic_ns(), now_ns = begin_ns, waited_ns = 0;
	for (int round = 0; round < ROUNDS; round++) {
		int seconds = calls_a_round / 40;
		int64_t from_ns = clock_thread_cpu_ns(), started_ns = clock_monotonic_ns();
		for (int i = 0; i < seconds * 4; i++) {
			sample_set_clear(&set);
			nvidia_gpus.read(nvidia, now_ns += NS_PER_S / 4, &set);
		}
		values[round] = (double)(clock_thread_cpu_ns() - from_ns) / 1e6 / seconds;
		waited_ns += clock_monotonic_ns() - started_ns;
	}
	snprintf(claim, sizeof claim, "GPU refresh: %zu GPUs, a second of it, %s, CPU", nvidia->count, library);
	snprintf(anchor, sizeof anchor, "%.3g ms by the clock; 0.5 %% of a CPU is 5 ms",
		(double)waited_ns / 1e6 / ((double)(now_ns - begin_ns) / 1e9));
	print_row(claim, values, "5", "ms", anchor);
}

/* -- by call -- */

static struct nvml_device *handle;
static const struct nvml *nvml;

static void call_utilization(void)
{
	struct nvml_utilization use;
	nvml->utilization(handle, &use);
}
static void call_memory(void)
{
	struct nvml_memory_v2 memory = { .version = NVML_VERSION(struct nvml_memory_v2, 2) };
	nvml->memory_v2(handle, &memory);
}
static void call_clock(void)
{
	unsigned clock;
	nvml->clock(handle, NVML_CLOCK_SM, &clock);
}
static void call_temperature(void)
{
	struct nvml_temperature now = { .version = NVML_VERSION(struct nvml_temperature, 1) };
	nvml->temperature_v1(handle, &now);
}
static void call_power(void)
{
	unsigned milliwatts;
	nvml->power(handle, &milliwatts);
}
static void call_reasons(void)
{
	unsigned long long reasons;
	nvml->reasons(handle, &reasons);
}
static void call_processes(void)
{
	struct nvml_process rows[64];
	unsigned count = 64;
	nvml->compute_processes(handle, &count, rows);
}

static void call_fields(void)
{
	struct nvml_field fields[14] = { { .id = NVML_FIELD_ENERGY_MJ }, { .id = NVML_FIELD_PCIE_SENT },
		{ .id = NVML_FIELD_PCIE_RECEIVED } };
	nvml->fields(handle, 14, fields);
}

static void call_use(void)
{
	struct nvml_process_use rows[64];
	struct nvml_processes_use ask = {
		.version = NVML_VERSION(struct nvml_processes_use, 1), .count = 64, .rows = rows
	};
	nvml->processes_use(handle, &ask);
}

/* What there was before the fields: it counts for 20 ms while one waits. */
static int (*pcie_throughput)(struct nvml_device *, unsigned, unsigned *);
static void call_throughput(void)
{
	unsigned kilobytes;
	pcie_throughput(handle, 0, &kilobytes);
}

static void (*call)(void);
static void make_call(int number)
{
	(void)number;
	call();
}

static void time_calls(void)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} table[] = {
		{ "utilisation", call_utilization },
		{ "memory", call_memory },
		{ "clock", call_clock },
		{ "temperature", call_temperature },
		{ "power", call_power },
		{ "throttle reasons", call_reasons },
		{ "14 fields", call_fields },
		{ "list of processes", call_processes },
		{ "use by processes", call_use },
	};
	char claim[80];
	handle = nvidia->devices[0]->handle;
	nvml = &nvidia->nvml;
	for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
		call = table[n].call;
		snprintf(claim, sizeof claim, "GPU call: %s, %s, CPU", table[n].name, library);
		time_rounds(claim, make_call);
	}
	void *found = dlsym(nvml->handle, "nvmlDeviceGetPcieThroughput");
	memcpy(&pcie_throughput, &found, sizeof found);
	if (found) {
		int calls = calls_a_round;
		call = call_throughput;
		calls_a_round = 5;
		snprintf(claim, sizeof claim, "GPU call: PCIe throughput (not used), %s, CPU", library);
		time_rounds(claim, make_call);
		calls_a_round = calls;
	}
}

/* -- the process -- */

struct footprint {
	double cpu_percent, resident_mb, proportional_mb;
};

static double field_of(pid_t pid, const char *file, const char *key)
{
	char path[64], line[256];
	double value = (double)NAN;
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	FILE *stream = fopen(path, "r");
	while (stream && fgets(line, sizeof line, stream))
		if (strncmp(line, key, strlen(key)) == 0)
			value = atof(line + strlen(key));
	if (stream)
		fclose(stream);
	return value;
}

static double cpu_s(pid_t pid)
{
	char path[64], text[512] = "";
	unsigned long user = 0, system_time = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *stream = fopen(path, "r");
	size_t length = stream ? fread(text, 1, sizeof text - 1, stream) : 0;
	if (stream)
		fclose(stream);
	text[length] = '\0';
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system_time) != 2)
		return (double)NAN;
	return (double)(user + system_time) / (double)sysconf(_SC_CLK_TCK);
}

static struct footprint run(const char *only, double seconds)
{
	const char *build = getenv("PMTOP_BUILD");
	char program[512], pid_text[16], only_text[32];
	snprintf(program, sizeof program, "%s/pmtop", build ? build : "build");
	snprintf(pid_text, sizeof pid_text, "%d", (int)getpid());
	snprintf(only_text, sizeof only_text, "--only=%s", only);
	pid_t pid = fork();
	if (pid == 0) {
		int nothing = open("/dev/null", O_WRONLY);
		dup2(nothing, STDOUT_FILENO);
		execl(program, program, "collect", only_text, "-d", "0.25", "-p", pid_text, (char *)NULL);
		_exit(99);
	}
	usleep(700000);
	double before = cpu_s(pid);
	usleep((useconds_t)(seconds * 1e6));
	struct footprint found = { (cpu_s(pid) - before) / seconds * 100, field_of(pid, "smaps_rollup", "Rss:") / 1000,
		field_of(pid, "smaps_rollup", "Pss:") / 1000 };
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return found;
}

static void time_process(bool is_smoke)
{
	double seconds = is_smoke ? 1 : 10;
	struct footprint gpu = run("gpu", seconds), machine = run("system", seconds);
	printf("row\tGPU reader: CPU at 4 Hz, %s\t%.3g\t%.3g\t%.3g\t1\t%%\t%.3g %% the machine alone\n", library,
		gpu.cpu_percent, gpu.cpu_percent, gpu.cpu_percent, machine.cpu_percent);
	printf("row\tGPU reader: PSS, %s open\t%.3g\t%.3g\t%.3g\t-\tMB\t%.3g MB the machine alone\n", library,
		gpu.proportional_mb, gpu.proportional_mb, gpu.proportional_mb, machine.proportional_mb);
	printf("row\tGPU reader: RSS, %s open\t%.3g\t%.3g\t%.3g\t%s\tMB\t%.3g MB the machine alone\n", library,
		gpu.resident_mb, gpu.resident_mb, gpu.resident_mb, getenv("PMTOP_NVML") ? "12" : "-", machine.resident_mb);
}

/* Opened only where a DRM device is there, and closed again: what they take meanwhile. */
static void measure_libdrm(void)
{
	static const char *const names[] = { "libdrm.so.2", "libdrm_amdgpu.so.1" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double before = field_of(getpid(), "smaps_rollup", "Pss:") / 1000;
		void *opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (!opened) {
			printf("absent\tmemory that %s adds to the GPU reader\tit is not installed\n", names[i]);
			continue;
		}
		double grown = field_of(getpid(), "smaps_rollup", "Pss:") / 1000 - before;
		printf("row\tmemory (PSS) that %s adds to the GPU reader\t%.3g\t%.3g\t%.3g\t-\tMB\tloaded with dlopen\n",
			names[i], grown, grown, grown);
		dlclose(opened);
	}
}

static enum status time_library(struct target *target, bool is_smoke, struct reason *why)
{
	void *state;
	enum status status = nvidia_gpus.open(target, 0, &state, why);
	if (status != STATUS_OK)
		return status;
	nvidia = state;
	time_groups();
	time_second();
	time_calls();
	nvidia_gpus.close(state);
	time_process(is_smoke);
	return STATUS_OK;
}

static enum status time_fake(bool is_smoke, struct reason *why)
{
	static struct fake_gpus gpus;
	char script[PROCESSES * 40];
	size_t used = 0;
	library = "fake library";
	fake_gpus_open(&gpus, "");
	for (int i = 0; i < PROCESSES; i++) {
		fake_proc_add(&gpus.proc, 200 + i, 1, "rank");
		used += (size_t)snprintf(script + used, sizeof script - used, "process %d compute 1Gi 10\n", 200 + i);
	}
	fake_gpus_say(&gpus, script);
	setenv("PMTOP_NVML", gpus.nvml, 1);
	enum status status = time_library(&gpus.target, is_smoke, why);
	unsetenv("PMTOP_NVML");
	fake_gpus_close(&gpus);
	return status;
}

static void time_real(bool is_smoke)
{
	struct reason why = { "", "" };
	struct target target;
	library = "the driver";
	calls_a_round /= 20;
	enum status status = target_open(&target, getpid(), "/proc", &why);
	if (status == STATUS_OK) {
		status = time_library(&target, is_smoke, &why);
		target_close(&target);
	}
	if (status != STATUS_OK)
		printf("absent\tGPU refresh with NVIDIA's driver\t%s\n", why.text);
}

int main(void)
{
	bool is_smoke = getenv("PMTOP_BENCH_SMOKE") != NULL;
	struct reason why = { "", "" };
	calls_a_round = is_smoke ? 80 : calls_a_round;
	if (time_fake(is_smoke, &why) != STATUS_OK) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	time_real(is_smoke);
	measure_libdrm();
	sample_set_release(&set);
	return 0;
}
