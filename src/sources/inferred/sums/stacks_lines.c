#include "src/sources/inferred/sums/stacks_lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/sources/python/counters/py_linecache.h"
#include "src/sources/target/foreign_file.h"

/* The start time of a process is known to about 10 ms, and a file may be written right before. */
#define SLACK_NS (1 * NS_PER_S)

enum {
	TEXT_SIZE = 160,
	FILES_MAX = 256,
	LINES_MAX = 4096,
	VIEWS_MAX = 32,
	LINK_SIZE = 256,
	SOURCES_BYTES_MAX = 8 << 20
};

/* Processes that find the same file by the same name and have the same rights: rights, mount namespace, root,
 * working directory. */
struct view {
	struct foreign_rights rights;
	char links[3][LINK_SIZE];
};

enum source { SOURCE_UNREAD, SOURCE_READ, SOURCE_REFUSED };

/* Lines of one file that were requested, unsorted: a run has few. */
struct file_lines {
	char *name;
	unsigned view;
	enum source state; /* UNREAD also if its text was dropped to make room */
	char *source;
	size_t source_size;
	size_t count, room;
	struct {
		int line;
		char *text;
	} * lines;
};

struct stacks_lines {
	struct foreign_reader reader;
	unsigned view_count;
	struct view views[VIEWS_MAX]; /* numbered from 1 */
	size_t count;
	struct file_lines files[FILES_MAX];
	size_t source_bytes, next_to_drop; /* size of all stored files; the next file to drop */
};

struct stacks_lines *stacks_lines_new(void) { return calloc(1, sizeof(struct stacks_lines)); }

void stacks_lines_free(struct stacks_lines *lines)
{
	for (size_t i = 0; lines && i < lines->count; i++) {
		for (size_t k = 0; k < lines->files[i].count; k++)
			free(lines->files[i].lines[k].text);
		free(lines->files[i].lines);
		free(lines->files[i].name);
		free(lines->files[i].source);
	}
	if (lines)
		foreign_reader_release(&lines->reader);
	free(lines);
}

static const struct reason *why_none(const struct stacks_lines *lines)
{
	return lines && atomic_load(&lines->reader.has_given_up) ? &lines->reader.why : NULL;
}

void stacks_lines_emit_missing(
	const struct stacks_lines *lines, bool *was_emitted, int64_t now_ns, struct sample_set *out)
{
	const struct reason *why = why_none(lines);
	if (why && !*was_emitted)
		sample_set_missing(out, now_ns, "source lines", why->text, why->remedy);
	*was_emitted = why != NULL;
}

/* -- the owner -- */

/* The effective user owns the /proc folder. A process that was root and no longer is (a launcher) has fewer rights
 * now; no process gains rights. */
void stacks_owner_note_user(struct stacks_owner *owner)
{
	struct stat folder;
	if (fstat(owner->process_fd, &folder) < 0)
		return;
	if (owner->has_user && owner->uid != folder.st_uid) {
		owner->is_mixed |= owner->uid != 0;
		owner->view = 0;
	}
	owner->uid = folder.st_uid;
	owner->has_user = true;
}

/* "<ipython-input-3-…>", "/tmp/ipykernel_4711/646023150.py" */
static bool is_cell(const char *file)
{
	return strncmp(file, "<ipython-", 9) == 0 || strstr(file, "/ipykernel_") || strstr(file, "/ipython-input-");
}

void stacks_owner_note_cells(
	struct stacks_owner *owner, const struct py_process *process, const struct py_sample *sample)
{
	owner->line_cache = owner->python == process ? owner->line_cache : 0;
	owner->python = process;
	for (size_t i = 0; i < sample->count && !owner->line_cache; i++) {
		const struct py_known *known = sample->sites[i].known;
		if (!known->mark && is_cell(known->code.file) && !py_linecache_find(process, sample, &owner->line_cache))
			return;
	}
}

static bool read_view(const struct stacks_owner *owner, struct view *out)
{
	static const char *const links[] = { "ns/mnt", "root", "cwd" };
	memset(out, 0, sizeof *out);
	if (!owner->has_user || owner->is_mixed || foreign_rights_read(owner->process_fd, &out->rights) != STATUS_OK ||
		out->rights.uid != owner->uid)
		return false;
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		ssize_t length = readlinkat(owner->process_fd, links[i], out->links[i], LINK_SIZE);
		if (length <= 0 || length == LINK_SIZE)
			return false;
	}
	return true;
}

/* False: no file may be read for it now. */
static bool find_view(struct stacks_lines *lines, struct stacks_owner *owner)
{
	struct view *view = &lines->views[lines->view_count < VIEWS_MAX ? lines->view_count : 0], now;
	owner->view = 0;
	if (!read_view(owner, &now))
		return false;
	for (unsigned i = 0; i < lines->view_count && !owner->view; i++)
		if (foreign_rights_are_equal(&lines->views[i].rights, &now.rights) &&
			memcmp(lines->views[i].links, now.links, sizeof now.links) == 0)
			owner->view = i + 1;
	if (!owner->view && lines->view_count < VIEWS_MAX) {
		*view = now;
		owner->view = ++lines->view_count;
	}
	return owner->view != 0;
}

/* -- their text -- */

static void drop_source(struct stacks_lines *lines, struct file_lines *file)
{
	if (file->state != SOURCE_READ)
		return;
	lines->source_bytes -= file->source_size;
	free(file->source);
	file->source = NULL;
	file->state = SOURCE_UNREAD;
}

/* Drops the oldest files if there is no room. */
static void store_source(struct stacks_lines *lines, struct file_lines *file, char *text, size_t length)
{
	for (size_t tries = 0; tries < lines->count && lines->source_bytes + length > SOURCES_BYTES_MAX; tries++)
		drop_source(lines, &lines->files[lines->next_to_drop++ % lines->count]);
	file->source = text;
	file->source_size = length;
	file->state = SOURCE_READ;
	lines->source_bytes += length;
}

/* False: retry later. */
static bool read_source(struct stacks_lines *lines, const struct stacks_owner *owner, struct file_lines *file)
{
	char *text = NULL;
	size_t length = 0;
	if (file->state != SOURCE_UNREAD)
		return true;
	enum status status = foreign_file_read(&lines->reader, owner->process_fd, &lines->views[file->view - 1].rights,
		file->name, owner->started_ns + SLACK_NS, &text, &length);
	bool is_of_cell = status != STATUS_OK && status != STATUS_AGAIN && owner->line_cache &&
		py_linecache_read(owner->python, owner->line_cache, file->name, &text, &length);
	if (status == STATUS_OK || is_of_cell)
		store_source(lines, file, text, length);
	else if (status != STATUS_AGAIN)
		file->state = SOURCE_REFUSED;
	return status != STATUS_AGAIN;
}

static char *find_line(const struct file_lines *file, int line)
{
	char text[TEXT_SIZE];
	const char *at = file->source, *end = at ? at + file->source_size : NULL;
	for (int i = 1; at && i < line; i++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at || line <= 0)
		return NULL;
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	stop = stop ? stop : end;
	while (at < stop && (*at == ' ' || *at == '\t'))
		at++;
	while (stop > at && (stop[-1] == '\r' || stop[-1] == ' '))
		stop--;
	return text_clean(text, sizeof text, at, (size_t)(stop - at)) ? strdup(text) : NULL;
}

/* Its index, or lines->count if there is none. */
static size_t find_file(const struct stacks_lines *lines, unsigned view, const char *file)
{
	size_t at = 0;
	while (at < lines->count && (lines->files[at].view != view || strcmp(lines->files[at].name, file) != 0))
		at++;
	return at;
}

static struct file_lines *add_file(struct stacks_lines *lines, unsigned view, const char *file)
{
	size_t at = find_file(lines, view, file);
	if (at < lines->count)
		return &lines->files[at];
	char *name = at < FILES_MAX ? strdup(file) : NULL;
	if (!name)
		return NULL;
	lines->files[lines->count++] = (struct file_lines){ .name = name, .view = view };
	return &lines->files[at];
}

static bool has_room(struct file_lines *file)
{
	if (file->count < file->room)
		return true;
	size_t room = file->room ? 2 * file->room : 16;
	void *longer = room <= LINES_MAX ? realloc(file->lines, room * sizeof *file->lines) : NULL;
	if (!longer)
		return false;
	file->lines = longer;
	file->room = room;
	return true;
}

/* True: the line was requested before; *text is its text (NULL: none). */
static bool find_text(const struct stacks_lines *lines, unsigned view, const char *file, int line, const char **text)
{
	size_t at = find_file(lines, view, file);
	const struct file_lines *found = at < lines->count ? &lines->files[at] : NULL;
	for (size_t i = 0; found && i < found->count; i++) {
		if (found->lines[i].line != line)
			continue;
		*text = found->lines[i].text;
		return true;
	}
	return false;
}

/* After a timeout no new file is read for a while; stored files are still used. */
static bool is_postponed(const struct stacks_lines *lines, const struct stacks_owner *owner, const char *file)
{
	if (!atomic_load(&lines->reader.has_given_up) && clock_monotonic_ns() >= lines->reader.next_ns)
		return false;
	size_t at = find_file(lines, owner->view, file);
	return at == lines->count || lines->files[at].state == SOURCE_UNREAD;
}

const char *stacks_lines_text(struct stacks_lines *lines, struct stacks_owner *owner, const char *file, int line)
{
	const char *text = NULL;
	if (owner->is_mixed || find_text(lines, owner->view, file, line, &text) || is_postponed(lines, owner, file))
		return text;
	/* The rights are read again before any file is. */
	if (!find_view(lines, owner) || find_text(lines, owner->view, file, line, &text))
		return text;
	struct file_lines *found = add_file(lines, owner->view, file);
	if (!found || !has_room(found) || !read_source(lines, owner, found))
		return NULL;
	found->lines[found->count].line = line;
	found->lines[found->count].text = find_line(found, line);
	return found->lines[found->count++].text;
}
