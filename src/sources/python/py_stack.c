#include "src/sources/python/py_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/sources/python/py_threads.h"
#include "src/sources/python/remote.h"

/* Frames that lie so close are read as one stretch. */
enum { TRIES = 16, COPIES = 4, FRAME_MOST = 512, OWNED_BY_C = 3, APART_MOST = 1024, STRETCH_MOST = 1 << 16 };

struct py_process {
	pid_t pid;
	int process_fd;
	struct py_place place;
};

/* A frame as it was read: what must not have changed the second time. */
struct seen_frame { uint64_t address, previous, code, ip; bool is_of_c; };

struct walk {
	size_t count;
	bool is_cut;
	struct seen_frame frames[PY_FRAMES_MOST];
};

enum status py_open(pid_t pid, int process_fd, struct py_process **out, struct reason *why_not)
{
	struct py_process *process = malloc(sizeof *process);
	if (!process)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	process->pid = pid;
	process->process_fd = process_fd;
	enum status status = py_locate(pid, process_fd, &process->place, why_not);
	if (status == STATUS_OK)
		*out = process;
	else
		free(process);
	return status;
}

void py_close(struct py_process *process)
{
	free(process);
}

const struct py_layout *py_version(const struct py_process *process)
{
	return &process->place.layout;
}

void py_stacks_release(struct py_stacks *stacks)
{
	free(stacks->threads);
	free(stacks->frames);
	*stacks = (struct py_stacks){ 0 };
}

/* -- one stack -------------------------------------------------------------------------------------------------------------------- */

static void decode(const struct py_layout *layout, uint64_t address, const unsigned char *bytes, struct seen_frame *out)
{
	int32_t last;
	*out = (struct seen_frame){ .address = address };
	memcpy(&out->previous, bytes + layout->frame_previous, sizeof out->previous);
	memcpy(&out->code, bytes + layout->frame_code, sizeof out->code);
	if (layout->ip == PY_IP_ADDRESS) {
		memcpy(&out->ip, bytes + layout->frame_ip, sizeof out->ip);
	} else {
		memcpy(&last, bytes + layout->frame_ip, sizeof last);
		out->ip = (uint64_t)(int64_t)last;
	}
	/* From 3.14 on the low bits of such a pointer say how it is counted. */
	if (layout->minor >= 14)
		out->code &= ~(uint64_t)3;
	out->is_of_c = layout->minor >= 12 && layout->frame_owner != PY_NOWHERE && bytes[layout->frame_owner] >= OWNED_BY_C;
}

/* Where the newest frame of a thread is: in 3.11 and 3.12 by way of another struct, so there are two words that must not change. */
struct newest { size_t count; uint64_t addresses[2], words[2]; };

static bool find_newest(const struct py_process *process, uint64_t thread, struct newest *out)
{
	const struct py_layout *layout = &process->place.layout;
	bool is_direct = layout->thread_cframe == PY_NOWHERE;
	*out = (struct newest){ .count = 1, .addresses = { thread + (is_direct ? layout->thread_frame : layout->thread_cframe) } };
	if (!remote_word(process->pid, out->addresses[0], &out->words[0]) || is_direct)
		return is_direct;
	out->count = 2;
	out->addresses[1] = out->words[0] + layout->cframe_frame;
	return out->words[0] && remote_word(process->pid, out->addresses[1], &out->words[1]);
}

static bool read_frame(const struct py_process *process, uint64_t address, struct seen_frame *out)
{
	unsigned char bytes[FRAME_MOST];
	if (!remote_read(process->pid, address, bytes, process->place.layout.frame_size))
		return false;
	decode(&process->place.layout, address, bytes, out);
	return true;
}

static bool walk_down(const struct py_process *process, uint64_t newest, struct walk *walk)
{
	walk->count = 0;
	walk->is_cut = false;
	for (uint64_t address = newest; address && !walk->is_cut; address = walk->frames[walk->count - 1].previous) {
		if (!read_frame(process, address, &walk->frames[walk->count]) || walk->frames[walk->count].previous == address)
			return false;
		walk->count++;
		walk->is_cut = walk->count == PY_FRAMES_MOST;
	}
	return true;
}

/* -- the same again, at one moment ----------------------------------------------------------------------------------------------- */

/* Stretches of memory that the frames lie in: from 3.11 on mostly a single one. */
struct stretch { uint64_t begin, end; size_t at; };
struct copies {
	size_t count, size;
	struct stretch stretches[PY_FRAMES_MOST];
	struct newest newest[COPIES + 1];    /* before, between and after the copies */
	unsigned char *bytes;                /* of all copies, `size` each */
};

/* Frames that were met by the walks so far: a generator's comes and goes. */
struct met { size_t count; uint64_t addresses[PY_FRAMES_MOST]; };

static void meet(struct met *met, const struct walk *walk)
{
	for (size_t i = 0; i < walk->count; i++) {
		size_t at = 0;
		while (at < met->count && met->addresses[at] != walk->frames[i].address)
			at++;
		if (at == met->count && met->count < PY_FRAMES_MOST)
			met->addresses[met->count++] = walk->frames[i].address;
	}
}

static void choose_stretches(const struct met *met, uint32_t frame_size, struct copies *out)
{
	out->count = out->size = 0;
	for (size_t i = 0; i < met->count; i++) {
		uint64_t begin = met->addresses[i], end = begin + frame_size;
		struct stretch *last = out->count ? &out->stretches[out->count - 1] : NULL;
		if (last && begin + APART_MOST >= last->begin && begin <= last->end + APART_MOST && last->end - last->begin < STRETCH_MOST) {
			last->begin = begin < last->begin ? begin : last->begin;
			last->end = end > last->end ? end : last->end;
		} else {
			out->stretches[out->count++] = (struct stretch){ begin, end, 0 };
		}
	}
	for (size_t i = 0; i < out->count; i++) {
		out->stretches[i].at = out->size;
		out->size += out->stretches[i].end - out->stretches[i].begin;
	}
}

static size_t add_newest(struct remote_piece *pieces, struct newest *newest)
{
	for (size_t i = 0; i < newest->count; i++)
		pieces[i] = (struct remote_piece){ newest->addresses[i], &newest->words[i], sizeof newest->words[i] };
	return newest->count;
}

/* All of it several times, by one call: what differs was not there at one moment. Twice is not enough for a program that comes by the same place
 * every microsecond. */
static bool read_copies(const struct py_process *process, const struct newest *newest, struct copies *copies)
{
	struct remote_piece *pieces = malloc((COPIES * PY_FRAMES_MOST + 2 * (COPIES + 1)) * sizeof *pieces);
	size_t count = 0;
	for (unsigned copy = 0; pieces && copy <= COPIES; copy++) {
		copies->newest[copy] = *newest;
		count += add_newest(pieces + count, &copies->newest[copy]);
		for (size_t i = 0; copy < COPIES && i < copies->count; i++) {
			const struct stretch *stretch = &copies->stretches[i];
			pieces[count++] = (struct remote_piece){ stretch->begin, copies->bytes + copy * copies->size + stretch->at, stretch->end - stretch->begin };
		}
	}
	bool is_read = pieces && remote_read_pieces(process->pid, pieces, count);
	free(pieces);
	return is_read;
}

static const unsigned char *in_copies(const struct copies *copies, uint64_t address, uint32_t size)
{
	for (size_t i = 0; i < copies->count; i++) {
		const struct stretch *stretch = &copies->stretches[i];
		if (address >= stretch->begin && address < stretch->end && stretch->end - address >= size)
			return copies->bytes + stretch->at + (address - stretch->begin);
	}
	return NULL;
}

/* Down one of the copies, from the newest frame that was read just before it. */
static bool walk_copy(const struct py_process *process, const struct copies *copies, unsigned copy, struct walk *walk)
{
	const struct py_layout *layout = &process->place.layout;
	const struct newest *newest = &copies->newest[copy];
	walk->count = 0;
	walk->is_cut = false;
	for (uint64_t address = newest->words[newest->count - 1]; address && !walk->is_cut; address = walk->frames[walk->count - 1].previous) {
		const unsigned char *bytes = in_copies(copies, address, layout->frame_size);
		if (!bytes)
			return false;
		decode(layout, address, bytes + copy * copies->size, &walk->frames[walk->count]);
		if (walk->frames[walk->count].previous == address)
			return false;
		walk->count++;
		walk->is_cut = walk->count == PY_FRAMES_MOST;
	}
	return true;
}

/* Frames that two walks have in common, from the outermost. Of the newest of both the instruction may have moved on. */
static size_t count_common(const struct walk *a, const struct walk *b)
{
	size_t most = a->count < b->count ? a->count : b->count, common = 0;
	for (; common < most; common++) {
		const struct seen_frame *one = &a->frames[a->count - 1 - common], *other = &b->frames[b->count - 1 - common];
		bool is_newest = common + 1 == a->count && common + 1 == b->count;
		if (one->address != other->address || one->previous != other->previous || one->code != other->code || (!is_newest && one->ip != other->ip))
			break;
	}
	return common;
}

/* Keeps the outermost frames. */
static void shorten(struct walk *walk, size_t count)
{
	memmove(walk->frames, walk->frames + walk->count - count, count * sizeof *walk->frames);
	walk->count = count;
}

/* What the copies have in common. *is_still: that is all of each, and at the end the newest frame is where it was. One whose newest frame has just
 * returned, or a generator's that has just yielded, leads nowhere: such a copy is left out, where there are others. */
static bool compare_copies(const struct py_process *process, const struct copies *copies, struct walk walks[COPIES], struct walk *out, bool *is_still)
{
	size_t longest = 0, agreeing = 0;
	bool is_whole = memcmp(copies->newest[COPIES].words, copies->newest[0].words, sizeof copies->newest[0].words) == 0;
	for (unsigned copy = 0; copy < COPIES; copy++) {
		if (!walk_copy(process, copies, copy, &walks[copy])) {
			walks[copy].count = 0;
			is_whole = false;
		}
		longest = walks[copy].count > walks[longest].count ? copy : longest;
	}
	*out = walks[longest];
	for (unsigned copy = 0; copy < COPIES; copy++) {
		size_t common = count_common(out, &walks[copy]);
		is_whole = is_whole && common == out->count && common == walks[copy].count;
		agreeing += common > 0;
		if (common > 0)
			shorten(out, common);
	}
	*is_still = is_whole;
	return is_whole || agreeing > COPIES / 2;
}

static bool read_again(const struct py_process *process, const struct met *met, const struct newest *newest, struct walk walks[COPIES], struct walk *out, bool *is_still)
{
	struct copies *copies = malloc(sizeof *copies);
	bool is_read = false;
	if (!copies)
		return false;
	choose_stretches(met, process->place.layout.frame_size, copies);
	copies->bytes = malloc(COPIES * copies->size + 1);
	if (copies->bytes && read_copies(process, newest, copies))
		is_read = compare_copies(process, copies, walks, out, is_still);
	free(copies->bytes);
	free(copies);
	return is_read;
}

struct rooms { struct met met; struct walk now, before, walks[COPIES]; };

/* The whole stack where it held still (returned); else the most that two tries in a row agree about. */
static bool walk_until_still(const struct py_process *process, uint64_t thread, struct walk *best)
{
	struct rooms *rooms = calloc(1, sizeof *rooms);
	bool is_still = false, was_empty = false;
	best->count = 0;
	best->is_cut = false;
	for (unsigned i = 0; rooms && i < TRIES && !is_still; i++) {
		struct newest newest;
		if (!find_newest(process, thread, &newest) || !walk_down(process, newest.words[newest.count - 1], &rooms->now))
			continue;
		meet(&rooms->met, &rooms->now);
		if (!read_again(process, &rooms->met, &newest, rooms->walks, &rooms->now, &is_still))
			continue;
		size_t agreed = count_common(&rooms->now, &rooms->before);
		/* One try may have lost its way as a whole, or found nothing. */
		bool is_empty = is_still && rooms->now.count == 0;
		is_still = is_still && (agreed > 0 || (is_empty && was_empty));
		was_empty = is_empty;
		if (is_still || agreed > best->count) {
			*best = rooms->now;
			shorten(best, is_still ? rooms->now.count : agreed);
		}
		rooms->before = rooms->now;
	}
	free(rooms);
	return is_still;
}

/* -- in words --------------------------------------------------------------------------------------------------------------------- */

static bool grow(void **list, size_t *room, size_t count, size_t each)
{
	if (count < *room)
		return true;
	size_t more = *room ? 2 * *room : 16;
	void *longer = realloc(*list, more * each);
	if (!longer)
		return false;
	*list = longer;
	*room = more;
	return true;
}

/* False: this frame makes no sense, so the stack was not what it seemed. */
static bool add_frame(const struct py_process *process, const struct seen_frame *seen, struct py_stacks *out)
{
	struct py_code code;
	int line;
	/* A frame that is about to go has no code any more. */
	if (seen->is_of_c || !seen->code)
		return true;
	if (!grow((void **)&out->frames, &out->frame_room, out->frame_count, sizeof *out->frames))
		return false;
	bool is_good = py_code_read(process->pid, &process->place, seen->code, &code) && py_code_line(&code, &process->place.layout, seen->ip, &line);
	if (is_good) {
		struct py_frame *frame = &out->frames[out->frame_count++];
		frame->line = line;
		snprintf(frame->function, sizeof frame->function, "%s", code.function);
		snprintf(frame->file, sizeof frame->file, "%s", code.file);
	}
	py_code_release(&code);
	return is_good;
}

/* What makes no sense cuts off all that is newer. */
static void add_frames(const struct py_process *process, const struct walk *walk, struct py_thread *thread, struct py_stacks *out)
{
	thread->is_cut = walk->is_cut;
	thread->first = out->frame_count;
	for (size_t i = 0; i < walk->count; i++) {
		if (add_frame(process, &walk->frames[i], out))
			continue;
		out->frame_count = thread->first;
		thread->is_whole = false;
	}
	thread->count = out->frame_count - thread->first;
}

static uint64_t gil_holder(const struct py_process *process, uint64_t interpreter)
{
	const struct py_layout *layout = &process->place.layout;
	uint64_t words[2], address = 0;
	if (layout->runtime_gil != PY_NOWHERE)
		address = process->place.runtime + layout->runtime_gil;
	else if (layout->interpreter_gil != PY_NOWHERE && remote_word(process->pid, interpreter + layout->interpreter_gil, &address) && address)
		address += 8;
	bool is_held = address && remote_read(process->pid, address, words, sizeof words) && (uint32_t)words[1] == 1;
	return is_held ? words[0] : 0;
}

static bool add_thread(const struct py_process *process, uint64_t address, uint64_t holder, struct walk *walk, struct py_stacks *out)
{
	if (!grow((void **)&out->threads, &out->thread_room, out->thread_count, sizeof *out->threads))
		return false;
	struct py_thread *thread = &out->threads[out->thread_count];
	*thread = (struct py_thread){ .has_gil = holder == address, .first = out->frame_count };
	py_thread_identify(process->pid, process->process_fd, &process->place.layout, address, thread);
	thread->is_whole = walk_until_still(process, address, walk);
	add_frames(process, walk, thread, out);
	out->thread_count++;
	return true;
}

static enum status gone(const struct py_process *process, struct reason *why_not)
{
	return reason_set(why_not, STATUS_END, NULL, "process %d has ended", (int)process->pid);
}

enum status py_look(struct py_process *process, struct py_stacks *out, struct reason *why_not)
{
	const struct py_layout *layout = &process->place.layout;
	uint64_t interpreter = 0, thread = 0;
	unsigned interpreters = 0;
	struct walk *walk = malloc(sizeof *walk);
	enum status status = walk ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	out->thread_count = out->frame_count = 0;
	if (status == STATUS_OK && !remote_word(process->pid, process->place.runtime + layout->runtime_interpreters, &interpreter))
		status = gone(process, why_not);
	for (; status == STATUS_OK && interpreter && interpreters < PY_THREADS_MOST; interpreters++) {
		uint64_t holder = gil_holder(process, interpreter);
		bool is_there = remote_word(process->pid, interpreter + layout->interpreter_threads, &thread);
		while (is_there && thread && out->thread_count < PY_THREADS_MOST && add_thread(process, thread, holder, walk, out))
			is_there = remote_word(process->pid, thread + layout->thread_next, &thread);
		if (!is_there || !remote_word(process->pid, interpreter + layout->interpreter_next, &interpreter))
			status = errno == ESRCH ? gone(process, why_not) : STATUS_OK;
		if (!is_there)
			break;
	}
	if (status == STATUS_OK && out->thread_count == 0)
		status = reason_set(why_not, STATUS_DAMAGED, NULL, "process %d has no Python thread now (it may be starting, or ending)", (int)process->pid);
	free(walk);
	return status;
}
