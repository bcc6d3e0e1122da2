/* pmtop repair: copies the intact blocks of a recording unchanged, in the order of their numbers, and writes an index.
 * The blocks keep their numbers, so that readers still see where blocks are missing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/new_file.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/playback/repair_survey.h"
#include "src/samples/stream_write.h"
#include "src/session/command.h"

enum { PATH_SIZE = 4096, LOSSES_SHOWN = 10, WRITTEN_AT_ONCE = 1 << 20 };

/* -- in words -- */

static const char *clock_text(char out[32], const struct stream_header *header, int64_t time_ns)
{
	struct tm parts;
	time_t seconds =
		(time_t)((int64_t)((uint64_t)time_ns - (uint64_t)header->monotonic_ns + (uint64_t)header->realtime_ns) /
			NS_PER_S);
	if (!localtime_r(&seconds, &parts) || strftime(out, 32, "%H:%M:%S", &parts) == 0)
		snprintf(out, 32, "–");
	return out;
}

/* Nothing can be repaired: at most, blocks are missing. */
static bool is_tidy(const struct survey *survey)
{
	return survey->has_index && !survey->stray_bytes && !survey->doubled && !survey->moved && !survey->other_at &&
		survey->pieces[0].kind == BLOCK_HEADER;
}

static bool is_whole(const struct survey *survey) { return is_tidy(survey) && !survey->loss_count; }

static void say_losses(const struct survey *survey)
{
	char lost[32], all[32], from[32], to[32];
	const struct loss *first = survey->losses, *last = &survey->losses[survey->loss_count - 1];
	printf("%s block%s of %s lost, ", format_grouped(lost, survey->lost), survey->lost == 1 ? "" : "s",
		format_grouped(all, survey->lost + survey->count));
	if (survey->loss_count > 1)
		printf("in %zu places between ", survey->loss_count);
	printf("%s %s %s", clock_text(from, &survey->header, first->from_ns), survey->loss_count > 1 ? "and" : "to",
		clock_text(to, &survey->header, last->to_ns));
	if (is_tidy(survey))
		printf(", and cannot be recovered: nothing to repair");
}

static void print_summary(const struct survey *survey)
{
	char lost[32], from[32], to[32];
	for (size_t i = 0; i < survey->loss_count && survey->loss_count > 1; i++) {
		const struct loss *loss = &survey->losses[i];
		if (i == LOSSES_SHOWN) {
			printf("  and %zu more\n", survey->loss_count - i);
			break;
		}
		printf("  %s block%s, %s to %s\n", format_grouped(lost, loss->blocks), loss->blocks == 1 ? "" : "s",
			clock_text(from, &survey->header, loss->from_ns), clock_text(to, &survey->header, loss->to_ns));
	}
}

static void say(const char *name, const struct survey *survey)
{
	char number[32], from[32], to[32];
	const char *between = "";
	if (is_whole(survey)) {
		printf("%s is intact: %s blocks, %s to %s, with its index\n", name, format_grouped(number, survey->count),
			clock_text(from, &survey->header, survey->pieces[0].time_ns),
			clock_text(to, &survey->header, survey->pieces[survey->count - 1].time_ns));
		return;
	}
	printf("%s: ", name);
	if (survey->loss_count) {
		say_losses(survey);
		between = "; ";
	}
	const struct {
		uint64_t count;
		const char *one, *many;
	} rows[] = {
		{ survey->stray_bytes, "byte belongs to no block", "bytes belong to no block" },
		{ survey->doubled, "block is duplicated", "blocks are duplicated" },
		{ survey->moved, "block is out of order", "blocks are out of order" },
		{ survey->undated, "block before the first dictionary cannot be shown",
			"blocks before the first dictionary cannot be shown" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].count)
			continue;
		printf(
			"%s%s %s", between, format_grouped(number, rows[i].count), rows[i].count == 1 ? rows[i].one : rows[i].many);
		between = "; ";
	}
	if (!survey->has_index) {
		printf(
			survey->is_index_off ? "%sits index has wrong offsets" : "%sit has no index: it was not closed", between);
		between = "; ";
	}
	if (survey->other_at)
		printf(
			"%sanother recording begins at byte %s and is left out", between, format_grouped(number, survey->other_at));
	putchar('\n');
	print_summary(survey);
}

/* -- the file -- */

struct writing {
	int from, to;
	uint64_t offset;            /* in the new file */
	struct buffer bytes;        /* to be written */
	struct stream_entry headed; /* where the headers that precede this block begin, or the block itself */
	bool is_headed;
	size_t entry_count;
	struct stream_entry *entries;
};

static bool flush(struct writing *writing)
{
	for (size_t done = 0; done < writing->bytes.length;) {
		ssize_t length = write(writing->to, writing->bytes.data + done, writing->bytes.length - done);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0) {
			errno = length < 0 ? errno : ENOSPC;
			return false;
		}
		done += (size_t)length;
	}
	buffer_clear(&writing->bytes);
	return true;
}

static bool copy_piece(struct writing *writing, const struct piece *piece, char *room)
{
	for (size_t done = 0; done < piece->length;) {
		ssize_t length = pread(writing->from, room + done, piece->length - done, (off_t)(piece->offset + done));
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0) {
			errno = length < 0 ? errno : EIO;
			return false;
		}
		done += (size_t)length;
	}
	if (!writing->is_headed)
		writing->headed = (struct stream_entry){ writing->offset, piece->number, piece->time_ns };
	writing->is_headed = piece->kind == BLOCK_HEADER;
	bool is_copy = writing->entry_count && writing->entries[writing->entry_count - 1].time_ns == piece->time_ns;
	if (piece->kind == BLOCK_DICTIONARY && !(piece->flags & BLOCK_CONTINUES) && !is_copy)
		writing->entries[writing->entry_count++] =
			(struct stream_entry){ writing->headed.offset, writing->headed.number, piece->time_ns };
	buffer_add(&writing->bytes, room, piece->length);
	writing->offset += piece->length;
	errno = ENOMEM;
	return !writing->bytes.failed && (writing->bytes.length < WRITTEN_AT_ONCE || flush(writing));
}

static bool write_index(struct writing *writing, const struct survey *survey)
{
	struct stream_writer writer = { .number = survey->next };
	stream_write_index(&writer, writing->entries, writing->entry_count, writing->offset,
		survey->pieces[survey->count - 1].time_ns, &writing->bytes);
	stream_writer_release(&writer);
	errno = ENOMEM;
	return !writing->bytes.failed && flush(writing);
}

/* A recording begins with a header: where its first is lost, any other says the same. */
static bool write_pieces(struct writing *writing, const struct survey *survey)
{
	char *room = malloc(STREAM_BLOCK_HEAD + STREAM_PAYLOAD_MAX);
	writing->entries = calloc(survey->count, sizeof *writing->entries);
	bool is_good = room && writing->entries;
	size_t header = 0;
	while (is_good && survey->pieces[header].kind != BLOCK_HEADER)
		header++;
	if (is_good && header)
		is_good = copy_piece(writing, &survey->pieces[header], room);
	for (size_t i = 0; i < survey->count && is_good; i++)
		is_good = copy_piece(writing, &survey->pieces[i], room);
	is_good = is_good && write_index(writing, survey) && fsync(writing->to) == 0;
	free(room);
	return is_good;
}

static enum status write_file(int from, const struct survey *survey, const char *path, struct reason *why_not)
{
	struct writing writing = { .from = from, .to = new_file_create(path) };
	if (writing.to < 0 && errno == EEXIST)
		return reason_set(
			why_not, STATUS_INVALID, "name another file with -o, or remove it", "%s exists already", path);
	if (writing.to < 0)
		return reason_set(why_not, errno == EACCES ? STATUS_DENIED : STATUS_IO, "name another file with -o",
			"cannot write %s: %s", path, strerror(errno));
	enum status status = STATUS_OK;
	if (!write_pieces(&writing, survey)) {
		status =
			reason_set(why_not, STATUS_IO, "name another file with -o", "cannot write %s: %s", path, strerror(errno));
		unlink(path);
	}
	close(writing.to);
	buffer_release(&writing.bytes);
	free(writing.entries);
	return status;
}

/* -- the command -- */

static enum status open_recording(const char *name, int *fd, struct reason *why_not)
{
	struct stat file;
	*fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, &file) < 0)
		return reason_set(why_not,
			errno == ENOENT       ? STATUS_NOT_FOUND
				: errno == EACCES ? STATUS_DENIED
								  : STATUS_IO,
			"check the path and its permissions", "cannot read %s: %s", name, strerror(errno));
	if (!S_ISREG(file.st_mode))
		return reason_set(why_not, STATUS_INVALID, "pmtop repair FILE -o FILE", "%s is not a regular file", name);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (fcntl(*fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		return reason_set(why_not, STATUS_INVALID, "stop its recorder first", "%s is being recorded", name);
	return STATUS_OK;
}

/* run.pmtop → run.repaired.pmtop */
static void name_output(const char *name, char out[PATH_SIZE])
{
	size_t length = strlen(name), end = length > 6 && strcmp(name + length - 6, ".pmtop") == 0 ? 6 : 0;
	snprintf(out, PATH_SIZE, "%.*s.repaired.pmtop", (int)(length - end), name);
}

static enum exit_code run_repair(const struct options *options, const struct settings *settings)
{
	(void)settings;
	char path[PATH_SIZE], number[32];
	struct survey survey = { .count = 0 };
	struct reason why = { "", "" };
	int fd = -1;
	if (options->word_count != 1 || strlen(options->words[0]) >= PATH_SIZE - 32 ||
		(options->write && strlen(options->write) >= PATH_SIZE)) {
		fputs("pmtop: repair takes one recording: pmtop repair FILE -o FILE\n", stderr);
		return EXIT_USAGE;
	}
	const char *name = options->words[0];
	enum status status = open_recording(name, &fd, &why);
	if (status == STATUS_OK)
		status = survey_file(fd, name, &survey, &why);
	if (status == STATUS_OK) {
		say(name, &survey);
		if (options->write)
			snprintf(path, sizeof path, "%s", options->write);
		else
			name_output(name, path);
		bool is_wanted = options->write || !is_tidy(&survey);
		status = is_wanted ? write_file(fd, &survey, path, &why) : STATUS_OK;
		if (status == STATUS_OK && is_wanted)
			printf("%s: %s blocks and %s index: pmtop -r %s\n", path, format_grouped(number, survey.count),
				is_tidy(&survey) ? "their" : "a new", path);
	}
	if (fd >= 0)
		close(fd);
	survey_release(&survey);
	fflush(stdout);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &why);
}

const struct command repair_command = {
	.name = "repair",
	.synopsis = "repair FILE",
	.summary = "recover the intact blocks of a recording",
	.example = "pmtop repair run.pmtop -o whole.pmtop",
	.words = COMMAND_TAKES_WORDS,
	.formats = FORMATS_ALL_BUT_SVG,
	.run = run_repair,
};
