#include "src/sources/python/py_walk.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/python/remote.h"

/* Frames closer than APART_MAX are read as one stretch. If a sample starts with the frames of earlier ones, AHEAD
 * bytes after the last frame are read too, because new calls are mostly there. A frame that AGE_MAX samples in a row
 * did not have is no longer read. */
enum {
	TRIES = 64,
	QUICK_TRIES = 4,
	COPIES = 4,
	FRAME_MAX = 512,
	PAGE = 4096,
	WINDOW = 2 * PAGE + FRAME_MAX,
	OWNED_BY_C = 3,
	APART_MAX = 1024,
	AHEAD = 1024,
	STRETCH_MAX = 1 << 16,
	AGE_MAX = 16,
	GUESSES = 2,
	TRAILS = 8,
	NEWEST = 1 + COPIES * (COPIES + 1) / 2
};

static void decode(
	const struct py_layout *layout, uint64_t address, const unsigned char *bytes, struct py_raw_frame *out)
{
	int32_t last;
	*out = (struct py_raw_frame){ .address = address };
	memcpy(&out->previous, bytes + layout->frame_previous, sizeof out->previous);
	memcpy(&out->code, bytes + layout->frame_code, sizeof out->code);
	if (layout->ip == PY_IP_ADDRESS) {
		memcpy(&out->ip, bytes + layout->frame_ip, sizeof out->ip);
	} else {
		memcpy(&last, bytes + layout->frame_ip, sizeof last);
		out->ip = (uint64_t)(int64_t)last;
	}
	/* From 3.14 on the low bits of the pointer hold its reference counting mode. */
	if (layout->minor >= 14)
		out->code &= ~(uint64_t)3;
	uint64_t generator = 0;
	if (layout->frame_generator != PY_NOWHERE)
		memcpy(&generator, bytes + layout->frame_generator, sizeof generator);
	out->is_of_generator = generator != 0;
	out->is_of_c = layout->minor >= 12 && layout->frame_owner != PY_NOWHERE && bytes[layout->frame_owner] >= OWNED_BY_C;
}

/* The pointers to the newest frame of a thread: in 3.11 and 3.12 it is reached through another struct, so two words
 * must not change. */
struct newest {
	size_t count;
	uint64_t addresses[2], words[2];
};

static bool find_newest(const struct py_process *process, uint64_t thread, struct newest *out)
{
	const struct py_layout *layout = &process->location.layout;
	bool is_direct = layout->thread_cframe == PY_NOWHERE;
	*out = (struct newest){ .count = 1,
		.addresses = { thread + (is_direct ? layout->thread_frame : layout->thread_cframe) } };
	if (!remote_word(process->pid, out->addresses[0], &out->words[0]) || is_direct)
		return is_direct;
	out->count = 2;
	out->addresses[1] = out->words[0] + layout->cframe_frame;
	return out->words[0] && remote_word(process->pid, out->addresses[1], &out->words[1]);
}

/* Memory that was read near a frame: from 3.11 on a frame's callers are mostly right before it. */
struct window {
	uint64_t begin, end;
	unsigned char bytes[WINDOW];
};

static bool fill_window(const struct py_process *process, uint64_t begin, uint64_t end, struct window *window)
{
	window->begin = begin;
	window->end = end;
	return remote_read(process->pid, begin, window->bytes, end - begin);
}

static bool read_frame(
	const struct py_process *process, uint64_t address, struct window *window, struct py_raw_frame *out)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t end = address + layout->frame_size, page = address & ~(uint64_t)(PAGE - 1);
	bool is_near = layout->minor >= 11 && page >= PAGE;
	/* A pointer that changed during the read may be invalid. */
	if (address % sizeof address || end < address)
		return false;
	if ((address < window->begin || end > window->end) &&
		!(is_near && fill_window(process, page - PAGE, end, window)) && !fill_window(process, address, end, window)) {
		window->end = 0;
		return false;
	}
	decode(layout, address, window->bytes + (address - window->begin), out);
	return true;
}

/* Whether the walk's last frame occurred before. A real stack has no cycle, but a mixture of two moments may, and
 * the walk would not end. Brent's method: compares the last frame with that at the last power of two. */
static bool has_cycle(const struct py_walk *walk)
{
	size_t last = walk->count - 1, mark = 1;
	while (mark * 2 <= last)
		mark *= 2;
	return last > 0 && walk->frames[last].address == walk->frames[mark - 1].address;
}

static bool walk_down(const struct py_process *process, uint64_t newest, struct py_walk *walk)
{
	struct window window = { .begin = 0, .end = 0 };
	walk->count = 0;
	walk->is_cut = false;
	for (uint64_t address = newest; address && !walk->is_cut; address = walk->frames[walk->count - 1].previous) {
		if (!read_frame(process, address, &window, &walk->frames[walk->count++]) || has_cycle(walk))
			return false;
		walk->is_cut = walk->count == PY_FRAMES_MAX;
	}
	return true;
}

/* -- the same frames again, at one moment -- */

/* Stretches of memory that contain the frames: from 3.11 on mostly a single one. */
struct stretch {
	uint64_t begin, end;
	size_t at;
};
struct copies {
	size_t count, size;
	struct stretch stretches[PY_FRAMES_MAX];
	struct newest newest[NEWEST]; /* before, between and after the copies */
	size_t room;
	unsigned char *bytes; /* of all copies, `size` each */
};

/* Frames of this sample's walks and of the samples before, by address: most stacks of a program that runs in a loop
 * are made of the same ones. */
struct visited {
	size_t count;
	uint64_t addresses[PY_FRAMES_MAX];
	uint8_t ages[PY_FRAMES_MAX]; /* samples since it was part of one */
};

static void note_frame(struct visited *visited, uint64_t address)
{
	size_t at = visited->count;
	while (at > 0 && visited->addresses[at - 1] >= address)
		at--;
	if (at == visited->count || visited->addresses[at] != address) {
		memmove(&visited->addresses[at + 1], &visited->addresses[at], (visited->count - at) * sizeof address);
		memmove(&visited->ages[at + 1], &visited->ages[at], visited->count - at);
		visited->addresses[at] = address;
		visited->count++;
	}
	visited->ages[at] = 0;
}

/* Those of this walk have room in any case. */
static void note_visited(struct visited *visited, const struct py_walk *walk)
{
	if (visited->count + walk->count > PY_FRAMES_MAX)
		visited->count = 0;
	for (size_t i = 0; i < walk->count; i++)
		note_frame(visited, walk->frames[i].address);
}

static void forget_old(struct visited *visited)
{
	size_t kept = 0;
	for (size_t i = 0; i < visited->count; i++)
		if (visited->ages[i] < AGE_MAX) {
			visited->addresses[kept] = visited->addresses[i];
			visited->ages[kept++] = (uint8_t)(visited->ages[i] + 1);
		}
	visited->count = kept;
}

static void choose_stretches(const struct visited *visited, uint32_t frame_size, uint64_t ahead, struct copies *out)
{
	out->count = out->size = 0;
	for (size_t i = 0; i < visited->count; i++) {
		uint64_t begin = visited->addresses[i], end = begin + frame_size;
		struct stretch *last = out->count ? &out->stretches[out->count - 1] : NULL;
		if (last && begin + APART_MAX >= last->begin && begin <= last->end + APART_MAX &&
			last->end - last->begin < STRETCH_MAX) {
			last->begin = begin < last->begin ? begin : last->begin;
			last->end = end > last->end ? end : last->end;
		} else {
			out->stretches[out->count++] = (struct stretch){ begin, end, 0 };
		}
	}
	for (size_t i = 0; i < out->count; i++) {
		out->stretches[i].end += ahead;
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

/* Frames and the newest frame's location at the end of a thread's last sample. */
struct trail {
	uint64_t thread; /* 0 = none yet */
	uint64_t serial; /* of the last sample */
	struct visited visited;
	struct newest newest;
};

struct py_walker {
	uint64_t serial;
	struct trail trails[TRAILS];
	struct visited visited;
	struct newest newest;
	struct copies copies;
	struct remote_piece pieces[COPIES * PY_FRAMES_MAX + 2 * NEWEST];
	struct py_walk now, before, first, walks[COPIES];
};

/* The location of the newest frame is read after each copy, once more often than after the copy before. */
static size_t newest_before(unsigned copy) { return copy * (copy + 1) / 2; }

/* Reads all of it several times in one call: what differs did not exist at one moment. Two copies are not enough for
 * a program that passes the same point every microsecond, and the copies are not evenly spaced, so that a periodic
 * program cannot match them. */
static bool read_copies(const struct py_process *process, struct py_walker *walker)
{
	struct copies *copies = &walker->copies;
	size_t count = 0;
	for (unsigned copy = 0; copy <= COPIES; copy++) {
		for (size_t at = copy ? newest_before(copy - 1) + 1 : 0; at <= newest_before(copy); at++) {
			copies->newest[at] = walker->newest;
			count += add_newest(walker->pieces + count, &copies->newest[at]);
		}
		for (size_t i = 0; copy < COPIES && i < copies->count; i++) {
			const struct stretch *stretch = &copies->stretches[i];
			walker->pieces[count++] = (struct remote_piece){ stretch->begin,
				copies->bytes + copy * copies->size + stretch->at, stretch->end - stretch->begin };
		}
	}
	return remote_read_pieces(process->pid, walker->pieces, count);
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

/* Walks down one of the copies, from the newest frame that was read just before it. A generator's frame has a caller
 * while it runs. */
static bool walk_copy(
	const struct py_process *process, const struct copies *copies, unsigned copy, struct py_walk *walk)
{
	const struct py_layout *layout = &process->location.layout;
	const struct newest *newest = &copies->newest[newest_before(copy)];
	walk->count = 0;
	walk->is_cut = false;
	if (newest->count > 1 && newest->words[0] + layout->cframe_frame != newest->addresses[1])
		return false;
	for (uint64_t address = newest->words[newest->count - 1]; address && !walk->is_cut;
		 address = walk->frames[walk->count - 1].previous) {
		const unsigned char *bytes = in_copies(copies, address, layout->frame_size);
		if (!bytes)
			return false;
		decode(layout, address, bytes + copy * copies->size, &walk->frames[walk->count++]);
		if (has_cycle(walk))
			return false;
		walk->is_cut = walk->count == PY_FRAMES_MAX;
	}
	return walk->is_cut || walk->count == 0 || !walk->frames[walk->count - 1].is_of_generator;
}

/* Counts the frames that two walks share, from the outermost. The instruction of the newest frame may differ. */
static size_t count_common(const struct py_walk *a, const struct py_walk *b)
{
	size_t max = a->count < b->count ? a->count : b->count, common = 0;
	for (; common < max; common++) {
		const struct py_raw_frame *one = &a->frames[a->count - 1 - common], *other = &b->frames[b->count - 1 - common];
		bool is_newest = common + 1 == a->count && common + 1 == b->count;
		if (one->address != other->address || one->previous != other->previous || one->code != other->code ||
			(!is_newest && one->ip != other->ip))
			break;
	}
	return common;
}

/* Keeps the outermost frames. */
static void shorten(struct py_walk *walk, size_t count)
{
	memmove(walk->frames, walk->frames + walk->count - count, count * sizeof *walk->frames);
	walk->count = count;
}

/* Finds the frames that all copies share. *is_still: all copies are equal, and at the end the newest frame is
 * unchanged. A copy whose newest frame just returned, or whose generator just yielded, may be invalid: it is skipped
 * if others are valid. */
static bool compare_copies(const struct py_process *process, const struct copies *copies, struct py_walk walks[COPIES],
	struct py_walk *out, bool *is_still)
{
	size_t longest = 0, agreeing = 0;
	bool is_whole = true;
	for (unsigned i = 1; i < NEWEST; i++)
		is_whole =
			is_whole && memcmp(copies->newest[i].words, copies->newest[0].words, sizeof copies->newest[0].words) == 0;
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

static bool has_room(struct copies *copies)
{
	if (COPIES * copies->size <= copies->room && copies->bytes)
		return true;
	unsigned char *bytes = realloc(copies->bytes, COPIES * copies->size + 1);
	if (!bytes)
		return false;
	copies->bytes = bytes;
	copies->room = COPIES * copies->size;
	return true;
}

static bool read_again(const struct py_process *process, struct py_walker *walker, uint64_t ahead, bool *is_still)
{
	choose_stretches(&walker->visited, process->location.layout.frame_size, ahead, &walker->copies);
	if (!has_room(&walker->copies))
		return false;
	/* The memory of earlier frames may be gone. */
	if (!read_copies(process, walker)) {
		walker->visited.count = 0;
		return false;
	}
	return compare_copies(process, &walker->copies, walker->walks, &walker->now, is_still);
}

static bool visit_all(const struct py_process *process, uint64_t thread, struct py_walker *walker)
{
	if (!find_newest(process, thread, &walker->newest) ||
		!walk_down(process, walker->newest.words[walker->newest.count - 1], &walker->now))
		return false;
	note_visited(&walker->visited, &walker->now);
	return true;
}

struct py_walker *py_walker_new(void) { return calloc(1, sizeof(struct py_walker)); }

void py_walker_free(struct py_walker *walker)
{
	free(walker ? walker->copies.bytes : NULL);
	free(walker);
}

/* That of this thread, or the oldest one. */
static struct trail *trail_of(struct py_walker *walker, uint64_t thread)
{
	struct trail *found = &walker->trails[0];
	for (struct trail *trail = walker->trails; trail < walker->trails + TRAILS; trail++) {
		if (trail->thread == thread)
			return trail;
		if (trail->serial < found->serial)
			found = trail;
	}
	return found;
}

/* Whether the newest frame is reached through another struct than in the copies, which say where that is. */
static bool follow_newest(const struct py_process *process, struct py_walker *walker)
{
	struct newest *newest = &walker->newest;
	uint64_t last = walker->copies.newest[NEWEST - 1].words[0], frame = last + process->location.layout.cframe_frame;
	if (newest->count < 2 || !last || frame == newest->addresses[1])
		return false;
	newest->addresses[1] = frame;
	return true;
}

static void begin_trail(struct py_walker *walker, const struct trail *trail, bool is_known)
{
	walker->visited.count = 0;
	if (!is_known)
		return;
	walker->visited = trail->visited;
	walker->newest = trail->newest;
}

static void end_trail(struct py_walker *walker, struct trail *trail, uint64_t thread)
{
	trail->thread = thread;
	trail->serial = ++walker->serial;
	trail->visited = walker->visited;
	trail->newest = walker->newest;
	forget_old(&trail->visited);
}

static bool has_code(const struct py_walk *walk)
{
	return walk->count > 0 && !walk->frames[0].is_of_c && walk->frames[0].code;
}

/* The sample is of the moment of the first try: what is retained of that is not replaced by a later moment, in which
 * the thread was elsewhere. Else code that changes its frames quickly would seem to take less time than it does, and
 * long calls of C more. */
static bool keep_first(const struct py_walk *first, struct py_walk *best)
{
	if (first->count == 0 || count_common(best, first) == first->count)
		return true;
	*best = *first;
	return false;
}

bool py_walk(const struct py_process *process, uint64_t thread, enum py_care care, struct py_walker *walker,
	struct py_walk *best)
{
	struct trail *trail = trail_of(walker, thread);
	/* From 3.11 on a frame that was just called lies behind its caller, in memory that may end there. */
	bool is_still = false, was_empty = false, is_behind = care == PY_QUICK && process->location.layout.minor >= 11,
		 is_known = care == PY_QUICK && trail->thread == thread;
	unsigned tries = care == PY_QUICK ? QUICK_TRIES : TRIES, guesses = is_known ? GUESSES : 0;
	best->count = walker->before.count = walker->first.count = 0;
	best->is_cut = false;
	begin_trail(walker, trail, is_known);
	for (unsigned i = 0; i < tries && !is_still; i++) {
		bool is_guess = i < guesses && (i == 0 || follow_newest(process, walker));
		if ((!is_guess && !visit_all(process, thread, walker)) ||
			!read_again(process, walker, is_guess || is_behind ? AHEAD : 0, &is_still)) {
			is_behind &= is_guess || walker->visited.count > 0;
			continue;
		}
		if (care == PY_QUICK && !is_still && walker->first.count == 0 && has_code(&walker->now))
			walker->first = walker->now;
		/* In a stack that changes, the newest frame that two tries share is the most likely to be from another
		 * moment than those below. */
		size_t common = count_common(&walker->now, &walker->before),
			   agreed = common > 0 && !is_still ? common - 1 : common;
		/* One try may be entirely wrong, or have found nothing. */
		bool is_empty = is_still && walker->now.count == 0;
		if (care == PY_CAREFUL || is_empty)
			is_still = is_still && (agreed > 0 || (is_empty && was_empty));
		was_empty = is_empty;
		if (is_still || agreed > best->count) {
			*best = walker->now;
			shorten(best, is_still ? walker->now.count : agreed);
		}
		walker->before = walker->now;
	}
	is_still = keep_first(&walker->first, best) && is_still;
	note_visited(&walker->visited, best);
	end_trail(walker, trail, is_still || best->count > 0 ? thread : 0);
	return is_still;
}
