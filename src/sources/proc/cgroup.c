#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/proc/cgroup_find.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

/* Periods: of the cgroup's location and limits; of its members; of its memory; and of retries of missing files. CPU
 * figures are read each time. */
#define READ_NS (3 * NS_PER_S)
#define MEMBERS_NS (10 * NS_PER_S)
#define MEMORY_NS (900 * NS_PER_MS)
#define RETRY_NS (5 * NS_PER_S)
/* "No limit" of version 1 is the largest number of whole pages. */
#define NO_LIMIT 0x1p60

enum { CGROUPS_SIZE = 4096, LEVELS_MAX = 64 };
enum { PART_MEMORY, PART_CPU, PART_CPUACCT, PART_COUNT };
enum { FILE_MEMORY, FILE_MEMORY_STAT, FILE_OOM, FILE_CPU_STAT, FILE_CPU_USAGE, FILE_COUNT };

static const char *const controllers[PART_COUNT] = { "memory", "cpu", "cpuacct" };

struct word_field {
	const char *word;
	enum metric metric;
	double scale;
};

/* `fields` NULL: one bare number, of `metric`. */
struct cgroup_file {
	unsigned part;
	const char *name;
	int64_t period_ns;
	const struct word_field *fields;
	enum metric metric;
};

static const struct word_field memory_fields[] = {
	{ "anon", METRIC_CGROUP_MEMORY_ANONYMOUS, 1 },
	{ "file", METRIC_CGROUP_MEMORY_FILE, 1 },
	{ "shmem", METRIC_CGROUP_MEMORY_SHARED, 1 },
	{ NULL, 0, 0 },
};
static const struct word_field memory_fields_1[] = {
	{ "total_cache", METRIC_CGROUP_MEMORY_FILE, 1 },
	{ "total_rss", METRIC_CGROUP_MEMORY_ANONYMOUS, 1 },
	{ "total_shmem", METRIC_CGROUP_MEMORY_SHARED, 1 },
	{ NULL, 0, 0 },
};
static const struct word_field oom_fields[] = { { "oom_kill", METRIC_CGROUP_OOM_KILLS, 1 }, { NULL, 0, 0 } };
static const struct word_field cpu_fields[] = {
	{ "nr_periods", METRIC_CGROUP_PERIODS, 1 },
	{ "nr_throttled", METRIC_CGROUP_THROTTLED_PERIODS, 1 },
	{ "throttled_usec", METRIC_CGROUP_THROTTLED, 1e3 },
	{ NULL, 0, 0 },
};
static const struct word_field cpu_fields_1[] = {
	{ "nr_periods", METRIC_CGROUP_PERIODS, 1 },
	{ "nr_throttled", METRIC_CGROUP_THROTTLED_PERIODS, 1 },
	{ "throttled_time", METRIC_CGROUP_THROTTLED, 1 },
	{ NULL, 0, 0 },
};
static const struct word_field usage_fields[] = { { "usage_usec", METRIC_CGROUP_CPU, 1e3 }, { NULL, 0, 0 } };

/* By version. */
static const struct cgroup_file cgroup_files[2][FILE_COUNT] = {
	{
		[FILE_MEMORY] = { PART_MEMORY, "memory.usage_in_bytes", MEMORY_NS, NULL, METRIC_CGROUP_MEMORY },
		[FILE_MEMORY_STAT] = { PART_MEMORY, "memory.stat", MEMORY_NS, memory_fields_1, 0 },
		[FILE_OOM] = { PART_MEMORY, "memory.oom_control", MEMORY_NS, oom_fields, 0 },
		[FILE_CPU_STAT] = { PART_CPU, "cpu.stat", 0, cpu_fields_1, 0 },
		[FILE_CPU_USAGE] = { PART_CPUACCT, "cpuacct.usage", 0, NULL, METRIC_CGROUP_CPU },
	},
	{
		[FILE_MEMORY] = { PART_MEMORY, "memory.current", MEMORY_NS, NULL, METRIC_CGROUP_MEMORY },
		[FILE_MEMORY_STAT] = { PART_MEMORY, "memory.stat", MEMORY_NS, memory_fields, 0 },
		[FILE_OOM] = { PART_MEMORY, "memory.events", MEMORY_NS, oom_fields, 0 },
		[FILE_CPU_STAT] = { PART_CPU, "cpu.stat", 0, cpu_fields, 0 },
		[FILE_CPU_USAGE] = { PART_CPUACCT, "cpu.stat", 0, usage_fields, 0 },
	},
};

struct cgroup_reader {
	struct target *target;
	int64_t sample_ns, members_ns;
	bool is_emitted_missing, has_refreshed;
	struct cgroup_location locations[PART_COUNT];
	int folders[PART_COUNT]; /* −1 = not open */
	/* of the ancestor with the smallest CPU quota, which throttles its members; −1 = the innermost cgroup has the
	 * smallest */
	int throttling_folder;
	double memory_limit, cpu_limit; /* NAN = none */
	struct {
		int fd;
		int64_t next_ns;
	} files[FILE_COUNT];
	char cgroups[CGROUPS_SIZE]; /* the text that the locations were found by */
	char text[CGROUP_TEXT_SIZE];
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void forget_locations(struct cgroup_reader *reader)
{
	for (size_t i = 0; i < FILE_COUNT; i++) {
		close_fd(&reader->files[i].fd);
		reader->files[i].next_ns = INT64_MIN;
	}
	for (size_t i = 0; i < PART_COUNT; i++) {
		close_fd(&reader->folders[i]);
		reader->locations[i].version = 0;
	}
	close_fd(&reader->throttling_folder);
	reader->memory_limit = reader->cpu_limit = NAN;
}

/* -- its location -- */

static void emit_missing(struct cgroup_reader *reader, struct sample_set *out, int64_t now_ns)
{
	bool is_there = reader->cgroups[0] == '\0';
	for (size_t i = 0; i < PART_COUNT; i++)
		is_there |= reader->locations[i].version != 0;
	if (is_there != reader->is_emitted_missing)
		return;
	reader->is_emitted_missing = !is_there;
	sample_set_missing(out, now_ns, "cgroup",
		is_there ? NULL : "the target's cgroup is not mounted where pmtop can read it",
		is_there ? NULL : "mount it (mount -t cgroup2 none /sys/fs/cgroup), or run pmtop on the host");
}

static void find_locations(struct cgroup_reader *reader)
{
	const struct target *target = reader->target;
	forget_locations(reader);
	for (size_t i = 0; i < PART_COUNT; i++) {
		struct cgroup_location *location = &reader->locations[i];
		if (!cgroup_find(target->proc_root, (int)target->pid, reader->cgroups, controllers[i], reader->text, location))
			continue;
		reader->folders[i] = file_open(AT_FDCWD, location->path, O_RDONLY | O_DIRECTORY);
		if (reader->folders[i] < 0)
			location->version = 0;
	}
}

/* -- limits: the smallest on the way up -- */

static bool read_number(struct cgroup_reader *reader, const char *folder, const char *name, double *out)
{
	char path[CGROUP_PATH_SIZE + 32], *end;
	size_t length;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (file_read(AT_FDCWD, path, reader->text, sizeof reader->text, &length) != STATUS_OK)
		return false;
	*out = strtod(reader->text, &end);
	return end != reader->text && reader->text[0] >= '0' && reader->text[0] <= '9';
}

static double memory_limit_of(struct cgroup_reader *reader, const struct cgroup_location *location)
{
	double bytes;
	bool is_known =
		read_number(reader, location->path, location->version == 1 ? "memory.limit_in_bytes" : "memory.max", &bytes);
	return is_known && bytes < NO_LIMIT ? bytes : NAN;
}

static double cpu_limit_of(struct cgroup_reader *reader, const struct cgroup_location *location)
{
	double quota, period;
	if (location->version == 1) {
		bool is_known = read_number(reader, location->path, "cpu.cfs_quota_us", &quota) &&
			read_number(reader, location->path, "cpu.cfs_period_us", &period);
		return is_known && quota > 0 && period > 0 ? quota / period : NAN;
	}
	if (!read_number(reader, location->path, "cpu.max", &quota) ||
		sscanf(reader->text, "%lf %lf", &quota, &period) != 2)
		return NAN;
	return quota > 0 && period > 0 ? quota / period : NAN;
}

static double min_limit(struct cgroup_reader *reader, unsigned part,
	double (*limit_of)(struct cgroup_reader *, const struct cgroup_location *), struct cgroup_location *lowest)
{
	struct cgroup_location at = reader->locations[part];
	double min = NAN;
	*lowest = at;
	for (size_t level = 0; at.version && level < LEVELS_MAX; level++) {
		double limit = limit_of(reader, &at);
		if (limit < min || (isnan(min) && !isnan(limit))) {
			min = limit;
			*lowest = at;
		}
		if (!cgroup_go_up(&at))
			break;
	}
	return min;
}

static void find_limits(struct cgroup_reader *reader)
{
	struct cgroup_location lowest;
	reader->memory_limit = min_limit(reader, PART_MEMORY, memory_limit_of, &lowest);
	reader->cpu_limit = min_limit(reader, PART_CPU, cpu_limit_of, &lowest);
	bool is_above = strcmp(lowest.path, reader->locations[PART_CPU].path) != 0;
	int folder = lowest.version && is_above ? file_open(AT_FDCWD, lowest.path, O_RDONLY | O_DIRECTORY) : -1;
	struct stat old, new;
	bool is_same = folder < 0 ? reader->throttling_folder < 0
							  : reader->throttling_folder >= 0 && fstat(folder, &new) == 0 &&
			fstat(reader->throttling_folder, &old) == 0 && new.st_ino == old.st_ino;
	if (is_same) {
		close_fd(&folder);
		return;
	}
	close_fd(&reader->throttling_folder);
	close_fd(&reader->files[FILE_CPU_STAT].fd);
	reader->throttling_folder = folder;
}

static void refresh(struct cgroup_reader *reader, struct sample_set *out, int64_t now_ns)
{
	char text[CGROUPS_SIZE];
	size_t length;
	if (now_ns < reader->sample_ns)
		return;
	reader->sample_ns = now_ns + READ_NS;
	if (file_read(reader->target->members[0].directory_fd, "cgroup", text, sizeof text, &length) != STATUS_OK)
		text[0] = '\0';
	bool is_gone =
		reader->folders[PART_MEMORY] >= 0 && faccessat(reader->folders[PART_MEMORY], "cgroup.procs", F_OK, 0) != 0;
	if (!reader->has_refreshed || is_gone || strcmp(text, reader->cgroups) != 0 || reader->is_emitted_missing) {
		reader->has_refreshed = true;
		reader->members_ns = INT64_MIN;
		memcpy(reader->cgroups, text, sizeof text);
		find_locations(reader);
		emit_missing(reader, out, now_ns);
	}
	find_limits(reader);
	if (!isnan(reader->memory_limit))
		sample_set_figure(out, now_ns, METRIC_CGROUP_MEMORY_LIMIT, 0, reader->memory_limit);
	if (!isnan(reader->cpu_limit))
		sample_set_figure(out, now_ns, METRIC_CGROUP_CPU_LIMIT, 0, reader->cpu_limit);
}

/* -- who is in it -- */

static int by_pid(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;
	return (a > b) - (a < b);
}

/* pmtop itself does not count, because it is there only while the user watches. */
static size_t count_strangers(const struct target *target, const char *text)
{
	pid_t pids[TARGET_MEMBERS_MAX + 1];
	size_t count = 0, strangers = 0;
	for (size_t i = 0; i < target->member_count && count < TARGET_MEMBERS_MAX; i++)
		pids[count++] = target->members[i].pid;
	pids[count++] = getpid();
	qsort(pids, count, sizeof *pids, by_pid);
	for (char *end;; text = end) {
		long number = strtol(text, &end, 10);
		if (end == text)
			return strangers;
		pid_t pid = (pid_t)number;
		strangers += !bsearch(&pid, pids, count, sizeof pid, by_pid);
	}
}

/* A cgroup with child cgroups may have no members of its own, though those of its children count into its memory: 0
 * is emitted only without children. */
static void emit_members(struct cgroup_reader *reader, struct sample_set *out, int64_t now_ns)
{
	int folder = reader->folders[PART_MEMORY] >= 0 ? reader->folders[PART_MEMORY] : reader->folders[PART_CPU];
	struct stat status;
	size_t length;
	if (now_ns < reader->members_ns || folder < 0)
		return;
	reader->members_ns = now_ns + MEMBERS_NS;
	if (file_read(folder, "cgroup.procs", reader->text, sizeof reader->text, &length) != STATUS_OK)
		return;
	size_t strangers = count_strangers(reader->target, reader->text);
	if (strangers > 0 || (fstat(folder, &status) == 0 && status.st_nlink <= 2))
		sample_set_figure(out, now_ns, METRIC_CGROUP_MEMBERS_OUTSIDE, 0, (double)strangers);
}

/* -- figures -- */

/* "word number", a line each. */
static void emit_words(const char *text, const struct word_field *fields, struct sample_set *out, int64_t now_ns)
{
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		for (const struct word_field *field = fields; field->word; field++) {
			size_t length = strlen(field->word);
			if (strncmp(line, field->word, length) == 0 && line[length] == ' ' && line[length + 1] >= '0' &&
				line[length + 1] <= '9')
				sample_set_figure(
					out, now_ns, field->metric, 0, (double)strtoull(line + length, NULL, 10) * field->scale);
		}
		line = *end ? end + 1 : end;
	}
}

static void read_file(struct cgroup_reader *reader, size_t index, struct sample_set *out, int64_t now_ns)
{
	unsigned part = cgroup_files[0][index].part, version = reader->locations[part].version;
	size_t length;
	if (version == 0 || now_ns < reader->files[index].next_ns)
		return;
	const struct cgroup_file *file = &cgroup_files[version - 1][index];
	int folder =
		index == FILE_CPU_STAT && reader->throttling_folder >= 0 ? reader->throttling_folder : reader->folders[part];
	if (proc_file_read(folder, &reader->files[index].fd, true, file->name, reader->text, sizeof reader->text,
			&length) != STATUS_OK) {
		reader->files[index].next_ns = now_ns + RETRY_NS;
		return;
	}
	reader->files[index].next_ns = now_ns + file->period_ns;
	if (file->fields)
		emit_words(reader->text, file->fields, out, now_ns);
	else if (reader->text[0] >= '0' && reader->text[0] <= '9')
		sample_set_figure(out, now_ns, file->metric, 0, (double)strtoull(reader->text, NULL, 10));
}

/* -- the source -- */

static enum status cgroup_open(struct target *target, void **state, struct reason *why_not)
{
	struct cgroup_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	reader->target = target;
	reader->sample_ns = reader->members_ns = INT64_MIN;
	reader->throttling_folder = -1;
	for (size_t i = 0; i < PART_COUNT; i++)
		reader->folders[i] = -1;
	for (size_t i = 0; i < FILE_COUNT; i++)
		reader->files[i].fd = -1;
	forget_locations(reader);
	*state = reader;
	return STATUS_OK;
}

static enum status cgroup_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct cgroup_reader *reader = state;
	if (reader->target->has_ended || reader->target->member_count == 0) {
		/* A cgroup with an open file can be removed, but its memory is not freed. */
		forget_locations(reader);
		return STATUS_END;
	}
	refresh(reader, out, now_ns);
	for (size_t i = 0; i < FILE_COUNT; i++)
		read_file(reader, i, out, now_ns);
	emit_members(reader, out, now_ns);
	return STATUS_OK;
}

static void cgroup_close(void *state)
{
	forget_locations(state);
	free(state);
}

const struct source cgroup_source = {
	.name = "cgroup",
	.period_ns = SOURCE_SLOW_NS,
	.open = cgroup_open,
	.read = cgroup_read,
	.close = cgroup_close,
};
