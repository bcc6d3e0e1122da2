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
#include "src/base/formats/bytes.h"
#include "src/base/formats/crc32c.h"
#include "src/base/formats/protobuf.h"
#include "src/export/figures/scope.h"
#include "src/export/finished.h"

enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

struct board {
	struct finished *finished;
	struct buffer event;
	size_t summary;                 /* where it begins in the event */
	bool has_begun[MODEL_RUNS_MAX]; /* the rank's file has its first record */
};

static void close_board(void *state)
{
	struct board *board = state;
	if (!board)
		return;
	finished_free(board->finished);
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

/* -- records -- */

/* Rotated and offset, as the format demands: a CRC of data that contain CRCs detects fewer errors. */
static uint32_t masked_crc(const char *bytes, size_t length)
{
	uint32_t crc = crc32c(0, bytes, length);
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void add_record(struct buffer *out, const struct buffer *event)
{
	unsigned char length[8];
	put_little(length, event->length, sizeof length);
	buffer_add(out, (const char *)length, sizeof length);
	buffer_add_little(out, masked_crc((const char *)length, sizeof length), 4);
	buffer_add(out, event->data, event->length);
	buffer_add_little(out, masked_crc(event->data, event->length), 4);
	out->failed |= event->failed;
}

static void begin_event(struct buffer *event, int64_t realtime_ns)
{
	buffer_clear(event);
	protobuf_double(event, EVENT_WALL_TIME, (double)realtime_ns * 1e-9);
}

static void begin_scalars(struct board *board, const struct export_scene *scene, int64_t time_ns, uint64_t step)
{
	begin_event(&board->event, scene_realtime_ns(scene, time_ns));
	protobuf_uint(&board->event, EVENT_STEP, step);
	board->summary = protobuf_begin(&board->event, EVENT_SUMMARY);
}

/* -- scalars -- */

/* An unknown value has no point. */
static void add_scalar(struct board *board, const char *mode, const char *group, const char *name, double figure)
{
	float simple = (float)figure;
	char tag[PHASE_PATH_SIZE + 160];
	if (!isfinite(simple))
		return;
	snprintf(tag, sizeof tag, "%s%s/%s", mode, group, name);
	size_t value = protobuf_begin(&board->event, SUMMARY_VALUE);
	protobuf_text(&board->event, VALUE_TAG, tag);
	protobuf_float(&board->event, VALUE_SIMPLE, simple);
	protobuf_end(&board->event, value);
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
	struct buffer first = BUFFER_INIT;
	char name[200];
	name_file(scene, rank, name, sizeof name);
	struct buffer *out = scene->file(scene, name);
	if (!out || board->has_begun[rank])
		return out;
	begin_event(&first, scene_realtime_ns(scene, scene->model->runs[rank].start_ns));
	protobuf_text(&first, EVENT_VERSION, "brain.Event:2");
	add_record(out, &first);
	buffer_release(&first);
	board->has_begun[rank] = true;
	return out;
}

static void end_scalars(struct board *board, const struct export_scene *scene, unsigned rank)
{
	struct buffer *out = board->event.length > board->summary ? file_of(board, scene, rank) : NULL;
	if (!out)
		return;
	protobuf_end(&board->event, board->summary);
	add_record(out, &board->event);
}

static void write_batch(struct board *board, const struct export_scene *scene, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	const char *mode = scope_mode_name(written->run, written->track->mode);
	char path[PHASE_PATH_SIZE], name[PHASE_PATH_SIZE + 16];
	begin_scalars(board, scene, batch->end_ns, batch->ordinal);
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
	end_scalars(board, scene, written->rank);
}

static void write_epoch(struct board *board, const struct export_scene *scene, unsigned rank, const struct epoch *epoch)
{
	const char *mode = scope_mode_name(&scene->model->runs[rank], epoch->mode);
	begin_scalars(board, scene, epoch->end_ns, epoch->ordinal);
	add_scalar(board, mode, "_epochs", "total_s", epoch->total_s);
	add_scalar(board, mode, "_epochs", "batches", (double)epoch->batches);
	add_scalar(board, mode, "_epochs", "batch_mean_s", epoch->batches ? epoch->mean_s : NAN);
	add_scalar(board, mode, "_epochs", "batch_max_s", epoch->batches ? epoch->max_s : NAN);
	end_scalars(board, scene, rank);
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
