#include "src/sources/gpu/intel/intel_pmu.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/sys_file.h"

enum { ENTRIES_MAX = 512 };
#define OVER_NS (NS_PER_S / 5)

int intel_pmu_system_opener(const struct perf_event_attr *attributes, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Finds "i915", or "i915_0000_03_00.0" of a card. */
static bool find_folder(const char *sys_root, const char *pci, char out[SYS_PATH_SIZE], double *type)
{
	char name[96];
	snprintf(name, sizeof name, "bus/event_source/devices/i915_%.16s", pci);
	for (char *at = strstr(name, "i915_"); *at; at++)
		*at = *at == ':' ? '_' : *at;
	if (sys_join(out, sys_root, name) && sys_number(out, "type", type))
		return true;
	bool is_only = !pci[0] || strcmp(pci, "0000:00:02.0") == 0;
	return is_only && sys_join(out, sys_root, "bus/event_source/devices/i915") && sys_number(out, "type", type);
}

/* Parses "config=0x10000". */
static bool read_config(const char *folder, const char *name, uint64_t *config)
{
	char text[64], *end;
	if (!sys_text(folder, name, text, sizeof text) || strncmp(text, "config=", 7) != 0)
		return false;
	errno = 0;
	*config = strtoull(text + 7, &end, 0);
	return !errno && !*end && end != text + 7;
}

static void add_engine(const char *events, const char *name, uint32_t type, int cpu, intel_pmu_opener *opener,
	struct intel_pmu *pmu, int *error)
{
	size_t length = strlen(name);
	struct perf_event_attr attributes = { .type = type, .size = sizeof attributes };
	uint64_t config;
	if (length < 6 || strcmp(name + length - 5, "-busy") != 0 || pmu->count == INTEL_ENGINES_MAX ||
		!read_config(events, name, &config))
		return;
	attributes.config = config;
	int fd = opener(&attributes, cpu);
	if (fd >= 0)
		pmu->fds[pmu->count++] = fd;
	else
		*error = errno;
}

enum status intel_pmu_open(
	const char *sys_root, const char *pci, intel_pmu_opener *opener, struct intel_pmu *out, struct reason *why_not)
{
	char folder[SYS_PATH_SIZE], events[SYS_PATH_SIZE], text[64];
	double type;
	int cpu = 0, error = 0;
	struct dirent *entry;
	*out = (struct intel_pmu){ .busy_ratio = NAN };
	if (!find_folder(sys_root, pci, folder, &type) || type < 0 || type > UINT32_MAX ||
		!sys_join(events, folder, "events"))
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "this kernel's i915 has no perf counters");
	if (sys_text(folder, "cpumask", text, sizeof text))
		cpu = atoi(text);
	DIR *directory = opendir(events);
	for (unsigned i = 0; directory && i < ENTRIES_MAX && (entry = readdir(directory)); i++)
		add_engine(events, entry->d_name, (uint32_t)type, cpu, opener, out, &error);
	if (directory)
		closedir(directory);
	if (out->count > 0)
		return STATUS_OK;
	if (error == EACCES || error == EPERM)
		return reason_set(why_not, STATUS_DENIED,
			"setcap cap_perfmon=ep $(command -v pmtop), or sysctl kernel.perf_event_paranoid=0",
			"i915 reports the whole GPU only with CAP_PERFMON; processes are known");
	return reason_set(
		why_not, STATUS_IO, NULL, "i915's counters could not be opened: %s", error ? strerror(error) : "it has none");
}

static bool read_engine(int fd, uint64_t *out)
{
	/* On a counter this fails without effect; a test's file goes back to its start. */
	lseek(fd, 0, SEEK_SET);
	return read(fd, out, sizeof *out) == (ssize_t)sizeof *out;
}

double intel_pmu_read(struct intel_pmu *pmu, int64_t now_ns)
{
	double max = NAN, elapsed_ns = (double)(now_ns - pmu->read_ns);
	if (pmu->count == 0 || (pmu->read_ns && elapsed_ns < (double)OVER_NS))
		return pmu->busy_ratio;
	for (unsigned i = 0; i < pmu->count; i++) {
		uint64_t busy_ns;
		if (!read_engine(pmu->fds[i], &busy_ns))
			continue;
		double ratio =
			pmu->read_ns && busy_ns >= pmu->busy_ns[i] ? (double)(busy_ns - pmu->busy_ns[i]) / elapsed_ns : NAN;
		pmu->busy_ns[i] = busy_ns;
		if (ratio < 1.5 && !(ratio <= max))
			max = ratio > 1 ? 1 : ratio;
	}
	pmu->read_ns = now_ns;
	pmu->busy_ratio = max;
	return max;
}

void intel_pmu_close(struct intel_pmu *pmu)
{
	for (unsigned i = 0; i < pmu->count; i++)
		close(pmu->fds[i]);
	pmu->count = 0;
}
