#include "src/commands/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"

#define PACE_LEAST_NS NS_PER_S
#define PACE_MOST_NS (60 * NS_PER_S)
/* Of what lies between two dictionaries, as a multiple of theirs. */
#define OTHERS_LEAST 4

static void read_boot_id(char out[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, out, 39) : 0;
	if (fd >= 0)
		close(fd);
	out[length > 0 ? length : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static int64_t clock_now(clockid_t clock)
{
	struct timespec now = { 0 };
	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void recording_header(const struct target *target, struct stream_header *out)
{
	*out = (struct stream_header){ .major = STREAM_MAJOR, .minor = STREAM_MINOR, .pid = target->pid };
	if (getrandom(out->uuid, sizeof out->uuid, GRND_NONBLOCK) < 0)
		memset(out->uuid, 0, sizeof out->uuid);
	read_boot_id(out->boot_id);
	if (gethostname(out->host, sizeof out->host - 1) < 0)
		out->host[0] = '\0';
	snprintf(out->version, sizeof out->version, "%s", PMTOP_VERSION);
	if (target->member_count) {
		snprintf(out->command, sizeof out->command, "%.127s", target->members[0].command);
		out->start_ticks = target->members[0].start_ticks;
	} else if (target->synthetic) {
		snprintf(out->command, sizeof out->command, "synthetic %.100s", target->synthetic);
	}
	out->monotonic_ns = clock_now(CLOCK_MONOTONIC);
	out->realtime_ns = clock_now(CLOCK_REALTIME);
	out->boottime_ns = clock_now(CLOCK_BOOTTIME);
}

enum status recording_begin(struct recording *recording, const char *path, const struct target *target, const struct recorder_options *options, struct reason *why_not)
{
	struct stream_header header;
	*recording = (struct recording){ 0 };
	snprintf(recording->path, sizeof recording->path, "%s", path);
	recording_header(target, &header);
	return recorder_open(path, &header, options, &recording->recorder, why_not);
}

/* About each second, but where little else is written as much later as keeps dictionaries a small part of the file. */
static bool is_due(const struct recording *recording, int64_t now_ns)
{
	int64_t since_ns = now_ns - recording->told_ns;
	return !recording->is_begun || since_ns >= PACE_MOST_NS || (since_ns >= PACE_LEAST_NS && recording->bytes >= OTHERS_LEAST * recording->told_bytes);
}

void recording_note(struct recording *recording, struct collector *collector, const struct sample_set *set, bool tells_all)
{
	if (!recording->recorder)
		return;
	if (recording->is_begun || tells_all) {
		size_t bytes = recorder_add(recording->recorder, tells_all ? BLOCK_DICTIONARY : BLOCK_TICK, set);
		recording->bytes += bytes;
		if (tells_all && bytes) {
			recording->is_begun = true;
			recording->is_asked = false;
			recording->told_ns = set->time_ns;
			recording->told_bytes = bytes;
			recording->bytes = 0;
		}
	}
	if (!recording->is_asked && is_due(recording, set->time_ns)) {
		recording->is_asked = true;
		collector_want_snapshot(collector);
	}
}

void recording_end(struct recording *recording, struct recorder_state *out)
{
	if (recording->recorder)
		recorder_close(recording->recorder, out);
	recording->recorder = NULL;
}
