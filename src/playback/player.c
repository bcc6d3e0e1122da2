#include "src/playback/player.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/playback/player_files.h"
#include "src/samples/stream_read.h"

/* NONSENSE_MAX: a pipe that begins with this many bytes outside of blocks is no recording. */
enum {
	READ_AT_ONCE = 256 * 1024,
	FOLLOW_MS = 100,
	RUNS = 256,
	LANES = 256,
	UUID_SIZE = 40,
	NONSENSE_MAX = 4 * STREAM_PAYLOAD_MAX
};
#define HEADER_WAIT_NS (30 * NS_PER_S)

/* The state of a run before a gap, to be compared with the dictionary after it. */
struct known {
	char uuid[UUID_SIZE]; /* empty: none */
	uint64_t next[LANES]; /* sequence of the lane's next event */
};

struct player {
	int first_fd, fd; /* the first file of the recording; the file being read */
	char *path;       /* NULL: standard input */
	unsigned file;
	off_t offset; /* the position in the file */
	bool was_growing;
	bool is_pipe, is_finished, has_ended;
	double speed;
	struct stream_reader *reader;
	struct sample_set ahead; /* read, but not due yet */
	bool has_ahead, is_begun, has_gap;
	bool is_ahead_lost;         /* blocks before `ahead` are lost */
	int64_t first_ns, begun_ns; /* the first set's time, and when player_take returned it */
	struct known *known;
	char *room;
};

/* -- bytes -- */

static int file_after(const struct player *player, unsigned file)
{
	const struct stream_header *header = stream_reader_header(player->reader);
	return player->path && header ? files_open(player->path, file + 1, header->uuid) : -1;
}

/* Opens the last file of the recording; the caller closes it. */
static int last_file(const struct player *player)
{
	int fd = fcntl(player->fd, F_DUPFD_CLOEXEC, 3), next;
	for (unsigned file = player->file; (next = file_after(player, file)) >= 0; file++) {
		close(fd);
		fd = next;
	}
	return fd;
}

bool player_is_growing(const struct player *player)
{
	if (player->is_pipe)
		return false;
	int fd = last_file(player);
	bool grows = fd >= 0 && files_is_locked(fd);
	if (fd >= 0)
		close(fd);
	return grows;
}

/* --rotate: the recording goes on in another file. */
static bool go_to_next_file(struct player *player)
{
	int next = player->is_pipe ? -1 : file_after(player, player->file);
	if (next < 0)
		return false;
	if (player->fd != player->first_fd)
		close(player->fd);
	player->fd = next;
	player->offset = 0;
	player->file++;
	return true;
}

/* Returns false if there are no bytes now. */
static bool read_more(struct player *player)
{
	struct pollfd ready = { .fd = player->fd, .events = POLLIN };
	if (player->is_finished || (player->is_pipe && poll(&ready, 1, 0) <= 0))
		return false;
	/* Check the lock before reading: bytes written in between are read the next time. */
	bool grows = !player->is_pipe && files_is_locked(player->fd);
	ssize_t length = player->is_pipe ? read(player->fd, player->room, READ_AT_ONCE)
									 : pread(player->fd, player->room, READ_AT_ONCE, player->offset);
	if (length > 0) {
		player->offset += length;
		return stream_reader_feed(player->reader, player->room, (size_t)length) == STATUS_OK;
	}
	if (length < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (length == 0 && !grows && go_to_next_file(player))
		return true;
	/* A recorder that has unlocked a file may be about to create the next. */
	bool may_go_on = grows || player->was_growing;
	player->was_growing = grows;
	if (length == 0 && may_go_on)
		return false;
	stream_reader_finish(player->reader);
	player->is_finished = true;
	return true;
}

/* -- sets -- */

static void note_events(struct player *player, const struct sample_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		struct known *known = &player->known[record->run];
		if (record->kind == RECORD_RUN_OPENED && strncmp(known->uuid, record->opened.uuid, UUID_SIZE - 1) != 0) {
			*known = (struct known){ .uuid = "" };
			snprintf(known->uuid, sizeof known->uuid, "%s", record->opened.uuid);
		} else if (record->kind >= RECORD_EPOCH_BEGIN && record->lane < LANES) {
			known->next[record->lane] = record->sequence + 1;
		} else if (record->kind == RECORD_LOST && record->lane < LANES) {
			known->next[record->lane] += record->lost.count;
		}
	}
}

/* After a gap in the blocks, adds a RECORD_LOST for each gap in the events' sequence numbers. */
static void emit_lost(struct player *player, struct sample_set *set)
{
	size_t count = set->count;
	for (size_t i = 0; i < count; i++) {
		const struct record event = set->records[i];
		struct known *known = &player->known[event.run];
		if (event.kind < RECORD_EPOCH_BEGIN || event.lane >= LANES || !known->next[event.lane])
			continue;
		struct record *lost = event.sequence > known->next[event.lane]
			? sample_set_add(set, RECORD_LOST, event.run, event.time_ns)
			: NULL;
		if (lost) {
			lost->lane = event.lane;
			lost->lost.count = event.sequence - known->next[event.lane];
		}
		known->next[event.lane] = event.sequence + 1;
	}
}

/* The last event of each lane that a dictionary's totals include. */
static void find_ends(const struct sample_set *set, unsigned run, uint64_t upto[LANES])
{
	memset(upto, 0, LANES * sizeof *upto);
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		if (record->kind == RECORD_TOTAL && record->run == run && record->lane < LANES &&
			record->total->upto > upto[record->lane])
			upto[record->lane] = record->total->upto;
	}
}

/* After a gap the dictionary opens each run again. For a run that is already known, replaces that record by the number
 * of lost events. */
static void mend(struct player *player, struct sample_set *set)
{
	uint64_t upto[LANES];
	bool is_mended[RUNS] = { false };
	size_t count = set->count;
	for (size_t i = 0; i < count; i++) {
		unsigned run = set->records[i].run;
		struct known *known = &player->known[run];
		if (set->records[i].kind != RECORD_RUN_OPENED ||
			strncmp(known->uuid, set->records[i].opened.uuid, UUID_SIZE - 1) != 0)
			continue;
		int64_t time_ns = set->records[i].time_ns;
		set->records[i] = (struct record){ .kind = RECORD_LOST, .run = (uint8_t)run, .time_ns = time_ns };
		if (is_mended[run])
			continue;
		is_mended[run] = true;
		find_ends(set, run, upto);
		set->records[i].lost.count = upto[0] > known->next[0] ? upto[0] - known->next[0] : 0;
		for (unsigned lane = 1; lane < LANES; lane++) {
			struct record *record = known->next[lane] && upto[lane] > known->next[lane]
				? sample_set_add(set, RECORD_LOST, run, time_ns)
				: NULL;
			if (record) {
				record->lane = (uint16_t)lane;
				record->lost.count = upto[lane] - known->next[lane];
			}
		}
	}
}

/* Returns true if the event has a set to apply. */
static bool take_event(struct player *player, enum stream_event event, bool has_gap)
{
	player->has_gap |= has_gap && player->is_begun;
	player->is_ahead_lost |= has_gap && player->is_begun;
	if (event == STREAM_DICTIONARY) {
		if (player->is_begun && !player->has_gap)
			return false;
		if (player->is_begun)
			mend(player, &player->ahead);
		player->has_gap = false;
		return true;
	}
	if (event == STREAM_TICK && player->has_gap)
		emit_lost(player, &player->ahead);
	return event == STREAM_TICK;
}

static bool read_ahead(struct player *player)
{
	while (!player->has_ahead && !player->has_ended) {
		bool has_gap = false;
		enum stream_event event = stream_reader_next(player->reader, &player->ahead, &has_gap);
		if (take_event(player, event, has_gap)) {
			note_events(player, &player->ahead);
			player->has_ahead = true;
		} else if (event == STREAM_END || event == STREAM_REFUSED) {
			player->has_ended = true;
		} else if (event == STREAM_WAIT && !read_more(player)) {
			return false;
		}
	}
	return player->has_ahead;
}

static int64_t due_ns(const struct player *player)
{
	if (player->is_pipe || player->speed <= 0 || !player->is_begun)
		return INT64_MIN;
	return player->begun_ns + (int64_t)((double)(player->ahead.time_ns - player->first_ns) / player->speed);
}

bool player_take(struct player *player, struct sample_set *set)
{
	sample_set_clear(set);
	if (!read_ahead(player) || due_ns(player) > clock_monotonic_ns())
		return false;
	if (!player->is_begun) {
		player->is_begun = true;
		player->first_ns = player->ahead.time_ns;
		player->begun_ns = clock_monotonic_ns();
	}
	struct sample_set retained = *set;
	*set = player->ahead;
	player->ahead = retained;
	player->has_ahead = player->is_ahead_lost = false;
	return true;
}

bool player_next_ns(struct player *player, int64_t *time_ns)
{
	if (!read_ahead(player))
		return false;
	*time_ns = player->ahead.time_ns;
	return true;
}

bool player_lost_before_next(const struct player *player) { return player->has_ahead && player->is_ahead_lost; }

int player_wait_ms(const struct player *player)
{
	if (player->has_ended)
		return 0;
	if (!player->has_ahead)
		return player->is_pipe ? -1 : player->is_finished ? 0 : FOLLOW_MS;
	int64_t due = due_ns(player), now_ns = clock_monotonic_ns();
	return due <= now_ns ? 0 : (int)((due - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

int player_fd(const struct player *player) { return player->is_pipe && !player->is_finished ? player->fd : -1; }

/* -- opening -- */

/* Reads up to the header. */
static enum status read_header(struct player *player, const char *name, struct reason *why_not)
{
	bool has_gap;
	for (int64_t end_ns = clock_monotonic_ns() + HEADER_WAIT_NS; clock_monotonic_ns() < end_ns;) {
		enum stream_event event = stream_reader_next(player->reader, &player->ahead, &has_gap);
		if (event == STREAM_HEADED)
			return STATUS_OK;
		if (event == STREAM_REFUSED)
			return reason_set(why_not, STATUS_UNSUPPORTED, "use the pmtop that recorded it, or a newer one", "%s: %s",
				name, stream_reader_refusal(player->reader));
		if (event == STREAM_END || (player->is_pipe && stream_reader_losses(player->reader)->bytes > NONSENSE_MAX))
			return reason_set(why_not, STATUS_DAMAGED, "record one with pmtop -p PID -w FILE",
				"%s is not a recording of pmtop", name);
		struct pollfd ready = { .fd = player->fd, .events = POLLIN };
		if (event == STREAM_WAIT && !read_more(player))
			poll(&ready, player->is_pipe ? 1 : 0, FOLLOW_MS);
	}
	return reason_set(why_not, STATUS_IO, "check that its writer is running", "no data from %s for 30 s", name);
}

enum status player_open(const char *path, double speed, struct player **out, struct reason *why_not)
{
	struct stat file;
	bool is_standard = strcmp(path, "-") == 0;
	char directory[200];
	snprintf(directory, sizeof directory, "%.160s is a directory", path);
	struct player *player = calloc(1, sizeof *player);
	if (!player)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	player->speed = speed;
	player->path = is_standard ? NULL : strdup(path);
	player->fd = player->first_fd = is_standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
												: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	player->reader = stream_reader_new();
	player->known = calloc(RUNS, sizeof *player->known);
	player->room = malloc(READ_AT_ONCE);
	enum status status = STATUS_OK;
	/* With O_NONBLOCK the open did not wait for a FIFO's writer; read_header waits for HEADER_WAIT_NS. */
	if (player->fd < 0 || fstat(player->fd, &file) < 0)
		status = reason_set(why_not,
			errno == ENOENT       ? STATUS_NOT_FOUND
				: errno == EACCES ? STATUS_DENIED
								  : STATUS_IO,
			"name a recording; pmtop list shows the runs", "cannot read %s: %s", path, strerror(errno));
	else if (S_ISDIR(file.st_mode) || (is_standard && isatty(player->fd)))
		status = reason_set(why_not, STATUS_INVALID, "pmtop -r FILE, or pmtop collect -p PID | pmtop -r -",
			"%s, not a recording", is_standard ? "standard input is a terminal" : directory);
	else if (!is_standard && (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode)))
		status = reason_set(why_not, STATUS_INVALID, "pmtop -r FILE, or pmtop collect -p PID | pmtop -r -",
			"%s is a device, not a recording", path);
	else if (!player->reader || !player->known || !player->room)
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	if (status == STATUS_OK) {
		player->is_pipe = !S_ISREG(file.st_mode);
		status = read_header(player, is_standard ? "standard input" : path, why_not);
	}
	if (status == STATUS_OK)
		*out = player;
	else
		player_close(player);
	return status;
}

struct player *player_again(const struct player *player)
{
	struct reason why_not;
	struct player *again = player->is_pipe ? NULL : calloc(1, sizeof *again);
	if (!again)
		return NULL;
	again->path = player->path ? strdup(player->path) : NULL;
	again->fd = again->first_fd = fcntl(player->first_fd, F_DUPFD_CLOEXEC, 3);
	again->reader = stream_reader_new();
	again->known = calloc(RUNS, sizeof *again->known);
	again->room = malloc(READ_AT_ONCE);
	if (again->fd >= 0 && again->reader && again->known && again->room &&
		read_header(again, "the recording", &why_not) == STATUS_OK)
		return again;
	player_close(again);
	return NULL;
}

bool player_span(const struct player *player, int64_t *begin_ns, int64_t *end_ns)
{
	struct player *again = player_again(player);
	int last = again ? last_file(again) : -1;
	bool good = again && player_next_ns(again, begin_ns) &&
		((last >= 0 && files_end_ns(last, end_ns)) || files_end_ns(again->first_fd, end_ns));
	if (last >= 0)
		close(last);
	player_close(again);
	if (good && *end_ns < *begin_ns)
		*end_ns = *begin_ns;
	return good;
}

void player_close(struct player *player)
{
	if (!player)
		return;
	if (player->fd >= 0 && player->fd != player->first_fd)
		close(player->fd);
	if (player->first_fd >= 0)
		close(player->first_fd);
	free(player->path);
	stream_reader_free(player->reader);
	sample_set_release(&player->ahead);
	free(player->known);
	free(player->room);
	free(player);
}

bool player_has_ended(const struct player *player) { return player->has_ended; }

bool player_is_pipe(const struct player *player) { return player->is_pipe; }

const struct stream_header *player_header(const struct player *player) { return stream_reader_header(player->reader); }

const struct stream_losses *player_losses(const struct player *player) { return stream_reader_losses(player->reader); }

const char *player_refusal(const struct player *player) { return stream_reader_refusal(player->reader); }
