#include "src/sources/python/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/base/files/remote_reader.h"

static bool read_now(pid_t pid, const struct remote_piece *pieces, size_t count)
{
	struct remote_reader *reader = remote_reader_used();
	return reader ? remote_reader_pieces(reader, pid, pieces, count) : remote_read_direct(pid, pieces, count);
}

/* -- copies -- */

/* A block never crosses a page: if a word of it can be read, all of it can. */
enum { BLOCK = 256, BLOCKS_MAX = 1024 };

struct block {
	uint64_t address;
	uint16_t slot; /* in `bytes` */
	bool is_used;
	enum { BLOCK_UNREAD, BLOCK_READ, BLOCK_GONE } state;
};

struct remote_copies {
	pid_t pid;
	size_t count, unread; /* of blocks, which are sorted by address; of those that were not tried yet */
	struct block blocks[BLOCKS_MAX];
	struct remote_piece pieces[BLOCKS_MAX]; /* of the read in progress */
	unsigned char bytes[BLOCKS_MAX][BLOCK];
};

/* Per thread, as the remote_reader is. */
static _Thread_local struct remote_copies *copies_used;

struct remote_copies *remote_copies_new(void) { return calloc(1, sizeof(struct remote_copies)); }

void remote_copies_free(struct remote_copies *copies) { free(copies); }

/* The index of the block at this address, or where it belongs. */
static size_t find_block(const struct remote_copies *copies, uint64_t address)
{
	size_t low = 0, high = copies->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (copies->blocks[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_block(struct remote_copies *copies, uint64_t address)
{
	size_t at = find_block(copies, address);
	if (at == copies->count || copies->blocks[at].address != address) {
		memmove(&copies->blocks[at + 1], &copies->blocks[at], (copies->count - at) * sizeof *copies->blocks);
		copies->blocks[at] = (struct block){ .address = address, .slot = (uint16_t)copies->count++ };
		copies->unread++;
	}
	copies->blocks[at].is_used = true;
}

/* Reads those that were not read yet, from first on. Neighbours in adjacent slots are one piece. */
static bool read_blocks(struct remote_copies *copies, size_t first, size_t count)
{
	struct remote_piece *pieces = copies->pieces;
	size_t pieces_count = 0;
	for (size_t i = first; i < first + count; i++) {
		const struct block *block = &copies->blocks[i];
		struct remote_piece *last = pieces_count ? &pieces[pieces_count - 1] : NULL;
		unsigned char *out = copies->bytes[block->slot];
		if (block->state != BLOCK_UNREAD)
			continue;
		if (last && last->address + last->size == block->address && (unsigned char *)last->out + last->size == out)
			last->size += BLOCK;
		else
			pieces[pieces_count++] = (struct remote_piece){ block->address, out, BLOCK };
	}
	if (!read_now(copies->pid, pieces, pieces_count))
		return false;
	for (size_t i = first; i < first + count; i++)
		if (copies->blocks[i].state == BLOCK_UNREAD)
			copies->blocks[i].state = BLOCK_READ;
	return true;
}

/* Memory that is gone makes the whole read fail: then it is read in halves. */
static void read_those_there(struct remote_copies *copies, size_t first, size_t count)
{
	if (count == 0 || read_blocks(copies, first, count) || errno != EFAULT)
		return;
	if (count == 1) {
		copies->blocks[first].state = BLOCK_GONE;
		return;
	}
	read_those_there(copies, first, count / 2);
	read_those_there(copies, first + count / 2, count - count / 2);
}

static void read_unread(struct remote_copies *copies)
{
	if (copies->unread > 0)
		read_those_there(copies, 0, copies->count);
	copies->unread = 0;
}

void remote_copies_begin(struct remote_copies *copies, pid_t pid)
{
	size_t kept = 0;
	if (!copies)
		return;
	for (size_t i = 0; copies->pid == pid && i < copies->count; i++)
		if (copies->blocks[i].is_used && copies->blocks[i].state == BLOCK_READ) {
			copies->blocks[kept] = (struct block){ .address = copies->blocks[i].address, .slot = (uint16_t)kept };
			kept++;
		}
	copies->pid = pid;
	copies->count = copies->unread = kept;
	copies_used = copies;
	read_unread(copies);
}

void remote_copies_end(void) { copies_used = NULL; }

/* No process has memory there: an address that was read from a damaged object. Sums with sizes below it do not
 * overflow. */
#define ADDRESS_MAX (UINT64_MAX >> 1)

static uint64_t block_of(uint64_t address) { return address & ~(uint64_t)(BLOCK - 1); }

/* False: they have no room. */
static bool add_pieces(struct remote_copies *copies, const struct remote_piece *pieces, size_t count)
{
	size_t blocks = copies->count;
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].size > BLOCKS_MAX * BLOCK || pieces[i].address > ADDRESS_MAX)
			return false;
		blocks += pieces[i].size / BLOCK + 2;
		if (blocks > BLOCKS_MAX)
			return false;
	}
	for (size_t i = 0; i < count; i++)
		for (uint64_t at = block_of(pieces[i].address); at < pieces[i].address + pieces[i].size; at += BLOCK)
			add_block(copies, at);
	return true;
}

void remote_copies_expect(pid_t pid, const uint64_t *addresses, size_t count)
{
	struct remote_copies *copies = copies_used;
	if (!copies || copies->pid != pid)
		return;
	for (size_t i = 0; i < count && copies->count < BLOCKS_MAX; i++)
		if (addresses[i])
			add_block(copies, block_of(addresses[i]));
	read_unread(copies);
}

static bool copy_piece(const struct remote_copies *copies, const struct remote_piece *piece)
{
	unsigned char *out = piece->out;
	for (size_t done = 0, size; done < piece->size; done += size) {
		uint64_t address = piece->address + done, begin = block_of(address);
		const struct block *block = &copies->blocks[find_block(copies, begin)];
		size = BLOCK - (size_t)(address - begin);
		size = size < piece->size - done ? size : piece->size - done;
		if (block->state != BLOCK_READ)
			return false;
		memcpy(out + done, copies->bytes[block->slot] + (address - begin), size);
	}
	return true;
}

static bool read_copies(struct remote_copies *copies, const struct remote_piece *pieces, size_t count)
{
	if (!add_pieces(copies, pieces, count))
		return false;
	read_unread(copies);
	for (size_t i = 0; i < count; i++)
		if (!copy_piece(copies, &pieces[i]))
			return false;
	return true;
}

bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count)
{
	bool has_copies = copies_used && copies_used->pid == pid && read_copies(copies_used, pieces, count);
	return has_copies || read_now(pid, pieces, count);
}

bool remote_read(pid_t pid, uint64_t address, void *out, size_t size)
{
	return remote_read_pieces(pid, &(struct remote_piece){ address, out, size }, 1);
}

bool remote_word(pid_t pid, uint64_t address, uint64_t *out) { return remote_read(pid, address, out, sizeof *out); }

/* -- maps -- */

static bool fill(struct remote_maps *maps)
{
	size_t room = sizeof maps->text - 1 - maps->length, got = 0;
	if (maps->fd >= 0) {
		ssize_t length = read(maps->fd, maps->text + maps->length, room);
		if (length < 0)
			return false;
		got = (size_t)length;
	} else if (!remote_reader_maps(
				   remote_reader_used(), maps->pid, !maps->is_begun, maps->text + maps->length, room, &got)) {
		return false;
	}
	maps->is_begun = true;
	maps->is_over = got == 0;
	maps->length += got;
	maps->total += got;
	return true;
}

bool remote_maps_open(struct remote_maps *maps, pid_t pid, int process_fd)
{
	*maps = (struct remote_maps){ .pid = pid, .fd = -1 };
	if (!remote_reader_used()) {
		maps->fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC);
		if (maps->fd < 0)
			return false;
	}
	if (fill(maps))
		return true;
	int error = errno;
	remote_maps_close(maps);
	errno = error;
	return false;
}

char *remote_maps_line(struct remote_maps *maps)
{
	for (;;) {
		char *line = maps->text + maps->at, *end = memchr(line, '\n', maps->length - maps->at);
		if (end) {
			*end = '\0';
			maps->at = (size_t)(end + 1 - maps->text);
			return line;
		}
		maps->length -= maps->at;
		memmove(maps->text, line, maps->length);
		maps->at = 0;
		if (maps->is_over || maps->length == sizeof maps->text - 1 || !fill(maps))
			return NULL;
	}
}

void remote_maps_close(struct remote_maps *maps)
{
	if (maps->fd >= 0)
		close(maps->fd);
	maps->fd = -1;
}

int remote_test_self(void)
{
	char out, in = 1;
	struct iovec here = { &out, 1 }, there = { &in, 1 };
	if (remote_reader_used())
		return remote_reader_test_self(remote_reader_used());
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}
