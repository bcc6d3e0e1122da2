#include "src/sources/python/py_sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/python/py_gil.h"
#include "src/sources/python/py_threads.h"
#include "src/sources/python/py_walk.h"
#include "src/sources/python/remote.h"

/* Another code object may reuse an address. If there are too many (text that is compiled repeatedly), all are
 * dropped. */
#define CHECK_NS (1 * NS_PER_S)
#define USED_NS (10 * NS_PER_S)
enum {
	SLOTS_FIRST = 256,
	CODES_MAX = 8192,
	LINES_RETAINED = 8,
	TAGS = 5,
	CHECKED_AT_ONCE = 128,
	FOLLOWED_AMONG_MAX = 64
};

struct entry {
	struct py_known known; /* must be first: a known is cast to its entry */
	uint64_t address;
	uint64_t tags[TAGS]; /* words that identify the code object */
	int64_t checked_ns, used_ns;
	struct {
		uint64_t ip;
		int line;
		bool is_used;
	} lines[LINES_RETAINED];
};

struct py_sampler {
	struct py_process *process;
	struct py_walker *walker, *other_walker; /* other_walker NULL: no other thread was sampled yet */
	uint64_t thread;                         /* the main thread; 0 = not found yet */
	uint64_t followed;                       /* 0 = the main thread is sampled */
	uint64_t interpreter, gil;
	int64_t thread_checked_ns;
	struct remote_copies *main_copies, *list_copies; /* of what leads to the main thread, and to all */
	struct py_walk walk;
	size_t count, room; /* of the table, a power of two */
	struct entry **table;
};

/* -- code objects -- */

static size_t slot_of(const struct py_sampler *sampler, uint64_t address)
{
	size_t at = (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (sampler->room - 1);
	while (sampler->table[at] && sampler->table[at]->address != address)
		at = (at + 1) & (sampler->room - 1);
	return at;
}

static void forget_all(struct py_sampler *sampler)
{
	for (size_t i = 0; i < sampler->room; i++) {
		if (sampler->table[i])
			py_code_release(&sampler->table[i]->known.code);
		free(sampler->table[i]);
		sampler->table[i] = NULL;
	}
	sampler->count = 0;
}

static bool make_room(struct py_sampler *sampler)
{
	if (2 * sampler->count < sampler->room)
		return true;
	struct entry **before = sampler->table, **table = calloc(2 * sampler->room, sizeof(struct entry *));
	size_t room = sampler->room;
	if (!table)
		return false;
	sampler->table = table;
	sampler->room = 2 * room;
	for (size_t i = 0; i < room; i++)
		if (before[i])
			table[slot_of(sampler, before[i]->address)] = before[i];
	free(before);
	return true;
}

static void add_tags(const struct py_sampler *sampler, uint64_t address, uint64_t tags[TAGS], struct remote_piece *out)
{
	const struct py_layout *layout = &sampler->process->location.layout;
	/* in ascending order, to be read as one stretch of memory */
	const uint32_t offsets[TAGS] = { layout->object_type, layout->code_first_line, layout->code_file, layout->code_name,
		layout->code_lines };
	memset(tags, 0, TAGS * sizeof *tags);
	for (size_t i = 0; i < TAGS; i++)
		out[i] = (struct remote_piece){ address + offsets[i], &tags[i], i == 1 ? sizeof(int32_t) : sizeof(uint64_t) };
}

static bool read_tags(const struct py_sampler *sampler, uint64_t address, uint64_t tags[TAGS])
{
	struct remote_piece pieces[TAGS];
	add_tags(sampler, address, tags, pieces);
	return remote_read_pieces(sampler->process->pid, pieces, TAGS);
}

/* NULL: there is no code object (any more), or no memory. */
static struct entry *load(struct py_sampler *sampler, struct entry *entry, uint64_t address, int64_t now_ns)
{
	uint64_t tags[TAGS];
	py_code_release(&entry->known.code);
	*entry = (struct entry){ .address = address, .checked_ns = now_ns };
	bool is_read = read_tags(sampler, address, entry->tags) &&
		py_code_read(sampler->process->pid, &sampler->process->location, address, &entry->known.code) &&
		read_tags(sampler, address, tags) && memcmp(tags, entry->tags, sizeof tags) == 0;
	return is_read ? entry : NULL;
}

static struct entry *find(struct py_sampler *sampler, uint64_t address, int64_t now_ns)
{
	uint64_t tags[TAGS];
	struct entry *entry = sampler->table[slot_of(sampler, address)];
	if (entry && entry->known.code.table && now_ns - entry->checked_ns < CHECK_NS)
		return entry;
	if (entry && entry->known.code.table && read_tags(sampler, address, tags) &&
		memcmp(tags, entry->tags, sizeof tags) == 0) {
		entry->checked_ns = now_ns;
		return entry;
	}
	if (entry)
		return load(sampler, entry, address, now_ns);
	entry = make_room(sampler) ? calloc(1, sizeof *entry) : NULL;
	if (entry) {
		sampler->count++;
		sampler->table[slot_of(sampler, address)] = entry;
		entry->address = address;
	}
	return entry ? load(sampler, entry, address, now_ns) : NULL;
}

static bool is_due(const struct entry *entry, int64_t now_ns)
{
	return entry->known.code.table && now_ns - entry->checked_ns >= CHECK_NS;
}

static bool has_due(const struct py_sampler *sampler, int64_t now_ns)
{
	for (size_t i = 0; i < sampler->walk.count; i++) {
		const struct py_raw_frame *raw = &sampler->walk.frames[i];
		const struct entry *entry = raw->is_of_c ? NULL : sampler->table[slot_of(sampler, raw->code)];
		if (entry && is_due(entry, now_ns))
			return true;
	}
	return false;
}

/* Checks all that were in use lately with one call, if one of this stack's is due. What has changed stays due. */
static void check_used(struct py_sampler *sampler, int64_t now_ns)
{
	struct entry *entries[CHECKED_AT_ONCE];
	uint64_t tags[CHECKED_AT_ONCE][TAGS];
	struct remote_piece pieces[CHECKED_AT_ONCE * TAGS];
	size_t count = 0;
	if (!has_due(sampler, now_ns))
		return;
	for (size_t i = 0; i < sampler->room && count < CHECKED_AT_ONCE; i++) {
		struct entry *entry = sampler->table[i];
		if (!entry || !entry->known.code.table || now_ns - entry->used_ns > USED_NS)
			continue;
		add_tags(sampler, entry->address, tags[count], pieces + count * TAGS);
		entries[count++] = entry;
	}
	if (count == 0 || !remote_read_pieces(sampler->process->pid, pieces, count * TAGS))
		return;
	for (size_t i = 0; i < count; i++)
		if (memcmp(tags[i], entries[i]->tags, sizeof tags[i]) == 0)
			entries[i]->checked_ns = now_ns;
}

static bool find_line(struct entry *entry, const struct py_layout *layout, uint64_t ip, int *line)
{
	size_t at = (size_t)(ip >> 1) % LINES_RETAINED;
	if (!entry->lines[at].is_used || entry->lines[at].ip != ip) {
		if (!py_code_line(&entry->known.code, layout, ip, &entry->lines[at].line))
			return false;
		entry->lines[at].ip = ip;
		entry->lines[at].is_used = true;
	}
	*line = entry->lines[at].line;
	return true;
}

/* -- sampling -- */

/* An unreadable frame drops all newer frames. */
static void add_sites(struct py_sampler *sampler, int64_t now_ns, struct py_sample *out)
{
	const struct py_layout *layout = &sampler->process->location.layout;
	check_used(sampler, now_ns);
	for (size_t i = 0; i < sampler->walk.count; i++) {
		const struct py_raw_frame *raw = &sampler->walk.frames[i];
		if (raw->is_of_c || !raw->code)
			continue;
		struct entry *entry = find(sampler, raw->code, now_ns);
		int line;
		if (entry)
			entry->used_ns = now_ns;
		if (entry && find_line(entry, layout, raw->ip, &line)) {
			out->sites[out->count++] = (struct py_site){ &entry->known, line, raw->address, raw->code, raw->ip };
		} else {
			out->count = 0;
			out->is_whole = false;
		}
	}
}

static bool is_listed(struct py_sampler *sampler, uint64_t thread)
{
	struct py_thread_at list[FOLLOWED_AMONG_MAX];
	size_t count = py_sampler_threads(sampler, list, FOLLOWED_AMONG_MAX);
	for (size_t i = 0; i < count; i++)
		if (list[i].address == thread)
			return true;
	return false;
}

/* A thread's address is fixed while it lives; once a second this checks that it is still the main thread. */
static bool find_thread(struct py_sampler *sampler, int64_t now_ns)
{
	if (sampler->thread && now_ns - sampler->thread_checked_ns < CHECK_NS)
		return true;
	sampler->thread_checked_ns = now_ns;
	remote_copies_begin(sampler->main_copies, sampler->process->pid);
	if (!py_find_main(sampler->process, &sampler->interpreter, &sampler->thread))
		sampler->thread = 0;
	sampler->gil = sampler->thread ? py_gil_find(sampler->process, sampler->interpreter) : 0;
	remote_copies_end();
	if (sampler->followed && !is_listed(sampler, sampler->followed))
		sampler->followed = 0;
	return sampler->thread != 0;
}

void py_sampler_follow(struct py_sampler *sampler, uint64_t thread)
{
	sampler->followed = thread == sampler->thread ? 0 : thread;
}

static uint64_t sampled_thread(const struct py_sampler *sampler)
{
	return sampler->followed ? sampler->followed : sampler->thread;
}

enum status py_sampler_sample(struct py_sampler *sampler, int64_t now_ns, struct py_sample *out)
{
	out->is_whole = out->is_cut = false;
	out->count = 0;
	if (sampler->count >= CODES_MAX)
		forget_all(sampler);
	errno = 0;
	if (!find_thread(sampler, now_ns))
		return errno == ESRCH ? STATUS_END : STATUS_AGAIN;
	out->is_whole = py_walk(sampler->process, sampled_thread(sampler), PY_QUICK, sampler->walker, &sampler->walk);
	if (!out->is_whole && sampler->walk.count == 0) {
		sampler->thread = 0; /* both threads are looked for again: the one that is followed may have ended */
		return errno == ESRCH ? STATUS_END : STATUS_AGAIN;
	}
	out->is_cut = sampler->walk.is_cut;
	add_sites(sampler, now_ns, out);
	return STATUS_OK;
}

struct py_addresses py_sampler_addresses(const struct py_sampler *sampler)
{
	return sampler->thread
		? (struct py_addresses){ sampler->interpreter, sampler->thread, sampled_thread(sampler), sampler->gil }
		: (struct py_addresses){ 0, 0, 0, 0 };
}

size_t py_sampler_threads(struct py_sampler *sampler, struct py_thread_at *out, size_t max)
{
	remote_copies_begin(sampler->list_copies, sampler->process->pid);
	size_t count = sampler->thread ? py_threads_list(sampler->process, sampler->interpreter, out, max) : 0;
	remote_copies_end();
	return count;
}

enum status py_sampler_sample_other(struct py_sampler *sampler, uint64_t thread, int64_t now_ns, struct py_sample *out)
{
	out->is_whole = out->is_cut = false;
	out->count = 0;
	if (!sampler->other_walker && !(sampler->other_walker = py_walker_new()))
		return STATUS_NO_MEMORY;
	errno = 0;
	out->is_whole = py_walk(sampler->process, thread, PY_QUICK, sampler->other_walker, &sampler->walk);
	if (!out->is_whole && sampler->walk.count == 0)
		return errno == ESRCH ? STATUS_END : STATUS_AGAIN;
	out->is_cut = sampler->walk.is_cut;
	add_sites(sampler, now_ns, out);
	return STATUS_OK;
}

/* -- opening -- */

enum status py_sampler_open(
	pid_t pid, int process_fd, const struct py_sampler *relative, struct py_sampler **out, struct reason *why_not)
{
	struct py_process *process;
	enum status status = py_open(pid, process_fd, relative ? relative->process : NULL, &process, why_not);
	if (status != STATUS_OK)
		return status;
	struct py_sampler *sampler = calloc(1, sizeof *sampler);
	if (sampler) {
		sampler->process = process;
		sampler->walker = py_walker_new();
		sampler->room = SLOTS_FIRST;
		sampler->table = calloc(sampler->room, sizeof(struct entry *));
		sampler->main_copies = remote_copies_new();
		sampler->list_copies = remote_copies_new();
	}
	if (sampler && sampler->walker && sampler->table) {
		*out = sampler;
		return STATUS_OK;
	}
	if (sampler)
		py_sampler_close(sampler);
	else
		py_close(process);
	return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
}

void py_sampler_close(struct py_sampler *sampler)
{
	if (sampler->table)
		forget_all(sampler);
	free(sampler->table);
	py_walker_free(sampler->walker);
	py_walker_free(sampler->other_walker);
	remote_copies_free(sampler->main_copies);
	remote_copies_free(sampler->list_copies);
	py_close(sampler->process);
	free(sampler);
}

const struct py_layout *py_sampler_version(const struct py_sampler *sampler) { return py_version(sampler->process); }

const struct py_process *py_sampler_process(const struct py_sampler *sampler) { return sampler->process; }
