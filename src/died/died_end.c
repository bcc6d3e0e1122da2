#include "src/died/died_end.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/formats/json_tree.h"
#include "src/died/died_output.h"

enum { FILE_MAX = 16 * 1024, PATH_SIZE = 1024 };
#define WHOLE_MAX 9.0e15

struct end_file {
	char name[64];
	int64_t modified_ns;
};

struct end_files {
	size_t count;
	struct end_file list[DIED_ENDS_MAX + 1];
};

/* -- the files, newest first -- */

static int compare(const void *left, const void *right)
{
	const struct end_file *a = left, *b = right;
	return a->modified_ns < b->modified_ns ? 1 : -(a->modified_ns > b->modified_ns);
}

static void list_files(const char *folder, struct end_files *out)
{
	DIR *files = opendir(folder);
	out->count = 0;
	for (struct dirent *entry; files && (entry = readdir(files));) {
		struct stat status;
		int pid, length = 0;
		if (sscanf(entry->d_name, "end-%d.json%n", &pid, &length) != 1 || entry->d_name[length] ||
			fstatat(dirfd(files), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
			continue;
		struct end_file *new = &out->list[out->count];
		snprintf(new->name, sizeof new->name, "%.63s", entry->d_name);
		new->modified_ns = (int64_t)status.st_mtim.tv_sec *NS_PER_S + status.st_mtim.tv_nsec;
		out->count++;
		qsort(out->list, out->count, sizeof *out->list, compare);
		if (out->count > DIED_ENDS_MAX) {
			out->count--;
			unlinkat(dirfd(files), out->list[DIED_ENDS_MAX].name, 0);
		}
	}
	if (files)
		closedir(files);
}

/* -- writing -- */

void died_end_write(const char *folder, const struct died_evidence *evidence, const char *command)
{
	struct buffer text = BUFFER_INIT;
	struct json json = { .out = &text };
	struct end_files files;
	char path[PATH_SIZE];
	list_files(folder, &files); /* removes old ones */
	json_open_object(&json, NULL);
	json_text(&json, "name", evidence->name);
	json_text(&json, "command", command);
	json_text(&json, "log", evidence->log[0] ? evidence->log : NULL);
	json_integer(&json, "log_begin", evidence->log_part.begin);
	json_integer(&json, "log_end", evidence->log_part.end);
	json_integer(&json, "log_inode", evidence->log_part.inode);
	json_text(&json, "recording", evidence->recording[0] ? evidence->recording : NULL);
	json_integer(&json, "pid", evidence->pid);
	json_integer(&json, "is_watched", evidence->is_watched);
	json_integer(&json, "status", evidence->has_status ? evidence->status : -1);
	json_number(&json, "oom_kills", evidence->oom_kills);
	json_integer(&json, "kernel", (int64_t)evidence->kernel);
	json_text(&json, "kernel_line", evidence->kernel_line);
	json_text(&json, "stack", evidence->stack);
	json_text(&json, "collective", evidence->collective);
	json_number(&json, "ran_s", evidence->ran_s);
	json_number(&json, "peak_bytes", evidence->peak_bytes);
	json_close_object(&json);
	int length = snprintf(path, sizeof path, "%s/end-%d.json", folder, (int)evidence->pid);
	unlink(path); /* of an earlier process of the same number */
	int fd = length < PATH_SIZE && !text.failed ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
												: -1;
	if (fd >= 0 && write(fd, text.data, text.length) != (ssize_t)text.length)
		unlink(path);
	if (fd >= 0)
		close(fd);
	buffer_release(&text);
}

/* -- reading -- */

static struct json_tree *read_tree(const char *folder, const char *name)
{
	char path[PATH_SIZE], text[FILE_MAX];
	struct json_tree *tree = NULL;
	struct reason why;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof text) : -1;
	if (fd >= 0)
		close(fd);
	return got > 0 && json_tree_read(text, (size_t)got, &tree, &why) == STATUS_OK ? tree : NULL;
}

static void take_text(const struct json_value *root, const char *key, char *out, size_t size)
{
	const char *text = json_member_text(root, key);
	snprintf(out, size, "%s", text ? text : "");
}

/* 0: it is missing, or no number of a file. */
static int64_t whole(const struct json_value *root, const char *key)
{
	double number = json_member_number(root, key);
	return number >= 0 && number < WHOLE_MAX ? (int64_t)number : 0;
}

static void take(const struct json_value *root, struct died_evidence *out)
{
	double status = json_member_number(root, "status"), pid = json_member_number(root, "pid"),
		   kernel = json_member_number(root, "kernel");
	const char *log = json_member_text(root, "log");
	take_text(root, "name", out->name, sizeof out->name);
	take_text(root, "kernel_line", out->kernel_line, sizeof out->kernel_line);
	take_text(root, "log", out->log, sizeof out->log);
	take_text(root, "stack", out->stack, sizeof out->stack);
	take_text(root, "collective", out->collective, sizeof out->collective);
	out->is_watched = json_member_number(root, "is_watched") == 1;
	out->log_part = (struct died_part){ whole(root, "log_begin"), whole(root, "log_end"), whole(root, "log_inode") };
	out->pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
	out->has_status = status >= 0 && status <= UINT16_MAX;
	out->status = out->has_status ? (int)status : 0;
	out->kernel = kernel > 0 && kernel <= DIED_KERNEL_XID ? (enum died_kernel_kind)kernel : DIED_KERNEL_NOTHING;
	out->oom_kills = json_member_number(root, "oom_kills");
	out->ran_s = json_member_number(root, "ran_s");
	out->peak_bytes = json_member_number(root, "peak_bytes");
	int fd = log ? open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd >= 0) {
		died_output_read_file(fd, &out->log_part, &out->output);
		close(fd);
	}
}

/* An earlier end of the same command that exited with 0. */
static bool take_good(const struct json_value *root, const char *command, struct died_evidence *out)
{
	const char *other = json_member_text(root, "command");
	if (!*command || !other || strcmp(other, command) != 0 || json_member_number(root, "status") != 0)
		return false;
	out->good_ran_s = json_member_number(root, "ran_s");
	out->good_peak_bytes = json_member_number(root, "peak_bytes");
	return true;
}

static bool is_wanted(const struct json_value *root, int32_t pid, const char *recording)
{
	const char *path = json_member_text(root, "recording");
	return (pid == 0 || json_member_number(root, "pid") == pid) &&
		(!recording || (path && strcmp(path, recording) == 0));
}

enum status died_end_read(
	const char *folder, int32_t pid, const char *recording, struct died_evidence *out, struct reason *why_not)
{
	struct end_files files;
	char command[FILE_MAX] = "";
	bool is_found = false, is_good = false;
	list_files(folder, &files);
	for (size_t i = 0; i < files.count && !is_good; i++) {
		struct json_tree *tree = read_tree(folder, files.list[i].name);
		const struct json_value *root = tree ? json_tree_root(tree) : NULL;
		if (root && !is_found && is_wanted(root, pid, recording)) {
			take(root, out);
			take_text(root, "command", command, sizeof command);
			is_found = true;
			is_good = out->has_status && out->status == 0; /* nothing to compare with */
		} else if (root && is_found) {
			is_good = take_good(root, command, out);
		}
		if (tree)
			json_tree_free(tree);
	}
	if (is_found)
		return STATUS_OK;
	if (pid)
		return reason_set(why_not, STATUS_NOT_FOUND, "watch a process until it ends: pmtop why-died PID",
			"no process %d, and pmtop has seen none of that number end", (int)pid);
	return reason_set(
		why_not, STATUS_NOT_FOUND, "name a process, a run, a recording or a log", "pmtop has seen no process end");
}
