#include "src/sources/machine/system_devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/machine/system.h"
#include "src/sources/machine/system_private.h"

#define DISKS_NS (900 * NS_PER_MS)
#define NETWORKS_NS (900 * NS_PER_MS)
#define RETRY_NS (5 * NS_PER_S)

enum { SECTOR_BYTES = 512 }; /* independent of the device's own sector size: Documentation/admin-guide/iostats.rst */

/* -- names -- */

/* Returns the device's instance number, and emits its name the first time. False: there are too many devices. */
static bool emit_device(struct emitted_devices *emitted, const char *name, enum metric family, int32_t *instance,
	struct sample_set *out, int64_t now_ns)
{
	size_t at = 0;
	while (at < emitted->count && strcmp(emitted->names[at], name) != 0)
		at++;
	*instance = (int32_t)at;
	if (at < emitted->count)
		return true;
	if (at == SYSTEM_DEVICES_EMITTED)
		return false;
	snprintf(emitted->names[emitted->count++], SYSTEM_DEVICE_NAME, "%s", name);
	struct record *record = sample_set_add(out, RECORD_INSTANCE, 0, now_ns);
	if (!record)
		return true;
	record->instance.metric = family;
	record->instance.instance = *instance;
	record->instance.name = sample_set_text(out, name, strlen(name));
	return true;
}

/* -- disks -- */

/* Only devices of the lowest rank present are emitted: requests to a stacked device reach the disks below it, and
 * would count twice. */
enum disk_rank { DISK_PHYSICAL, DISK_STACKED, DISK_MEMORY, DISK_PART };

static enum disk_rank rank_of(const struct system_reader *reader, const char *name)
{
	static const struct {
		const char *prefix;
		enum disk_rank rank;
	} prefixes[] = {
		{ "dm-", DISK_STACKED },
		{ "md", DISK_STACKED },
		{ "bcache", DISK_STACKED },
		{ "drbd", DISK_STACKED },
		{ "loop", DISK_MEMORY },
		{ "ram", DISK_MEMORY },
		{ "zram", DISK_MEMORY },
	};
	/* Whole devices have a folder there, partitions do not. A fixture has its own folder. */
	char path[4096];
	bool is_real = strcmp(reader->target->proc_root, "/proc") == 0;
	int written = snprintf(path, sizeof path, "%s%s/block/%s", is_real ? "" : reader->target->proc_root,
		is_real ? "/sys" : "/sysfs", name);
	if (written < 0 || (size_t)written >= sizeof path)
		return DISK_PART;
	for (char *slash = path + (size_t)written - strlen(name); *slash; slash++)
		if (*slash == '/')
			*slash = '!';
	if (!file_is_there(AT_FDCWD, path))
		return DISK_PART;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
			return prefixes[i].rank;
	return DISK_PHYSICAL;
}

static const struct known_disk *known_disk(struct system_reader *reader, size_t line, uint32_t number, const char *name)
{
	/* The lines keep their order, so the device is mostly on the same line as before. */
	struct known_disk *known = &reader->disks[line];
	if (line < reader->disk_count && known->number == number && strcmp(known->name, name) == 0)
		return known;
	*known = (struct known_disk){ .number = number, .rank = (uint8_t)rank_of(reader, name) };
	snprintf(known->name, sizeof known->name, "%s", name);
	return known;
}

enum {
	READS,
	READS_MERGED,
	SECTORS_READ,
	READ_MS,
	WRITES,
	WRITES_MERGED,
	SECTORS_WRITTEN,
	WRITE_MS,
	IN_FLIGHT,
	BUSY_MS,
	DISK_COLUMNS
};

struct disk_line {
	char name[SYSTEM_DEVICE_NAME];
	uint32_t number;
	uint64_t columns[DISK_COLUMNS];
};

/* Returns the next line, NULL at the end; *is_good: the line could be parsed. */
static const char *parse_disk(const char *at, struct disk_line *line, bool *is_good)
{
	const char *next = strchr(at, '\n');
	char *end;
	unsigned long major = strtoul(at, &end, 10), minor = strtoul(end, &end, 10);
	end += strspn(end, " ");
	size_t length = strcspn(end, " \n");
	*is_good = false;
	if (length == 0 || length >= sizeof line->name)
		goto out;
	memcpy(line->name, end, length);
	line->name[length] = '\0';
	line->number = (uint32_t)(major << 20 | minor);
	at = end + length;
	for (size_t i = 0; i < DISK_COLUMNS; i++) {
		at += strspn(at, " ");
		if (*at < '0' || *at > '9')
			goto out;
		line->columns[i] = strtoull(at, &end, 10);
		at = end;
	}
	*is_good = true;
out:
	return next ? next + 1 : NULL;
}

static void emit_disk(
	struct system_reader *reader, const struct disk_line *line, struct sample_set *out, int64_t now_ns)
{
	const uint64_t *columns = line->columns;
	const struct {
		enum metric metric;
		double value;
	} figures[] = {
		{ METRIC_DISK_READ, (double)columns[SECTORS_READ] * SECTOR_BYTES },
		{ METRIC_DISK_WRITTEN, (double)columns[SECTORS_WRITTEN] * SECTOR_BYTES },
		{ METRIC_DISK_READS, (double)columns[READS] },
		{ METRIC_DISK_WRITES, (double)columns[WRITES] },
		{ METRIC_DISK_READ_TIME, (double)columns[READ_MS] * 1e6 },
		{ METRIC_DISK_WRITE_TIME, (double)columns[WRITE_MS] * 1e6 },
		{ METRIC_DISK_BUSY, (double)columns[BUSY_MS] * 1e6 },
	};
	int32_t instance;
	if (!emit_device(&reader->emitted_disks, line->name, METRIC_DISK_READ, &instance, out, now_ns))
		return;
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		sample_set_figure(out, now_ns, figures[i].metric, instance, figures[i].value);
}

/* The rank to emit; DISK_PART: no whole device was ever used. */
static enum disk_rank find_rank(struct system_reader *reader)
{
	enum disk_rank min = DISK_PART;
	size_t count = 0;
	bool is_good;
	struct disk_line line;
	for (const char *at = reader->text; at && *at && count < SYSTEM_DISKS_KNOWN;) {
		at = parse_disk(at, &line, &is_good);
		if (!is_good || (line.columns[READS] == 0 && line.columns[WRITES] == 0))
			continue;
		const struct known_disk *known = known_disk(reader, count, line.number, line.name);
		if (count == reader->disk_count)
			reader->disk_count++;
		count++;
		min = known->rank < min ? (enum disk_rank)known->rank : min;
	}
	reader->disk_count = count;
	return min;
}

void system_read_disks(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct retained_file *retained = &reader->retained[RETAINED_DISKS];
	size_t length;
	if (now_ns < retained->next_ns)
		return;
	enum status status =
		proc_file_read(reader->root_fd, &retained->fd, true, "diskstats", reader->text, sizeof reader->text, &length);
	retained->next_ns = now_ns + (status == STATUS_OK ? DISKS_NS : RETRY_NS);
	if (status != STATUS_OK) {
		struct reason why;
		reason_set(&why, status, status == STATUS_DENIED ? "run pmtop as root" : "", "%s",
			status == STATUS_DENIED ? "no permission to read /proc/diskstats"
									: "the kernel has no disk statistics (diskstats)");
		system_emit_missing(retained, "disks", &why, out, now_ns);
		return;
	}
	system_emit_missing(retained, "disks", NULL, out, now_ns);
	enum disk_rank rank = find_rank(reader);
	size_t count = 0;
	struct disk_line line;
	bool is_good;
	for (const char *at = reader->text; rank != DISK_PART && at && *at && count < reader->disk_count;) {
		at = parse_disk(at, &line, &is_good);
		if (!is_good || (line.columns[READS] == 0 && line.columns[WRITES] == 0))
			continue;
		if (reader->disks[count++].rank == rank)
			emit_disk(reader, &line, out, now_ns);
	}
}

/* -- network interfaces -- */

/* "  eth0: 1 2 3 4 5 6 7 8  9 …": bytes received are the 1st column, bytes sent the 9th. */
static void emit_network(
	struct system_reader *reader, const char *line, const char *colon, struct sample_set *out, int64_t now_ns)
{
	enum { SENT = 8, COLUMNS };
	char name[SYSTEM_DEVICE_NAME];
	uint64_t columns[COLUMNS];
	int32_t instance;
	line += strspn(line, " ");
	size_t length = (size_t)(colon - line);
	if (length == 0 || length >= sizeof name)
		return;
	memcpy(name, line, length);
	name[length] = '\0';
	const char *at = colon + 1;
	for (size_t i = 0; i < COLUMNS; i++) {
		char *end;
		columns[i] = strtoull(at, &end, 10);
		if (end == at)
			return;
		at = end;
	}
	bool is_used = columns[0] || columns[SENT];
	if (!is_used || strcmp(name, "lo") == 0 ||
		!emit_device(&reader->emitted_networks, name, METRIC_NETWORK_RECEIVED, &instance, out, now_ns))
		return;
	sample_set_figure(out, now_ns, METRIC_NETWORK_RECEIVED, instance, (double)columns[0]);
	sample_set_figure(out, now_ns, METRIC_NETWORK_SENT, instance, (double)columns[SENT]);
}

void system_read_networks(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct retained_file *retained = &reader->retained[RETAINED_NETWORKS];
	const struct target_member *member = reader->target->members;
	size_t length;
	if (now_ns < retained->next_ns || reader->target->member_count == 0)
		return;
	enum status status = proc_file_read(
		member->directory_fd, &retained->fd, true, "net/dev", reader->text, sizeof reader->text, &length);
	retained->next_ns = now_ns + (status == STATUS_OK ? NETWORKS_NS : RETRY_NS);
	if (status != STATUS_OK) {
		struct reason why;
		reason_set(&why, status, "", "/proc/%d/net/dev could not be read", (int)member->pid);
		if (status == STATUS_DENIED)
			target_explain_denied(reader->target, member, &why);
		system_emit_missing(retained, "network", &why, out, now_ns);
		return;
	}
	system_emit_missing(retained, "network", NULL, out, now_ns);
	for (const char *line = reader->text; line && *line;) {
		const char *end = strchrnul(line, '\n'), *colon = memchr(line, ':', (size_t)(end - line));
		if (colon)
			emit_network(reader, line, colon, out, now_ns);
		line = *end ? end + 1 : NULL;
	}
}
