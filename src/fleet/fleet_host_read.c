#include "src/fleet/fleet_host_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/fleet/fleet_tee.h"
#include "src/samples/stream.h"
#include "src/samples/stream_read.h"

/* SET_RECORDS_MAX, SET_BYTES_MAX: of one set, which may come in any number of blocks. */
enum { SET_RECORDS_MAX = 200000, SET_BYTES_MAX = 16 << 20 };
enum { READ_MAX = 256 * 1024, NONSENSE_MAX = 64 * 1024, TARGET_RUN = 256 };

/* -- ranks -- */

static struct fleet_rank *rank_of(const struct fleet_host *host, unsigned run)
{
	for (unsigned i = 0; i < host->rank_count; i++)
		if (host->ranks[i]->run == run)
			return host->ranks[i];
	return NULL;
}

static void drop_rank(struct fleet_host *host, unsigned index)
{
	free(host->ranks[index]);
	host->ranks[index] = host->ranks[--host->rank_count];
}

/* The first rank that has ended; FLEET_HOST_RANKS: none. */
static unsigned ended_rank(const struct fleet_host *host)
{
	for (unsigned i = 0; i < host->rank_count; i++)
		if (host->ranks[i]->has_ended)
			return i;
	return FLEET_HOST_RANKS;
}

/* NULL: no room, or no memory. */
static struct fleet_rank *add_rank(struct fleet_host *host, unsigned run, int32_t pid)
{
	if (host->rank_count == FLEET_HOST_RANKS && ended_rank(host) < FLEET_HOST_RANKS)
		drop_rank(host, ended_rank(host));
	if (host->rank_count == FLEET_HOST_RANKS)
		return NULL;
	struct fleet_rank *rank = malloc(sizeof *rank);
	if (!rank)
		return NULL;
	fleet_rank_init(rank, run, pid);
	host->ranks[host->rank_count++] = rank;
	return rank;
}

/* A run is here: the process alone, which stands for it until then, is no rank. A new run of a program takes the place
 * of those that have ended. */
static void open_run(struct fleet_host *host, const struct record *record)
{
	for (unsigned i = host->rank_count; i-- > 0;)
		if (host->ranks[i]->run == TARGET_RUN || (host->ranks[i]->has_ended && host->ranks[i]->run != record->run))
			drop_rank(host, i);
	struct fleet_rank *rank = rank_of(host, record->run);
	if (!rank)
		rank = add_rank(host, record->run, record->opened.pid);
	if (rank)
		rank->is_stale = false;
}

static void take_figure(struct fleet_host *host, const struct record *record)
{
	for (unsigned i = 0; i < host->rank_count; i++) {
		struct fleet_rank *rank = host->ranks[i];
		bool is_own = record->figure.instance == rank->pid;
		if (record->figure.metric == METRIC_PROCESS_RESIDENT && is_own)
			rank->resident_bytes = record->figure.value;
		else if (record->figure.metric == METRIC_PROCESS_STATE && is_own)
			rank->process_state =
				(char)(record->figure.value > 0 && record->figure.value < 127 ? record->figure.value : 0);
		else if (record->figure.metric == METRIC_GPU_BUSY && record->figure.instance == rank->gpu)
			rank->gpu_busy_ratio = record->figure.value;
	}
}

static void take_gpu_processes(struct fleet_host *host, const struct record *record)
{
	for (size_t i = 0; i < record->gpu_processes.count; i++)
		for (unsigned k = 0; k < host->rank_count; k++)
			if (host->ranks[k]->pid && host->ranks[k]->pid == record->gpu_processes.rows[i].pid)
				host->ranks[k]->gpu = record->gpu_processes.gpu;
}

static void take_collective_rank(struct fleet_host *host, const struct record *record)
{
	for (unsigned i = 0; i < host->rank_count; i++) {
		struct fleet_rank *rank = host->ranks[i];
		if (rank->pid != record->collective_rank.pid || rank->number >= 0 || record->collective_rank.rank < 0)
			continue;
		rank->number = record->collective_rank.rank;
		rank->world_size = (long)record->collective_rank.world_size;
	}
}

static void take_process(struct fleet_host *host, const struct record *record)
{
	if (!record->process.is_target)
		return;
	host->target_pid = record->process.pid;
	struct fleet_rank *rank = host->rank_count ? NULL : add_rank(host, TARGET_RUN, record->process.pid);
	if (rank && record->process.command)
		text_clean(rank->name, sizeof rank->name, record->process.command, strlen(record->process.command));
}

static void apply(struct fleet_host *host, const struct record *record, int64_t now_ns)
{
	struct fleet_rank *rank;
	switch (record->kind) {
	case RECORD_FIGURE: take_figure(host, record); return;
	case RECORD_GPU_PROCESSES: take_gpu_processes(host, record); return;
	case RECORD_COLLECTIVE_RANK: take_collective_rank(host, record); return;
	case RECORD_PROCESS_SEEN: take_process(host, record); return;
	case RECORD_PROCESS_GONE:
		rank = rank_of(host, TARGET_RUN);
		if (rank && rank->pid == record->process.pid)
			rank->has_ended = true;
		return;
	case RECORD_RUN_OPENED: open_run(host, record); break;
	default: break;
	}
	rank = rank_of(host, record->run);
	if (rank && !fleet_rank_apply(rank, record, host->offset.ahead_ns, now_ns))
		host->wrong_times++;
}

void fleet_host_apply(struct fleet_host *host, const struct sample_set *set, int64_t now_ns)
{
	for (size_t i = 0; i < set->count; i++)
		apply(host, &set->records[i], now_ns);
}

/* The first dictionary after a start has named all runs that there are. */
static void drop_stale(struct fleet_host *host)
{
	for (unsigned i = host->rank_count; i-- > 0;)
		if (host->ranks[i]->is_stale)
			drop_rank(host, i);
}

/* -- the stream -- */

static void take_header(struct fleet_host *host)
{
	const struct stream_header *header = stream_reader_header(host->reader);
	text_clean(host->machine, sizeof host->machine, header->host, strlen(header->host));
	text_clean(host->version, sizeof host->version, header->version, strlen(header->version));
	host->target_pid = header->pid;
}

static void take_set(struct fleet_host *host, bool is_dictionary, bool has_gap, int64_t now_ns)
{
	host->set_ns = now_ns;
	if (!is_dictionary)
		fleet_clock_heard(&host->clock, host->set.time_ns, now_ns);
	/* Later ones repeat what is known. */
	if (is_dictionary && host->has_dictionary && !has_gap)
		return;
	fleet_host_apply(host, &host->set, now_ns);
	if (is_dictionary && !host->has_dictionary)
		drop_stale(host);
	host->has_dictionary |= is_dictionary;
}

/* False: the stream is refused. */
static bool take_sets(struct fleet_host *host, int64_t now_ns)
{
	for (;;) {
		bool has_gap = false;
		switch (stream_reader_next(host->reader, &host->set, &has_gap)) {
		case STREAM_HEADED: take_header(host); break;
		case STREAM_DICTIONARY: take_set(host, true, has_gap, now_ns); break;
		case STREAM_TICK: take_set(host, false, has_gap, now_ns); break;
		case STREAM_INDEXED: break;
		case STREAM_REFUSED:
			snprintf(host->reason, sizeof host->reason, "its stream cannot be read: %.150s",
				stream_reader_refusal(host->reader));
			return false;
		case STREAM_WAIT:
		case STREAM_END:
			host->nonsense_bytes = stream_reader_losses(host->reader)->bytes;
			if (host->set.count > SET_RECORDS_MAX || host->set.allocated > SET_BYTES_MAX) {
				snprintf(host->reason, sizeof host->reason, "its stream sends too much at a time");
				return false;
			}
			if (stream_reader_header(host->reader) || host->nonsense_bytes < NONSENSE_MAX)
				return true;
			snprintf(host->reason, sizeof host->reason, "its output is no pmtop stream");
			return false;
		}
	}
}

bool fleet_host_feed(struct fleet_host *host, const char *bytes, size_t length, int64_t now_ns)
{
	host->bytes += (uint64_t)length;
	if (host->tee)
		fleet_tee_feed(host->tee, stream_reader_header(host->reader), bytes, length);
	if (stream_reader_feed(host->reader, bytes, length) != STATUS_OK) {
		snprintf(host->reason, sizeof host->reason, "out of memory");
		return false;
	}
	return take_sets(host, now_ns);
}

bool fleet_host_finish(struct fleet_host *host, int64_t now_ns)
{
	host->closed_ns = now_ns;
	stream_reader_finish(host->reader);
	return take_sets(host, now_ns);
}

enum fleet_reading fleet_host_read(struct fleet_host *host, int64_t now_ns, char *room, size_t room_size)
{
	for (size_t taken = 0; taken < READ_MAX;) {
		ssize_t length = read(host->process.fds[STDOUT_FILENO], room, room_size);
		if (length < 0 && (errno == EAGAIN || errno == EINTR))
			return FLEET_READING_WAITS;
		if (length <= 0)
			return fleet_host_finish(host, now_ns) ? FLEET_READING_ENDED : FLEET_READING_REFUSED;
		taken += (size_t)length;
		if (!fleet_host_feed(host, room, (size_t)length, now_ns))
			return FLEET_READING_REFUSED;
		if ((size_t)length < room_size)
			return FLEET_READING_WAITS;
	}
	return FLEET_READING_WAITS;
}
