#include "src/sources/energy/energy.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/choices.h"
#include "src/sources/energy/energy_cpu.h"
#include "src/sources/energy/energy_heat.h"
#include "src/sources/energy/energy_private.h"
#include "src/sources/energy/energy_rapl.h"

/* A missing part may appear: a module is loaded, a right is granted. */
#define PROBE_NS (30 * NS_PER_S)
/* A file whose read takes more than a hundredth of its period is read less often. */
enum { COST_TIMES = 100 };
#define PERIOD_MAX_NS (20 * NS_PER_S)

enum { PATH_SIZE = 320, FOLDER_ENTRIES_MAX = 4096 };

/* -- small files -- */

static enum status __attribute__((format(printf, 4, 0)))
read_text(const struct energy_reader *reader, char *out, size_t size, const char *format, va_list arguments)
{
	char path[PATH_SIZE];
	size_t length;
	int written = vsnprintf(path, sizeof path, format, arguments);
	if (written < 0 || (size_t)written >= sizeof path)
		return STATUS_NOT_FOUND;
	enum status status = file_read(reader->root_fd, path, out, size, &length);
	if (status != STATUS_OK)
		return status;
	while (length > 0 && isspace((unsigned char)out[length - 1]))
		out[--length] = '\0';
	return STATUS_OK;
}

enum status energy_text(const struct energy_reader *reader, char *out, size_t size, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	enum status status = read_text(reader, out, size, format, arguments);
	va_end(arguments);
	return status;
}

enum status energy_number(const struct energy_reader *reader, uint64_t *out, const char *format, ...)
{
	char text[64], *end;
	va_list arguments;
	va_start(arguments, format);
	enum status status = read_text(reader, text, sizeof text, format, arguments);
	va_end(arguments);
	if (status != STATUS_OK)
		return status;
	errno = 0;
	uint64_t value = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return STATUS_DAMAGED;
	*out = value;
	return STATUS_OK;
}

/* Sorts "hwmon10" after "hwmon9": the shorter name has the smaller number. */
static int by_number(const void *left, const void *right)
{
	const char *a = left, *b = right;
	size_t a_length = strlen(a), b_length = strlen(b);
	return a_length != b_length ? (a_length > b_length) - (a_length < b_length) : strcmp(a, b);
}

size_t energy_names(const struct energy_reader *reader, const char *folder, const char *prefix,
	char names[ENERGY_NAMES_MAX][ENERGY_NAME_MAX])
{
	DIR *directory = file_open_folder(reader->root_fd, folder);
	size_t count = 0, prefix_length = strlen(prefix);
	if (!directory)
		return 0;
	const struct dirent *entry;
	for (int entries = 0; entries < FOLDER_ENTRIES_MAX && count < ENERGY_NAMES_MAX && (entry = file_next(directory));
		 entries++) {
		size_t length = strlen(entry->d_name);
		if (strncmp(entry->d_name, prefix, prefix_length) == 0 && length < ENERGY_NAME_MAX)
			memcpy(names[count++], entry->d_name, length + 1);
	}
	closedir(directory);
	qsort(names, count, sizeof names[0], by_number);
	return count;
}

void energy_cpu_list(const char *text, bool (*each)(void *context, int cpu), void *context)
{
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < CPUS_COUNTED; cpu++)
			if (!each(context, (int)cpu))
				return;
		if (*end != ',')
			return;
		text = end + 1;
	}
}

void energy_name(struct sample_set *out, int64_t now_ns, enum metric family, int32_t instance, const char *name)
{
	struct record *record = sample_set_add(out, RECORD_INSTANCE, 0, now_ns);
	if (!record)
		return;
	record->instance.metric = family;
	record->instance.instance = instance;
	record->instance.name = sample_set_text(out, name, strlen(name));
}

void energy_paced(struct energy_pace *pace, int64_t now_ns, int64_t cost_ns)
{
	int64_t period_ns = cost_ns > PERIOD_MAX_NS / COST_TIMES ? PERIOD_MAX_NS : cost_ns * COST_TIMES;
	pace->next_ns = now_ns + (period_ns > pace->period_ns ? period_ns : pace->period_ns);
}

/* -- the source -- */

static const struct part {
	const char *figure;
	enum status (*find)(struct energy_reader *reader, struct reason *why_not);
	bool (*read)(struct energy_reader *reader, int64_t now_ns, struct sample_set *out);
} parts[ENERGY_PARTS] = {
	[ENERGY_RAPL] = { "CPU energy", energy_find_meters, energy_read_meters },
	[ENERGY_HEAT] = { "temperatures", energy_find_sensors, energy_read_sensors },
	[ENERGY_THROTTLES] = { "CPU throttle counts", energy_find_throttles, energy_read_throttles },
	[ENERGY_CLOCK] = { "CPU clock", energy_find_clocks, energy_read_clocks },
};

static void emit_missing(
	struct energy_reader *reader, size_t part, const struct reason *why, struct sample_set *out, int64_t now_ns)
{
	if (reader->is_emitted_missing[part] == (why != NULL))
		return;
	reader->is_emitted_missing[part] = why != NULL;
	sample_set_missing(out, now_ns, parts[part].figure, why ? why->text : NULL, why ? why->remedy : NULL);
}

static void read_part(struct energy_reader *reader, size_t part, int64_t now_ns, struct sample_set *out)
{
	struct reason why;
	if (now_ns < reader->probe_ns[part])
		return;
	if (parts[part].find(reader, &why) != STATUS_OK) {
		reader->probe_ns[part] = now_ns + PROBE_NS;
		emit_missing(reader, part, &why, out, now_ns);
		return;
	}
	if (parts[part].read(reader, now_ns, out)) {
		emit_missing(reader, part, NULL, out, now_ns);
		return;
	}
	reason_set(&why, STATUS_NOT_FOUND, "", "it has disappeared since the start");
	emit_missing(reader, part, &why, out, now_ns);
}

static enum status energy_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct energy_reader *reader = state;
	if (reader->target->pid == 0)
		return STATUS_END;
	/* The last reading includes the energy until the target's end. */
	if (reader->target->has_ended) {
		energy_read_meters(reader, now_ns, out);
		return STATUS_END;
	}
	for (size_t part = 0; part < ENERGY_PARTS; part++)
		read_part(reader, part, now_ns, out);
	return STATUS_OK;
}

enum status energy_open_with(
	const struct energy_calls *calls, struct target *target, void **state, struct reason *why_not)
{
	const char *root = source_choices(target)->sys_root;
	struct energy_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	root = root ? root : "/sys";
	reader->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (reader->root_fd < 0) {
		free(reader);
		return reason_set(why_not, STATUS_NOT_FOUND, "mount it: mount -t sysfs sysfs /sys", "%s is not mounted", root);
	}
	reader->target = target;
	reader->calls = calls;
	*state = reader;
	return STATUS_OK;
}

static int open_event(uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof attr, .config = config };
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static const struct energy_calls energy_calls = { open_event, clock_monotonic_ns };

static enum status energy_open(struct target *target, void **state, struct reason *why_not)
{
	return energy_open_with(&energy_calls, target, state, why_not);
}

static void energy_close(void *state)
{
	struct energy_reader *reader = state;
	energy_close_meters(reader);
	close(reader->root_fd);
	free(reader);
}

const struct source energy_source = {
	.name = "energy",
	.period_ns = NS_PER_S,
	.open = energy_open,
	.read = energy_read,
	.close = energy_close,
};
