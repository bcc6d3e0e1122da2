#include "src/playback/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/playback/recording_late.h"

#define PACE_MIN_NS NS_PER_S
#define PACE_MAX_NS (60 * NS_PER_S)
/* The least bytes between two dictionaries, as a multiple of a dictionary's. */
#define OTHERS_MIN 4

static void read_boot_id(char out[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, out, 39) : 0;
	if (fd >= 0)
		close(fd);
	out[length > 0 ? length : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

void recording_header(const struct recording_subject *subject, struct stream_header *out)
{
	*out = (struct stream_header){
		.major = STREAM_MAJOR, .minor = STREAM_MINOR, .pid = subject->pid, .start_ticks = subject->start_ticks
	};
	if (!kernel_random(out->uuid, sizeof out->uuid, false))
		memset(out->uuid, 0, sizeof out->uuid);
	read_boot_id(out->boot_id);
	if (gethostname(out->host, sizeof out->host - 1) < 0)
		out->host[0] = '\0';
	snprintf(out->version, sizeof out->version, "%s", PMTOP_VERSION);
	snprintf(out->command, sizeof out->command, "%.127s", subject->command);
	out->monotonic_ns = clock_monotonic_ns();
	out->realtime_ns = clock_realtime_ns();
	out->boottime_ns = clock_boottime_ns();
}

void recording_name(const char *name, int32_t pid, int64_t realtime_ns, char *out, size_t size)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	char when[32] = "", clean[64];
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm parts;
	if (localtime_r(&seconds, &parts))
		strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
	snprintf(clean, sizeof clean, "%s", name[0] ? name : "run");
	for (char *c = clean; *c; c++)
		if (!strchr(safe, *c))
			*c = '-';
	snprintf(out, size, "pmtop-%s-%d-%s.pmtop", clean, (int)pid, when);
}

/* Ends the previous recording, which may still be writing to the disk. */
static enum status make_way(struct recording *recording, struct reason *why_not)
{
	enum { PATIENCE_MS = 50 };
	if (recording->recorder) {
		recorder_finish(recording->recorder);
		if (!recorder_wait(recording->recorder, PATIENCE_MS))
			return reason_set(
				why_not, STATUS_AGAIN, "try again in a few seconds", "%s is still being written", recording->path);
		recording_end(recording);
	}
	*recording = (struct recording){ 0 };
	return STATUS_OK;
}

enum status recording_begin(struct recording *recording, const char *path, const struct recording_subject *subject,
	const struct recorder_options *options, struct reason *why_not)
{
	struct stream_header header;
	enum status status = make_way(recording, why_not);
	recording_header(subject, &header);
	if (status == STATUS_OK)
		status = recorder_open(path, &header, options, &recording->recorder, why_not);
	if (status == STATUS_OK)
		snprintf(recording->path, sizeof recording->path, "%s", path);
	return status;
}

enum status recording_begin_fd(
	struct recording *recording, int fd, const struct recording_subject *subject, struct reason *why_not)
{
	struct stream_header header;
	struct recorder_options options = { .close_ms = 500 };
	*recording = (struct recording){ 0 };
	recording_header(subject, &header);
	return recorder_open_fd(fd, &header, &options, &recording->recorder, why_not);
}

bool recording_goes_on(const struct recording *recording)
{
	return recording->recorder && !recording->is_finishing && !recording->state.stopped_ns;
}

/* A dictionary is due about once a second; later if few other bytes were written, so that dictionaries stay a small
 * part of the file; after PACE_MIN_NS if sets were lost or a new file began. */
static bool is_due(const struct recording *recording, int64_t now_ns)
{
	int64_t since_ns = now_ns - recording->emitted_ns;
	bool is_needed = recording->has_dropped || recorder_wants_dictionary(recording->recorder) ||
		recording->bytes >= OTHERS_MIN * recording->emitted_bytes;
	return !recording->is_begun || since_ns >= PACE_MAX_NS || (since_ns >= PACE_MIN_NS && is_needed);
}

static size_t add_dictionary(struct recording *recording, const struct sample_set *set, bool is_first)
{
	struct sample_set late = SAMPLE_SET_INIT;
	bool is_late = !is_first && recording_late(set, &late);
	size_t bytes = recorder_add(recording->recorder, BLOCK_DICTIONARY, is_late ? &late : set);
	sample_set_release(&late);
	return bytes;
}

static void add(struct recording *recording, const struct sample_set *set, bool emits_all)
{
	bool is_first = !recording->is_begun || recording->wants_all || recorder_wants_dictionary(recording->recorder);
	size_t bytes =
		emits_all ? add_dictionary(recording, set, is_first) : recorder_add(recording->recorder, BLOCK_TICK, set);
	recording->begun_ns = recording->begun_ns ? recording->begun_ns : set->time_ns;
	recording->last_ns = set->time_ns;
	recording->bytes += bytes;
	recording->has_dropped |= bytes == 0;
	if (!emits_all)
		return;
	recording->is_asked = false;
	if (bytes == 0)
		return;
	recording->is_begun = true;
	recording->has_dropped = recording->wants_all = false;
	recording->emitted_ns = set->time_ns;
	/* The first dictionary of a file is larger than the later ones: do not compare with it. */
	recording->emitted_bytes = is_first ? 0 : bytes;
	recording->bytes = 0;
}

void recording_note(
	struct recording *recording, struct collector *collector, const struct sample_set *set, bool emits_all)
{
	if (!recording_goes_on(recording))
		return;
	if (recording->is_begun || emits_all)
		add(recording, set, emits_all);
	if (!recording->is_asked && is_due(recording, set->time_ns)) {
		recording->is_asked = true;
		collector_want_snapshot(collector);
	}
}

void recording_ask_all(struct recording *recording, struct collector *collector)
{
	recording->wants_all = recording->is_asked = true;
	collector_want_snapshot(collector);
}

void recording_flag(struct recording *recording, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged)
{
	if (!recording_goes_on(recording) || !recording->is_begun)
		return;
	/* The time of the last set, so that times never decrease. */
	struct sample_set set = { .time_ns = recording->last_ns };
	struct record *record = sample_set_add(&set, RECORD_FLAG, run, set.time_ns);
	if (record) {
		record->flag.mode = mode;
		record->flag.ordinal = ordinal;
		record->flag.is_flagged = is_flagged;
		add(recording, &set, false);
	}
	sample_set_release(&set);
}

void recording_read(struct recording *recording)
{
	if (!recording->recorder)
		return;
	recorder_read(recording->recorder, &recording->state);
	if (recording->is_finishing && recorder_wait(recording->recorder, 0))
		recording_end(recording);
}

bool recording_has_stopped(struct recording *recording, struct reason *why)
{
	char when[16] = "";
	struct tm parts;
	time_t seconds = (time_t)(recording->state.stopped_ns / NS_PER_S);
	if (!recording->state.stopped_ns || recording->is_emitted)
		return false;
	recording->is_emitted = true;
	if (localtime_r(&seconds, &parts))
		strftime(when, sizeof when, "%H:%M", &parts);
	reason_set(why, STATUS_OK, NULL, "recording stopped %s: %s", when, recording->state.why);
	snprintf(why->remedy, sizeof why->remedy,
		recording->state.blocks ? "the data up to then is in %.200s" : "%.200s has no data", recording->path);
	return true;
}

void recording_finish(struct recording *recording)
{
	if (!recording->recorder)
		return;
	recording->is_finishing = true;
	recorder_finish(recording->recorder);
	recording_read(recording);
}

void recording_end(struct recording *recording)
{
	if (recording->recorder)
		recorder_close(recording->recorder, &recording->state);
	recording->recorder = NULL;
}
