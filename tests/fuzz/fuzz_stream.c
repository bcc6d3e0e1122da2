/* A recording as a player meets it, with bytes changed: the reader of blocks, the codec, the player, the
 * model, and what a repair keeps.
 *
 * The first byte of the input, flags: 1 = what follows is the file, else edits of { u16 offset, u8 length, bytes } to a
 * real recording, which 2 cuts off at the first; 4 = the checksums of all blocks that can be found are made right
 * again, so that what they guard is reached; 8 = in small pieces, as a pipe gives it, and without player and model;
 * 16 = what follows is what a relay of pmtop fleet sends after its HELLO. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/formats/crc32c.h"
#include "src/collect/ledger.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/fleet/fleet.h"
#include "src/fleet/fleet_output.h"
#include "src/fleet/fleet_view.h"
#include "src/fleet/reach/fleet_relay.h"
#include "src/model/model.h"
#include "src/playback/player.h"
#include "src/playback/repair_survey.h"
#include "src/samples/stream.h"
#include "src/samples/stream_read.h"
#include "src/samples/stream_write.h"
#include "src/sources/synthetic/synthetic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FLAG_RAW = 1,
	FLAG_CUT = 2,
	FLAG_CHECKSUM = 4,
	FLAG_PIECES = 8,
	FLAG_RELAY = 16,
	PIECE = 37,
	SETS = 10,
	CRC_AT = 36,
	LENGTH_AT = 32
};
#define START_NS (INT64_C(1000) * NS_PER_S)

static struct buffer recording;
static unsigned char *bytes;
static size_t room;
static int file = -1;

static void make_recording(void)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = SYNTHETIC_PID, .command = "fuzz", .monotonic_ns = START_NS };
	struct sample_set set = SAMPLE_SET_INIT;
	struct synthetic *run;
	struct reason why;
	struct ledger *ledger = ledger_new();
	if (synthetic_new("slow-worker", START_NS, &run, &why) != STATUS_OK)
		abort();
	stream_write_header(&writer, &header, &recording);
	for (int i = 0; i < SETS; i++) {
		sample_set_clear(&set);
		set.time_ns = START_NS + i * NS_PER_S / 2;
		if (i % 4 == 3)
			ledger_emit(ledger, set.time_ns, &set);
		else
			synthetic_emit(run, set.time_ns, &set);
		ledger_note(ledger, &set, 0);
		stream_write_set(&writer, i % 4 == 3 || !i ? BLOCK_DICTIONARY : BLOCK_TICK, &set, &recording);
	}
	stream_writer_release(&writer);
	sample_set_release(&set);
	synthetic_free(run);
	ledger_free(ledger);
	room = recording.length > 1 << 20 ? recording.length : 1 << 20;
	bytes = malloc(room);
	file = memfd_create("fuzz", 0);
	if (!bytes || file < 0 || recording.failed)
		abort();
}

static size_t edit(const uint8_t *data, size_t size, unsigned flags)
{
	size_t cut = recording.length;
	memcpy(bytes, recording.data, recording.length);
	for (size_t at = 0; at + 3 <= size;) {
		size_t to = (size_t)(data[at] | data[at + 1] << 8) % recording.length, length = data[at + 2];
		at += 3;
		length = length < size - at ? length : size - at;
		length = length < recording.length - to ? length : recording.length - to;
		memcpy(bytes + to, data + at, length);
		at += length;
		if (flags & FLAG_CUT && cut == recording.length)
			cut = to;
	}
	return cut;
}

static uint32_t little(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void mend(size_t length)
{
	for (size_t at = 0; at + STREAM_BLOCK_HEAD <= length; at++) {
		uint32_t payload = little(bytes + at + LENGTH_AT);
		if (memcmp(bytes + at, "pmtB", 4) != 0 || payload > length - at - STREAM_BLOCK_HEAD)
			continue;
		uint32_t crc = crc32c(crc32c(0, bytes + at, CRC_AT), bytes + at + STREAM_BLOCK_HEAD, payload);
		for (int i = 0; i < 4; i++)
			bytes[at + CRC_AT + (size_t)i] = (unsigned char)(crc >> 8 * i);
		at += STREAM_BLOCK_HEAD + payload - 1;
	}
}

static void apply_all(struct player *player)
{
	struct model_options options;
	struct sample_set set = SAMPLE_SET_INIT;
	model_options_default(&options);
	struct model *model = model_new(&options);
	if (!model)
		abort();
	while (!player_has_ended(player))
		if (player_take(player, &set))
			model_apply(model, &set);
	explain_flagged(model);
	sample_set_release(&set);
	model_free(model);
}

/* What a repair would keep: each block once, in order. */
static void survey(void)
{
	struct survey found;
	struct reason why = { "", "" };
	if (survey_file(file, "fuzz", &found, &why) != STATUS_OK)
		return;
	for (size_t i = 1; i < found.count; i++)
		if (found.pieces[i].number <= found.pieces[i - 1].number)
			abort();
	survey_release(&found);
}

static void play(size_t length)
{
	char path[32];
	struct player *player;
	struct reason why = { "", "" };
	if (ftruncate(file, 0) || pwrite(file, bytes, length, 0) != (ssize_t)length)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (player_open(path, 0, &player, &why) != STATUS_OK)
		return;
	apply_all(player);
	player_close(player);
	survey();
}

/* As pmtop fleet takes the sets of a host. */
static struct fleet *open_fleet(struct fleet_host *const **hosts)
{
	struct fleet_way way = { .exec = "true {}", .period_s = 1 };
	struct fleet *fleet;
	struct reason why;
	if (fleet_open(&way, (char *[]){ "host" }, 1, &fleet, &why) != STATUS_OK)
		abort();
	fleet_hosts(fleet, hosts);
	(*hosts)[0]->state = FLEET_HOST_LIVE;
	return fleet;
}

static void show_fleet(struct fleet *fleet)
{
	struct fleet_view view = { 0 };
	struct buffer out = BUFFER_INIT;
	enum fleet_heat heat[8];
	for (int sort = 0; sort < FLEET_SORT_COUNT; sort++)
		fleet_view_fill(&view, fleet, (enum fleet_sort)sort, START_NS);
	for (int64_t column = START_NS / NS_PER_S - 3; column <= START_NS / NS_PER_S + 3; column++)
		fleet_view_column(&view, column, 0, 8, heat);
	fleet_json(&out, fleet, &view, START_NS);
	buffer_release(&out);
	fleet_view_release(&view);
	fleet_close(fleet);
}

/* As a pipe gives it. What is not a recording comes to an end all the same. */
static void read_pieces(size_t length)
{
	struct stream_reader *reader = stream_reader_new();
	struct sample_set set = SAMPLE_SET_INIT, all = SAMPLE_SET_INIT;
	enum stream_event event = STREAM_WAIT;
	struct fleet_host *const *hosts;
	struct fleet *fleet = open_fleet(&hosts);
	for (size_t at = 0; event != STREAM_END && event != STREAM_REFUSED;) {
		size_t piece = length - at < PIECE ? length - at : PIECE;
		bool has_gap;
		if (event == STREAM_WAIT && piece)
			stream_reader_feed(reader, bytes + at, piece);
		else if (event == STREAM_WAIT)
			stream_reader_finish(reader);
		at += event == STREAM_WAIT ? piece : 0;
		event = stream_reader_next(reader, &set, &has_gap);
		if (event == STREAM_TICK || event == STREAM_DICTIONARY)
			fleet_host_apply(hosts[0], &set, START_NS);
		if (event == STREAM_TICK || event == STREAM_DICTIONARY)
			sample_set_move(&all, &set);
	}
	sample_set_release(&set);
	sample_set_release(&all);
	show_fleet(fleet);
	stream_reader_free(reader);
}

/* -- a relay -- */

static struct sample_set lent;

static bool take_frame(void *context, const struct fleet_frame *frame)
{
	struct fleet_host *host = context;
	if (frame->channel != host->channel)
		return false;
	if (frame->kind == FLEET_FRAME_DATA)
		fleet_host_take(host, frame->payload, frame->length, START_NS, &lent);
	else
		fleet_host_take_end(host, 0, START_NS);
	return true;
}

static void take_line(void *context, uint16_t channel, uint8_t serial, const char *line)
{
	if (channel == 0 && serial == 0)
		fleet_host_take_line(context, line, START_NS);
}

static int file_of(const void *from, size_t length)
{
	int fd = memfd_create("relay", 0);
	if (fd < 0 || write(fd, from, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* Standard output and standard error both have the input. */
static void hear_relay(const uint8_t *data, size_t size)
{
	struct buffer out = BUFFER_INIT;
	struct fleet_relay relay;
	struct fleet_host *const *hosts;
	struct fleet *fleet = open_fleet(&hosts);
	struct fleet_relay_taker taker = { hosts[0], take_frame, take_line };
	fleet_frame_write(&out, &(struct fleet_frame){ .kind = FLEET_FRAME_HELLO, .length = 1, .payload = "1" });
	buffer_add(&out, (const char *)data, size);
	fleet_relay_init(&relay);
	relay.state = FLEET_RELAY_STARTING;
	relay.started_ns = relay.heard_ns = START_NS;
	relay.process.fds[STDOUT_FILENO] = file_of(out.data, out.length);
	relay.process.fds[STDERR_FILENO] = file_of(data, size);
	hosts[0]->reader = stream_reader_new();
	for (int i = 0; i < 3; i++)
		fleet_relay_step(&relay, &taker, START_NS + i * NS_PER_S);
	if (relay.in.capacity > 4 * FLEET_FRAME_MAX)
		abort();
	fleet_relay_stop(&relay);
	fleet_relay_release(&relay);
	buffer_release(&out);
	show_fleet(fleet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (file < 0)
		make_recording();
	if (!size || size > room)
		return 0;
	unsigned flags = data[0];
	size_t length = size - 1;
	if (flags & FLAG_RELAY) {
		hear_relay(data + 1, length);
		return 0;
	}
	if (flags & FLAG_RAW)
		memcpy(bytes, data + 1, length);
	else
		length = edit(data + 1, size - 1, flags);
	if (flags & FLAG_CHECKSUM)
		mend(length);
	if (flags & FLAG_PIECES)
		read_pieces(length);
	else
		play(length);
	return 0;
}
