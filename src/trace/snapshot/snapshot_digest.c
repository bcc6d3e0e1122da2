#include "src/trace/snapshot/snapshot_digest.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/snapshot/snapshot_lines.h"
#include "src/trace/snapshot/snapshot_pairs.h"

#define SUFFIX ".snapshot.pickle"

/* -- the files -- */

/* The time in "HOST_PID[_rankN].TIME.snapshot.pickle"; 0: it is of another process, or no such name. */
static int64_t time_in(const char *name, pid_t pid)
{
	char mine[32];
	const char *rank = strstr(name, "_rank");
	size_t length = strlen(name), suffix = strlen(SUFFIX), digits = 0;
	if (length <= suffix || !text_ends_with(name, SUFFIX))
		return 0;
	size_t end = length - suffix;
	while (digits < end && name[end - digits - 1] >= '0' && name[end - digits - 1] <= '9')
		digits++;
	if (!digits || digits > 19 || digits == end || name[end - digits - 1] != '.')
		return 0;
	size_t head = end - digits - 1;
	if (rank && rank + 5 < name + head && strspn(rank + 5, "0123456789") == (size_t)(name + head - rank) - 5)
		head = (size_t)(rank - name);
	size_t own = (size_t)snprintf(mine, sizeof mine, "_%d", (int)pid);
	if (head < own || strncmp(name + head - own, mine, own) != 0)
		return 0;
	return (int64_t)strtoll(name + end - digits, NULL, 10);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

void snapshot_find_newest(const char *const *folders, size_t count, pid_t pid, char newest[4096], char before[4096])
{
	int64_t newest_ns = 0, before_ns = 0;
	newest[0] = before[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		DIR *folder = opendir(folders[i]);
		for (const struct dirent *entry; folder && (entry = readdir(folder));) {
			int64_t time_ns = time_in(entry->d_name, pid);
			if (time_ns <= before_ns || time_ns == newest_ns) /* one folder may have two names */
				continue;
			bool is_newest = time_ns > newest_ns;
			if (is_newest) {
				memcpy(before, newest, 4096);
				before_ns = newest_ns;
				newest_ns = time_ns;
			} else {
				before_ns = time_ns;
			}
			snprintf(is_newest ? newest : before, 4096, "%.3700s/%.255s", folders[i], entry->d_name);
		}
		if (folder)
			closedir(folder);
	}
}

/* -- the digest -- */

static void add_row(struct snapshot_digest_list *list, const struct snapshot *snapshot, uint32_t frame, uint32_t stack,
	struct snapshot_live live)
{
	if (list->count == SNAPSHOT_DIGEST_ROWS)
		return;
	struct snapshot_digest_row *row = &list->rows[list->count++];
	*row = (struct snapshot_digest_row){ .live = live };
	snapshot_line_show(snapshot, frame, row->line, sizeof row->line);
	if (frame)
		snapshot_callers_show(snapshot, stack, row->callers, sizeof row->callers);
}

static bool add_lines(struct snapshot_digest_list *list, const struct snapshot *snapshot, struct snapshot_lines *lines)
{
	bool is_fine = lines->rows != NULL;
	list->bytes = lines->bytes;
	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].live.bytes)
			add_row(list, snapshot, lines->rows[i].frame, lines->rows[i].stack, lines->rows[i].live);
	snapshot_lines_release(lines);
	return is_fine;
}

static bool digest_now(struct snapshot_digest *digest, const struct snapshot *snapshot)
{
	struct snapshot_lines lines = snapshot_lines_now(snapshot);
	return add_lines(&digest->now, snapshot, &lines);
}

/* Of the GPU with the highest peak. */
static bool digest_peak(struct snapshot_digest *digest, const struct snapshot *snapshot)
{
	const struct snapshot_history *highest = NULL;
	for (int32_t device = 0; device < SNAPSHOT_DEVICES_MAX; device++) {
		const struct snapshot_history *history = snapshot_history_of(snapshot, device);
		if (!history)
			continue;
		uint64_t live = snapshot_history_live(history, history->marks[SNAPSHOT_PEAK].live_delta);
		if (highest && live <= digest->peak_live)
			continue;
		highest = history;
		digest->peak_live = live;
	}
	digest->has_history = highest != NULL;
	if (!highest)
		return true;
	const struct snapshot_moment *peak = &highest->marks[SNAPSHOT_PEAK];
	digest->peak_device = highest->device;
	digest->peak_reserved = snapshot_history_reserved(highest, peak->reserved_delta);
	digest->is_partial = highest->unknown_frees || highest->before.blocks;
	if (peak->time_us && highest->last_us >= peak->time_us)
		digest->peak_before_s = (double)(highest->last_us - peak->time_us) / 1e6;
	struct snapshot_lines lines = snapshot_lines_at(snapshot, highest, SNAPSHOT_PEAK);
	return add_lines(&digest->peak, snapshot, &lines);
}

/* Lines that hold nothing any more are added at the end, with what they have lost. */
static bool digest_growth(struct snapshot_digest *digest, const struct snapshot *before, struct snapshot *snapshot)
{
	struct snapshot_pairs pairs = snapshot_pairs_of(before, snapshot);
	bool is_fine = pairs.rows != NULL;
	char line[SNAPSHOT_DIGEST_LINE];
	for (size_t i = 0; i < pairs.count; i++) {
		const struct snapshot_pair *pair = &pairs.rows[i];
		struct snapshot_digest_row *row = NULL;
		snapshot_line_show(snapshot, pair->frame, line, sizeof line);
		for (size_t k = 0; k < digest->now.count && !row; k++)
			if (digest->now.rows[k].live.bytes == pair->b.bytes && strcmp(digest->now.rows[k].line, line) == 0)
				row = &digest->now.rows[k];
		if (!row && !pair->b.bytes && pair->a.bytes && digest->now.count < SNAPSHOT_DIGEST_ROWS) {
			add_row(&digest->now, snapshot, pair->frame, 0, pair->b);
			row = &digest->now.rows[digest->now.count - 1];
		}
		if (!row)
			continue;
		row->growth = snapshot_pair_change(pair);
		row->is_new = !pair->a.bytes;
	}
	digest->has_before = is_fine;
	snapshot_pairs_release(&pairs);
	return is_fine;
}

static int64_t taken_at(const char *path)
{
	const char *name = name_of(path), *end = strstr(name, SUFFIX);
	while (end && end > name && end[-1] != '.')
		end--;
	return end ? (int64_t)strtoll(end, NULL, 10) : 0;
}

static enum status fill(
	struct snapshot_digest *digest, struct snapshot both[2], const char *before, struct reason *why_not)
{
	struct reason ignored;
	snprintf(digest->path, sizeof digest->path, "%s", both[1].path);
	digest->peak_before_s = NAN;
	digest->taken_ns = taken_at(both[1].path);
	digest->sum = snapshot_sum(&both[1], -1);
	snapshot_loss(&both[1], digest->loss, sizeof digest->loss);
	bool is_fine = digest_now(digest, &both[1]) && digest_peak(digest, &both[1]);
	if (is_fine && before[0] && snapshot_read(&both[0], before, &ignored) == STATUS_OK) {
		digest->before_ns = taken_at(before);
		is_fine = digest_growth(digest, &both[0], &both[1]);
		snapshot_release(&both[0]);
	}
	return is_fine ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
}

enum status snapshot_digest_read(
	const char *newest, const char *before, struct snapshot_digest **out, struct reason *why_not)
{
	struct snapshot *both = calloc(2, sizeof *both);
	struct snapshot_digest *digest = calloc(1, sizeof *digest);
	enum status status = both && digest ? snapshot_read(&both[1], newest, why_not)
										: reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	if (status == STATUS_OK) {
		status = fill(digest, both, before, why_not);
		snapshot_release(&both[1]);
	}
	free(both);
	if (status == STATUS_OK)
		*out = digest;
	else
		free(digest);
	return status;
}
