#include "src/commands/instrument/instrument_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/files/file.h"
#include "src/base/files/program_files.h"
#include "src/base/kernel.h"
#include "src/base/text.h"

#define SCRIPT "pmtop_instrument.py"
#define HOOKS "pmtop_launch_hooks.py"
#define REPORT "report"

enum { SOURCE_MAX = 64 * 1024, REPORT_SIZE = 512 };

/* -- the folder -- */

/* Opens a folder of the target, component by component: a symbolic link could lead out of the target's root. */
static int open_folder(int root_fd, const char *const *components)
{
	int fd = root_fd;
	for (; *components && fd >= 0; components++) {
		int next = openat(fd, *components, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd != root_fd)
			close(fd);
		fd = next;
	}
	return fd;
}

static bool make_folder(
	struct instrument_files *files, int root_fd, pid_t pid, const char *const *components, const char *path)
{
	uint64_t random;
	struct stat made;
	files->parent_fd = open_folder(root_fd, components);
	if (files->parent_fd < 0 || !kernel_random(&random, sizeof random, true))
		return false;
	snprintf(files->name, sizeof files->name, "pmtop-instrument-%d-%016" PRIx64, (int)pid, random);
	if (mkdirat(files->parent_fd, files->name, 0700) != 0)
		return false;
	files->folder_fd = openat(files->parent_fd, files->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	snprintf(files->folder, sizeof files->folder, "%s/%s", path, files->name);
	snprintf(files->script, sizeof files->script, "%s/" SCRIPT, files->folder);
	return files->folder_fd >= 0 && fstat(files->folder_fd, &made) == 0 && made.st_uid == geteuid();
}

static enum status find_folder(int process_fd, pid_t pid, struct instrument_files *files, struct reason *why_not)
{
	static const char *const tmp[] = { "tmp", NULL }, *const shm[] = { "dev", "shm", NULL };
	int root_fd = openat(process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return reason_set(
			why_not, status_of_errno(errno), NULL, "its root folder cannot be opened: %s", strerror(errno));
	bool is_made = make_folder(files, root_fd, pid, tmp, "/tmp");
	if (!is_made) {
		instrument_files_remove(files);
		is_made = make_folder(files, root_fd, pid, shm, "/dev/shm");
	}
	int error = errno;
	close(root_fd);
	return is_made ? STATUS_OK
				   : reason_set(why_not, STATUS_IO, NULL, "no private folder can be made in its /tmp or /dev/shm: %s",
						 strerror(error));
}

/* -- files -- */

/* Creates a file of the target's user. Returns its descriptor, or −1. */
static int make_file(
	const struct instrument_files *files, const char *name, const void *bytes, size_t length, uid_t uid)
{
	int fd = openat(files->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (write(fd, bytes, length) == (ssize_t)length && (uid == geteuid() || fchown(fd, uid, (gid_t)-1) == 0))
		return fd;
	close(fd);
	return -1;
}

static bool read_source(const char *folder, const char *name, struct buffer *out)
{
	char path[PATH_MAX], *text = malloc(SOURCE_MAX);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = text ? fopen(path, "re") : NULL;
	size_t length = file ? fread(text, 1, SOURCE_MAX, file) : 0;
	if (file)
		fclose(file);
	buffer_add(out, text, length);
	free(text);
	return length > 0 && length < SOURCE_MAX;
}

/* A path is not always text: each byte becomes \xNN. */
static void put_path(struct buffer *out, const char *name, const char *path)
{
	buffer_printf(out, "%s = b'", name);
	for (; *path; path++)
		buffer_printf(out, "\\x%02x", (unsigned)(unsigned char)*path);
	buffer_puts(out, "'.decode('utf-8', 'surrogateescape')\n");
}

static bool make_sources(struct instrument_files *files, const char *launch, const char *site, uid_t uid)
{
	struct buffer script = BUFFER_INIT, hooks = BUFFER_INIT;
	int script_fd = -1, hooks_fd = -1;
	put_path(&script, "FOLDER", files->folder);
	put_path(&script, "SITE", site ? site : "");
	if (read_source(launch, SCRIPT, &script) && read_source(launch, HOOKS, &hooks)) {
		script_fd = make_file(files, SCRIPT, script.data, script.length, uid);
		hooks_fd = make_file(files, HOOKS, hooks.data, hooks.length, uid);
	}
	int error = errno;
	bool is_made = script_fd >= 0 && hooks_fd >= 0;
	if (script_fd >= 0)
		close(script_fd);
	if (hooks_fd >= 0)
		close(hooks_fd);
	buffer_release(&script);
	buffer_release(&hooks);
	errno = error;
	return is_made;
}

static enum status fill_folder(struct instrument_files *files, const char *launch, uid_t uid, struct reason *why_not)
{
	char *site = program_folder("../share/pmtop/python/site", "python/site", "pmtop/torch.py");
	bool is_made = make_sources(files, launch, site, uid);
	free(site);
	files->report_fd = is_made ? make_file(files, REPORT, "", 0, uid) : -1;
	if (files->report_fd >= 0 && (uid == geteuid() || fchown(files->folder_fd, uid, (gid_t)-1) == 0))
		return STATUS_OK;
	return reason_set(
		why_not, STATUS_IO, NULL, "the script cannot be written to %s: %s", files->folder, strerror(errno));
}

enum status instrument_files_make(
	int process_fd, pid_t pid, uid_t uid, struct instrument_files *out, struct reason *why_not)
{
	*out = (struct instrument_files){ .parent_fd = -1, .folder_fd = -1, .report_fd = -1 };
	char *launch = program_folder("../share/pmtop/python/launch", "../src/python/launch", SCRIPT);
	if (!launch)
		return reason_set(why_not, STATUS_NOT_FOUND, "make install installs them",
			"pmtop's Python files (share/pmtop/python/launch) are missing");
	enum status status = find_folder(process_fd, pid, out, why_not);
	if (status == STATUS_OK)
		status = fill_folder(out, launch, uid, why_not);
	free(launch);
	if (status != STATUS_OK)
		instrument_files_remove(out);
	return status;
}

bool instrument_files_report(const struct instrument_files *files, char *out, size_t size)
{
	char text[REPORT_SIZE];
	ssize_t length = pread(files->report_fd, text, sizeof text, 0);
	const char *end = length > 0 ? memchr(text, '\n', (size_t)length) : NULL;
	if (!end)
		return false;
	text_clean(out, size, text, (size_t)(end - text));
	return true;
}

void instrument_files_remove(struct instrument_files *files)
{
	static const char *const names[] = { SCRIPT, HOOKS, REPORT };
	int *const descriptors[] = { &files->report_fd, &files->folder_fd, &files->parent_fd };
	for (size_t i = 0; files->folder_fd >= 0 && i < sizeof names / sizeof *names; i++)
		unlinkat(files->folder_fd, names[i], 0);
	if (files->parent_fd >= 0 && files->name[0])
		unlinkat(files->parent_fd, files->name, AT_REMOVEDIR);
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
		if (*descriptors[i] >= 0)
			close(*descriptors[i]);
		*descriptors[i] = -1;
	}
	files->name[0] = '\0';
}
