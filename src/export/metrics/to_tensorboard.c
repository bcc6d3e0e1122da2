/* --to=tensorboard: for each rank an event file of scalars: tensorboard --logdir DIR.
 *
 * A file is records: u64 length, u32 masked CRC32C of that, an Event, u32 masked CRC32C of it, all little-endian. An
 * Event is a protobuf message: double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5, of
 * repeated Value value = 1: string tag = 1; float simple_value = 2. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/formats/crc32c.h"
#include "src/export/finished.h"
#include "src/export/scope.h"

enum {
	EVENT_WALL_TIME = 1 << 3 | 1,
	EVENT_STEP = 2 << 3 | 0,
	EVENT_VERSION = 3 << 3 | 2,
	EVENT_SUMMARY = 5 << 3 | 2,
	SUMMARY_VALUE = 1 << 3 | 2,
	VALUE_TAG = 1 << 3 | 2,
	VALUE_SIMPLE = 2 << 3 | 5
};

struct board {
	struct finished *finished;
	struct buffer summary, value, event;
	bool has_begun[MODEL_RUNS_MAX]; /* the rank's file has its first record */
};

static void close_board(void *state)
{
	struct board *board = state;
	if (!board)
		return;
	finished_free(board->finished);
	buffer_release(&board->summary);
	buffer_release(&board->value);
	buffer_release(&board->event);
	free(board);
}

static void *open_board(const struct export_scene *scene)
{
	struct board *board = calloc(1, sizeof *board);
	(void)scene;
	if (board)
		board->finished = finished_new();
	if (board && board->finished)
		return board;
	close_board(board);
	return NULL;
}

/* -- bytes -- */

static void add_fixed(struct buffer *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buffer_add(out, &(char){ (char)(value >> (8 * i)) }, 1);
}

static void add_varint(struct buffer *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		buffer_add(out, &(char){ (char)(value | 0x80) }, 1);
	buffer_add(out, &(char){ (char)value }, 1);
}

static void add_bytes(struct buffer *out, unsigned tag, const char *bytes, size_t length)
{
	add_varint(out, tag);
	add_varint(out, length);
	buffer_add(out, bytes, length);
}

/* Rotated and offset, as the format demands: a CRC of data that contain CRCs detects fewer errors. */
static uint32_t masked_crc(const char *bytes, size_t length)
{
	uint32_t crc = crc32c(0, bytes, length);
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void add_record(struct buffer *out, const struct buffer *event)
{
	struct buffer length = BUFFER_INIT;
	add_fixed(&length, event->length, 8);
	if (!length.failed) {
		buffer_add(out, length.data, length.length);
		add_fixed(out, masked_crc(length.data, length.length), 4);
		buffer_add(out, event->data, event->length);
		add_fixed(out, masked_crc(event->data, event->length), 4);
	}
	out->failed |= length.failed || event->failed;
	buffer_release(&length);
}

static void begin_event(struct buffer *event, int64_t realtime_ns)
{
	double seconds = (double)realtime_ns * 1e-9;
	uint64_t bits;
	memcpy(&bits, &seconds, sizeof bits);
	buffer_clear(event);
	add_varint(event, EVENT_WALL_TIME);
	add_fixed(event, bits, 8);
}

/* -- scalars -- */

/* An unknown value has no point. */
static void add_scalar(struct board *board, const char *mode, const char *group, const char *name, double figure)
{
	float simple = (float)figure;
	char tag[PHASE_PATH_SIZE + 160];
	uint32_t bits;
	if (!isfinite(simple))
		return;
	int length = snprintf(tag, sizeof tag, "%s%s/%s", mode, group, name);
	memcpy(&bits, &simple, sizeof bits);
	buffer_clear(&board->value);
	add_bytes(&board->value, VALUE_TAG, tag, (size_t)length < sizeof tag ? (size_t)length : sizeof tag - 1);
	add_varint(&board->value, VALUE_SIMPLE);
	add_fixed(&board->value, bits, 4);
	add_bytes(&board->summary, SUMMARY_VALUE, board->value.data ? board->value.data : "", board->value.length);
	board->summary.failed |= board->value.failed;
}

/* A repeated export uses the same name, so that TensorBoard shows no run twice. Each of several ranks has a folder,
 * which TensorBoard shows as a run. */
static void name_file(const struct export_scene *scene, unsigned rank, char *out, size_t size)
{
	const struct run *run = &scene->model->runs[rank];
	char folder[64] = "", host[64];
	size_t used = 0;
	for (const char *c = scene->host; *c && used < sizeof host - 1; c++)
		host[used++] = (char)(strchr("/. ", *c) ? '-' : *c);
	host[used] = '\0';
	if (run->rank[0] && strtol(run->world, NULL, 10) > 1)
		snprintf(folder, sizeof folder, "rank%ld/", strtol(run->rank, NULL, 10));
	else if (rank)
		snprintf(folder, sizeof folder, "run%d/", (int)run->pid);
	snprintf(out, size, "%sevents.out.tfevents.%" PRId64 ".%s.%d.pmtop", folder,
		scene_realtime_ns(scene, run->start_ns) / NS_PER_S, used ? host : "unknown", (int)run->pid);
}

/* NULL: the file cannot be written. */
static struct buffer *file_of(struct board *board, const struct export_scene *scene, unsigned rank)
{
	static const char version[] = "brain.Event:2";
	struct buffer first = BUFFER_INIT;
	char name[200];
	name_file(scene, rank, name, sizeof name);
	struct buffer *out = scene->file(scene, name);
	if (!out || board->has_begun[rank])
		return out;
	begin_event(&first, scene_realtime_ns(scene, scene->model->runs[rank].start_ns));
	add_bytes(&first, EVENT_VERSION, version, sizeof version - 1);
	add_record(out, &first);
	buffer_release(&first);
	board->has_begun[rank] = true;
	return out;
}

static void end_event(struct board *board, const struct export_scene *scene, unsigned rank, uint64_t step)
{
	struct buffer *out = board->summary.length ? file_of(board, scene, rank) : NULL;
	if (!out)
		return;
	add_varint(&board->event, EVENT_STEP);
	add_varint(&board->event, step);
	add_bytes(&board->event, EVENT_SUMMARY, board->summary.data, board->summary.length);
	board->event.failed |= board->summary.failed;
	add_record(out, &board->event);
}

static void write_batch(struct board *board, const struct export_scene *scene, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	const char *mode = scope_mode_name(written->run, written->track->mode);
	char path[PHASE_PATH_SIZE], name[PHASE_PATH_SIZE + 16];
	begin_event(&board->event, scene_realtime_ns(scene, batch->end_ns));
	buffer_clear(&board->summary);
	add_scalar(board, mode, "", "step_time_s", batch->step_s);
	add_scalar(board, mode, "", "batch_time_s", batch->batch_s);
	add_scalar(board, mode, "", "samples_per_s", batch->samples / batch->step_s);
	add_scalar(board, mode, "", "loss", batch->loss);
	add_scalar(board, mode, "", "resident_bytes", batch->resident_bytes);
	add_scalar(board, mode, "", "allocated_bytes", batch->allocated_bytes);
	for (unsigned i = 0; i < batch->phase_count; i++) {
		snprintf(name, sizeof name, "%s_s", phase_path(written->run, &batch->phases[i], path));
		add_scalar(board, mode, "_phases", name, (double)batch->phases[i].seconds);
	}
	for (unsigned i = 0; i < batch->figure_count; i++)
		add_scalar(
			board, mode, "_figures", run_name(written->run, batch->figures[i].name), (double)batch->figures[i].value);
	end_event(board, scene, written->rank, batch->ordinal);
}

static void write_epoch(struct board *board, const struct export_scene *scene, unsigned rank, const struct epoch *epoch)
{
	const char *mode = scope_mode_name(&scene->model->runs[rank], epoch->mode);
	begin_event(&board->event, scene_realtime_ns(scene, epoch->end_ns));
	buffer_clear(&board->summary);
	add_scalar(board, mode, "_epochs", "total_s", epoch->total_s);
	add_scalar(board, mode, "_epochs", "batches", (double)epoch->batches);
	add_scalar(board, mode, "_epochs", "batch_mean_s", epoch->batches ? epoch->mean_s : NAN);
	add_scalar(board, mode, "_epochs", "batch_max_s", epoch->batches ? epoch->max_s : NAN);
	end_event(board, scene, rank, epoch->ordinal);
}

static void write_one(struct board *board, const struct export_scene *scene, bool is_end)
{
	struct finished_batch batch;
	do {
		const struct epoch *epoch;
		unsigned rank;
		while ((epoch = finished_epoch(board->finished, scene, &rank)))
			write_epoch(board, scene, rank, epoch);
		if (!finished_next(board->finished, scene, is_end, &batch))
			return;
		write_batch(board, scene, &batch);
	} while (true);
}

static void add_set(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	(void)set;
	write_one(state, scene, false);
}

/* A run without batches has an empty file, not none. */
static void end_board(void *state, const struct export_scene *scene)
{
	write_one(state, scene, true);
	for (unsigned rank = 0; rank < scene->model->run_count; rank++)
		if (scene->model->runs[rank].is_used)
			file_of(state, scene, rank);
}

const struct exporter tensorboard_exporter = {
	.name = "tensorboard",
	.help = "event files with scalars, in a folder: tensorboard --logdir DIR",
	.is_binary = true,
	.is_folder = true,
	.open = open_board,
	.add = add_set,
	.end = end_board,
	.close = close_board,
};
