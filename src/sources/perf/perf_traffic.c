#include "src/sources/perf/perf_traffic.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/perf/perf_events.h"

enum { METERS_MAX = 256, SOCKETS_MAX = 16, CPUS_A_PMU_MAX = 16, TEXT_SIZE = 256, BYTES_A_LINE = 64 };

/* The first kind that exists is used, because all count the same bytes. */
static const struct kind {
	const char *prefix;    /* of the PMU's name */
	const char *events[2]; /* files in its `events`; NULL: `terms` */
	const char *terms[2];
} kinds[] = {
	{ "uncore_imc", { "cas_count_read", "cas_count_write" }, { NULL, NULL } },
	{ "uncore_imc", { "data_reads", "data_writes" }, { NULL, NULL } },
	{ "uncore_imc_free_running", { "data_read", "data_write" }, { NULL, NULL } },
	{ "amd_umc_", { NULL, NULL }, { "event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2" } },
};

struct meter {
	int fd, socket;
	double bytes_each;
	double bytes, enabled_ns, running_ns;
	uint64_t value, past_enabled_ns, past_running_ns;
};

struct perf_traffic {
	const struct perf_opener *opener;
	size_t count, socket_count;
	int sockets[SOCKETS_MAX];
	struct meter meters[METERS_MAX];
};

/* -- the kernel's description of a counter -- */

static bool read_text(int directory_fd, const char *folder, const char *name, char out[TEXT_SIZE])
{
	char path[512];
	size_t length;
	int written = snprintf(path, sizeof path, "%s%s", folder, name);
	if (written < 0 || (size_t)written >= sizeof path ||
		file_read(directory_fd, path, out, TEXT_SIZE, &length) != STATUS_OK)
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* "config1:0-7,32-35": the value's lowest bits go into the first range, and so on. */
static bool put_bits(const char *format, uint64_t value, struct perf_code *out)
{
	static const char *const words[] = { "config:", "config1:", "config2:" };
	uint64_t *const configs[] = { &out->config, &out->config1, &out->config2 };
	size_t which = 0;
	while (which < 3 && strncmp(format, words[which], strlen(words[which])) != 0)
		which++;
	if (which == 3)
		return false;
	for (const char *at = format + strlen(words[which]); *at;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (end == at)
			return false;
		if (*end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
		}
		if (end == at || last > 63 || first > last)
			return false;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*configs[which] |= (value & 1) << bit;
		at = *end == ',' ? end + 1 : end;
		if (at == end && *end)
			return false;
	}
	return true;
}

bool perf_terms_parse(int pmu_fd, const char *terms, struct perf_code *out)
{
	char text[TEXT_SIZE], format[TEXT_SIZE], *rest = NULL;
	snprintf(text, sizeof text, "%s", terms);
	for (char *term = strtok_r(text, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(term, '='), *end = NULL;
		uint64_t value = equals ? strtoull(equals + 1, &end, 0) : 1;
		if (equals && (end == equals + 1 || *end))
			return false;
		if (equals)
			*equals = '\0';
		if (strchr(term, '/') || !read_text(pmu_fd, "format/", term, format) || !put_bits(format, value, out))
			return false;
	}
	return true;
}

/* Bytes per count, from "6.103515625e-5" and "MiB"; a cache line if the kernel gives no scale. */
static double bytes_of(int pmu_fd, const char *event)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = { { "MiB", 1048576 }, { "KiB", 1024 }, { "Bytes", 1 }, { "B", 1 }, { "MB", 1e6 } };
	char name[TEXT_SIZE], scale[TEXT_SIZE], unit[TEXT_SIZE];
	snprintf(name, sizeof name, "%s.scale", event);
	if (!read_text(pmu_fd, "events/", name, scale))
		return BYTES_A_LINE;
	snprintf(name, sizeof name, "%s.unit", event);
	if (!read_text(pmu_fd, "events/", name, unit))
		return BYTES_A_LINE;
	double factor = strtod(scale, NULL);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(unit, units[i].unit) == 0 && factor > 0 && factor < 1e9)
			return factor * units[i].bytes;
	return BYTES_A_LINE;
}

/* -- opening -- */

struct search {
	struct perf_traffic *traffic;
	const char *sys_root;
	int error; /* of the last refused counter */
	bool has_pmu;
};

static int socket_of(const char *sys_root, int cpu)
{
	char path[4096], text[TEXT_SIZE];
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/topology/physical_package_id", sys_root, cpu);
	if (!read_text(AT_FDCWD, "", path, text))
		return 0;
	long socket = strtol(text, NULL, 10);
	return socket >= 0 && socket < 4096 ? (int)socket : 0;
}

/* Parses "0,56" or "0-1": one CPU per socket. */
static size_t read_cpus(int pmu_fd, int out[CPUS_A_PMU_MAX])
{
	char text[TEXT_SIZE];
	size_t count = 0;
	if (!read_text(pmu_fd, "", "cpumask", text))
		return 0;
	for (const char *at = text; *at;) {
		char *end;
		long first = strtol(at, &end, 10), last = first;
		if (end == at || first < 0 || first > 65535)
			break;
		if (*end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
		}
		for (long cpu = first; cpu <= last && count < CPUS_A_PMU_MAX; cpu++)
			out[count++] = (int)cpu;
		at = *end == ',' ? end + 1 : "";
	}
	return count;
}

static void note_socket(struct perf_traffic *traffic, int socket)
{
	for (size_t i = 0; i < traffic->socket_count; i++)
		if (traffic->sockets[i] == socket)
			return;
	if (traffic->socket_count < SOCKETS_MAX)
		traffic->sockets[traffic->socket_count++] = socket;
}

static void open_meter(struct search *search, const struct perf_code *code, int cpu, double bytes_each)
{
	struct perf_traffic *traffic = search->traffic;
	if (traffic->count == METERS_MAX)
		return;
	int fd = traffic->opener->open(traffic->opener->context, code, -1, cpu, -1);
	if (fd < 0) {
		search->error = -fd;
		return;
	}
	int socket = socket_of(search->sys_root, cpu);
	note_socket(traffic, socket);
	traffic->meters[traffic->count++] = (struct meter){ .fd = fd, .socket = socket, .bytes_each = bytes_each };
}

static void open_pmu(struct search *search, const struct kind *kind, int pmu_fd)
{
	char text[TEXT_SIZE];
	int cpus[CPUS_A_PMU_MAX];
	size_t cpu_count = read_cpus(pmu_fd, cpus);
	if (!read_text(pmu_fd, "", "type", text))
		return;
	for (size_t i = 0; i < 2; i++) {
		struct perf_code code = { .type = (uint32_t)strtoul(text, NULL, 10) };
		char terms[TEXT_SIZE];
		if (kind->terms[i])
			snprintf(terms, sizeof terms, "%s", kind->terms[i]);
		else if (!read_text(pmu_fd, "events/", kind->events[i], terms))
			continue;
		if (!perf_terms_parse(pmu_fd, terms, &code))
			continue;
		search->has_pmu = true;
		double bytes_each = kind->events[i] ? bytes_of(pmu_fd, kind->events[i]) : BYTES_A_LINE;
		for (size_t k = 0; k < cpu_count; k++)
			open_meter(search, &code, cpus[k], bytes_each);
	}
}

/* Matches "uncore_imc" and "uncore_imc_3", but not "uncore_imc_free_running_0", which is another kind. */
static bool is_of_kind(const struct kind *kind, const char *name)
{
	size_t length = strlen(kind->prefix);
	if (strncmp(name, kind->prefix, length) != 0)
		return false;
	const char *rest = name + length + (name[length] == '_');
	return rest[strspn(rest, "0123456789")] == '\0';
}

static void search_kind(struct search *search, const struct kind *kind, const char *folder)
{
	DIR *devices = opendir(folder);
	const struct dirent *entry;
	while (devices && (entry = readdir(devices))) {
		if (!is_of_kind(kind, entry->d_name))
			continue;
		int pmu_fd = openat(dirfd(devices), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (pmu_fd < 0)
			continue;
		open_pmu(search, kind, pmu_fd);
		close(pmu_fd);
	}
	if (devices)
		closedir(devices);
}

struct perf_traffic *perf_traffic_open(
	const struct perf_opener *opener, const struct plan_machine *machine, const char *sys_root, struct reason *why_not)
{
	char folder[4096];
	struct perf_traffic *traffic = calloc(1, sizeof *traffic);
	struct search search = { .traffic = traffic, .sys_root = sys_root };
	if (!traffic) {
		reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		return NULL;
	}
	traffic->opener = opener;
	snprintf(folder, sizeof folder, "%s/bus/event_source/devices", sys_root);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && traffic->count == 0; i++)
		search_kind(&search, &kinds[i], folder);
	if (traffic->count > 0)
		return traffic;
	if (!search.has_pmu)
		reason_set(why_not, STATUS_NOT_FOUND, "",
			machine->cpu.is_virtual ? "a virtual machine has no memory controller counters"
									: "the kernel has no counters for this machine's memory controllers");
	else if (search.error == EACCES || search.error == EPERM)
		plan_explain_denied(machine, search.error, 0, why_not);
	else
		reason_set(why_not, STATUS_IO, "", "the memory controllers' counters could not be opened (%s)",
			perf_errno_name(search.error));
	free(traffic);
	return NULL;
}

void perf_traffic_close(struct perf_traffic *traffic)
{
	for (size_t i = 0; traffic && i < traffic->count; i++)
		traffic->opener->close(traffic->opener->context, traffic->meters[i].fd);
	free(traffic);
}

/* -- reading -- */

static void read_meter(const struct perf_opener *opener, struct meter *meter)
{
	struct perf_reading reading;
	ssize_t size = opener->read(opener->context, meter->fd, &reading, sizeof reading);
	if (!perf_reading_fits(&reading, size, 1) || reading.running_ns <= meter->past_running_ns ||
		reading.enabled_ns < meter->past_enabled_ns)
		return;
	double enabled = (double)(reading.enabled_ns - meter->past_enabled_ns),
		   running = (double)(reading.running_ns - meter->past_running_ns);
	if (reading.values[0] > meter->value)
		meter->bytes += (double)(reading.values[0] - meter->value) * meter->bytes_each *
			(enabled > running ? enabled / running : 1);
	meter->enabled_ns += enabled;
	meter->running_ns += running < enabled ? running : enabled;
	meter->value = reading.values[0];
	meter->past_enabled_ns = reading.enabled_ns;
	meter->past_running_ns = reading.running_ns;
}

void perf_traffic_read(struct perf_traffic *traffic)
{
	for (size_t i = 0; i < traffic->count; i++)
		read_meter(traffic->opener, &traffic->meters[i]);
}

size_t perf_traffic_sockets(const struct perf_traffic *traffic) { return traffic->socket_count; }

bool perf_traffic_sum(const struct perf_traffic *traffic, size_t at, int *socket, double *bytes, double *counted_ratio)
{
	double total = 0, ratio = 1;
	for (size_t i = 0; i < traffic->count; i++) {
		const struct meter *meter = &traffic->meters[i];
		if (meter->socket != traffic->sockets[at])
			continue;
		if (meter->running_ns <= 0)
			return false;
		total += meter->bytes;
		if (meter->running_ns / meter->enabled_ns < ratio)
			ratio = meter->running_ns / meter->enabled_ns;
	}
	*socket = traffic->sockets[at];
	*bytes = total;
	*counted_ratio = ratio;
	return true;
}
