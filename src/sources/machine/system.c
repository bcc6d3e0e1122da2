#include "src/sources/machine/system.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/machine/system_devices.h"
#include "src/sources/machine/system_private.h"
#include "src/sources/machine/system_space.h"
#include "src/sources/source.h"

/* The kernel formats /proc/stat for each CPU and each interrupt, which is too expensive four times a second on many
 * CPUs. */
enum { CPUS_CHEAP = 32, TAIL_LINES = 8 };
#define SECOND_NS (900 * NS_PER_MS)
#define RETRY_NS (5 * NS_PER_S)
/* Two clocks that were read further apart than this are read again. */
#define CLOCKS_APART_NS (1 * NS_PER_MS)

/* -- the files: each parser returns false if the text cannot be parsed -- */

static bool parse_stat(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	enum { USER, NICE, SYSTEM, IDLE, IO_WAIT, IRQ, SOFT_IRQ, STEAL, COLUMNS };
	uint64_t ticks[COLUMNS];
	const char *at = reader->text;
	if (strncmp(at, "cpu ", 4) != 0)
		return false;
	at += 4;
	for (size_t i = 0; i < COLUMNS; i++) {
		char *end;
		ticks[i] = strtoull(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	double busy = (double)ticks[USER] + (double)ticks[NICE] + (double)ticks[SYSTEM] + (double)ticks[IRQ] +
		(double)ticks[SOFT_IRQ];
	sample_set_figure(out, now_ns, METRIC_SYSTEM_CPU_BUSY, 0, busy * reader->ns_per_tick);
	sample_set_figure(out, now_ns, METRIC_SYSTEM_CPU_IO_WAIT, 0, (double)ticks[IO_WAIT] * reader->ns_per_tick);
	sample_set_figure(out, now_ns, METRIC_SYSTEM_CPU_STOLEN, 0, (double)ticks[STEAL] * reader->ns_per_tick);
	sample_set_figure(out, now_ns, METRIC_SYSTEM_CPU_IDLE, 0, (double)ticks[IDLE] * reader->ns_per_tick);

	reader->cpus = 0;
	while ((at = strchr(at, '\n')) && strncmp(++at, "cpu", 3) == 0)
		reader->cpus++;
	if (reader->cpus)
		sample_set_figure(out, now_ns, METRIC_SYSTEM_CPUS, 0, (double)reader->cpus);

	/* Searches from the end, because the line of interrupts may be as long as all others. */
	const char *line = reader->text + strlen(reader->text);
	static const struct {
		const char *word;
		enum metric metric;
	} words[] = {
		{ "\nprocs_running ", METRIC_SYSTEM_RUNNING },
		{ "\nprocs_blocked ", METRIC_SYSTEM_BLOCKED },
	};
	for (size_t i = 0; i < TAIL_LINES && (line = memrchr(reader->text, '\n', (size_t)(line - reader->text))); i++) {
		for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
			size_t length = strlen(words[k].word);
			if (strncmp(line, words[k].word, length) == 0 && line[length] >= '0' && line[length] <= '9')
				sample_set_figure(out, now_ns, words[k].metric, 0, (double)strtoull(line + length, NULL, 10));
		}
	}
	return true;
}

static bool parse_loadavg(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	char *end;
	double load = strtod(reader->text, &end);
	if (end == reader->text || *end != ' ' || !(load >= 0))
		return false;
	sample_set_figure(out, now_ns, METRIC_SYSTEM_LOAD, 0, load);
	return true;
}

static bool parse_meminfo(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	/* In the order of their lines. */
	static const struct {
		const char *key;
		enum metric metric;
	} fields[] = {
		{ "MemTotal", METRIC_SYSTEM_MEMORY },
		{ "MemAvailable", METRIC_SYSTEM_MEMORY_AVAILABLE },
		{ "Cached", METRIC_SYSTEM_MEMORY_CACHED },
		{ "SwapTotal", METRIC_SYSTEM_SWAP },
		{ "SwapFree", METRIC_SYSTEM_SWAP_FREE },
	};
	const char *at = reader->text;
	bool has_any = false;
	uint64_t dirty, writeback, value;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *line = proc_field(at, fields[i].key, 0, &value);
		if (!line)
			continue;
		at = line;
		has_any = true;
		sample_set_figure(out, now_ns, fields[i].metric, 0, (double)value * 1024);
	}
	if (proc_field(at, "Dirty", 0, &dirty) && proc_field(at, "Writeback", 0, &writeback))
		sample_set_figure(out, now_ns, METRIC_SYSTEM_MEMORY_DIRTY, 0, ((double)dirty + (double)writeback) * 1024);
	return has_any;
}

static bool parse_vmstat(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	const char *line = strstr(reader->text, "\npswpin ");
	unsigned long long in, out_of;
	if (!line || sscanf(line, "\npswpin %llu\npswpout %llu", &in, &out_of) != 2)
		return false;
	sample_set_figure(out, now_ns, METRIC_SYSTEM_SWAP_IN, 0, (double)in * reader->page_bytes);
	sample_set_figure(out, now_ns, METRIC_SYSTEM_SWAP_OUT, 0, (double)out_of * reader->page_bytes);
	return true;
}

static bool parse_pressure(
	const struct system_reader *reader, enum metric metric, struct sample_set *out, int64_t now_ns)
{
	const char *total = strncmp(reader->text, "some ", 5) == 0 ? strstr(reader->text, "total=") : NULL;
	if (!total || total[6] < '0' || total[6] > '9')
		return false;
	sample_set_figure(out, now_ns, metric, 0, (double)strtoull(total + 6, NULL, 10) * 1e3);
	return true;
}

static bool parse_pressure_cpu(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	return parse_pressure(reader, METRIC_SYSTEM_PRESSURE_CPU, out, now_ns);
}

static bool parse_pressure_memory(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	return parse_pressure(reader, METRIC_SYSTEM_PRESSURE_MEMORY, out, now_ns);
}

static bool parse_pressure_io(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	return parse_pressure(reader, METRIC_SYSTEM_PRESSURE_IO, out, now_ns);
}

#define NO_PRESSURE "the kernel has no pressure stall information (PSI)", "boot the kernel with psi=1 (CONFIG_PSI)"

/* `figure` NULL: another file reports what is missing. */
static const struct system_file {
	const char *name;
	int64_t period_ns; /* 0 = at each reading */
	bool (*parse)(struct system_reader *reader, struct sample_set *out, int64_t now_ns);
	const char *figure, *not_there, *remedy;
} system_files[SYSTEM_FILES] = {
	{ "stat", 0, parse_stat, "CPU of the machine", "the kernel reports no CPU times of the machine", "" },
	{ "loadavg", SECOND_NS, parse_loadavg, NULL, "", "" },
	{ "meminfo", SECOND_NS, parse_meminfo, "memory of the machine",
		"the kernel reports no memory figures of the machine", "" },
	{ "vmstat", SECOND_NS, parse_vmstat, "swapping", "the kernel does not count swapped pages",
		"boot a kernel with CONFIG_VM_EVENT_COUNTERS" },
	{ "pressure/cpu", 0, parse_pressure_cpu, "pressure", NO_PRESSURE },
	{ "pressure/memory", 0, parse_pressure_memory, NULL, NO_PRESSURE },
	{ "pressure/io", 0, parse_pressure_io, NULL, NO_PRESSURE },
};

void system_emit_missing(
	struct retained_file *file, const char *figure, const struct reason *why, struct sample_set *out, int64_t now_ns)
{
	if (!figure || file->is_emitted_missing == (why != NULL))
		return;
	file->is_emitted_missing = why != NULL;
	sample_set_missing(out, now_ns, figure, why ? why->text : NULL, why ? why->remedy : NULL);
}

static void read_file(struct system_reader *reader, size_t index, struct sample_set *out, int64_t now_ns)
{
	const struct system_file *file = &system_files[index];
	struct retained_file *retained = &reader->retained[index];
	size_t length;
	if (now_ns < retained->next_ns)
		return;
	enum status status =
		proc_file_read(reader->root_fd, &retained->fd, true, file->name, reader->text, sizeof reader->text, &length);
	if (status == STATUS_OK && file->parse(reader, out, now_ns)) {
		bool is_expensive = file->parse == parse_stat && reader->cpus > CPUS_CHEAP;
		retained->next_ns = now_ns + (is_expensive ? SECOND_NS : file->period_ns);
		system_emit_missing(retained, file->figure, NULL, out, now_ns);
		return;
	}
	struct reason why;
	retained->next_ns = now_ns + RETRY_NS;
	if (status == STATUS_DENIED)
		reason_set(&why, status, "run pmtop as root", "no permission to read /proc/%s", file->name);
	else if (status == STATUS_AGAIN)
		reason_set(&why, status, "raise the limit (ulimit -n)", "no file descriptor left");
	else
		reason_set(&why, status, file->remedy, "%s", file->not_there);
	system_emit_missing(retained, file->figure, &why, out, now_ns);
}

/* -- the clocks -- */

/* How far another clock is ahead of CLOCK_MONOTONIC. False: all readings were interrupted. */
static bool offset_of(int64_t (*clock)(void), int64_t *offset_ns)
{
	for (int i = 0; i < 3; i++) {
		int64_t before_ns = clock_monotonic_ns(), there_ns = clock(), after_ns = clock_monotonic_ns();
		if (after_ns - before_ns > CLOCKS_APART_NS)
			continue;
		*offset_ns = there_ns - before_ns - (after_ns - before_ns) / 2;
		return true;
	}
	return false;
}

static void read_clocks(struct sample_set *out, int64_t now_ns)
{
	int64_t offset_ns;
	if (offset_of(clock_realtime_ns, &offset_ns))
		sample_set_figure(out, now_ns, METRIC_SYSTEM_CLOCK_OFFSET, 0, (double)offset_ns);
	if (offset_of(clock_boottime_ns, &offset_ns))
		sample_set_figure(out, now_ns, METRIC_SYSTEM_SUSPENDED, 0, offset_ns > 0 ? (double)offset_ns : 0);
}

/* -- the source -- */

static enum status system_open(struct target *target, void **state, struct reason *why_not)
{
	struct system_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	reader->root_fd = open(target->proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (reader->root_fd < 0) {
		free(reader);
		return reason_set(
			why_not, STATUS_NOT_FOUND, "mount it: mount -t proc proc /proc", "%s is not mounted", target->proc_root);
	}
	reader->target = target;
	reader->shm = system_shm_new();
	reader->ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	reader->page_bytes = (double)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < SYSTEM_RETAINED; i++)
		reader->retained[i] = (struct retained_file){ .fd = -1, .next_ns = INT64_MIN };
	*state = reader;
	return STATUS_OK;
}

static void close_files(struct system_reader *reader)
{
	for (size_t i = 0; i < SYSTEM_RETAINED; i++) {
		if (reader->retained[i].fd >= 0)
			close(reader->retained[i].fd);
		reader->retained[i].fd = -1;
	}
	if (reader->root_fd >= 0)
		close(reader->root_fd);
	reader->root_fd = -1;
}

static enum status system_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct system_reader *reader = state;
	const struct target *target = reader->target;
	if (target->has_ended || target->pid == 0) {
		/* An open net/dev would keep the network namespace of an ended container alive. */
		close_files(reader);
		return STATUS_END;
	}
	read_clocks(out, now_ns);
	for (size_t i = 0; i < SYSTEM_FILES; i++)
		read_file(reader, i, out, now_ns);
	system_read_disks(reader, out, now_ns);
	system_read_networks(reader, out, now_ns);
	system_read_space(reader, out, now_ns);
	return STATUS_OK;
}

static void system_close(void *state)
{
	struct system_reader *reader = state;
	close_files(reader);
	system_shm_free(reader->shm);
	free(reader);
}

const struct source system_source = {
	.name = "system",
	.period_ns = SOURCE_SLOW_NS,
	.open = system_open,
	.read = system_read,
	.close = system_close,
};
