#include "src/sources/machine/system_space.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/mounts.h"
#include "src/sources/machine/system.h"
#include "src/sources/machine/system_private.h"

#define SPACE_NS (10 * NS_PER_S)
/* /dev/shm can fill up as fast as other memory, and statvfs is cheap once its path is known. */
#define SHM_NS (900 * NS_PER_MS)
#define SHM_PATH "/dev/shm"

struct folder {
	size_t retained;
	const char *figure, *path; /* the path is below /proc/PID */
	enum metric size, room;
};

static const struct folder space = { RETAINED_SPACE, "free space", "cwd", METRIC_SYSTEM_SPACE,
	METRIC_SYSTEM_SPACE_FREE };
static const struct folder shm = { RETAINED_SHM, SHM_PATH, "root" SHM_PATH, METRIC_SYSTEM_SHM, METRIC_SYSTEM_SHM_USED };

static void emit_denied(struct system_reader *reader, const struct folder *folder, enum status status,
	struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[0];
	struct reason why;
	reason_set(&why, status, "", "/proc/%d/%s could not be read", (int)member->pid, folder->path);
	if (status == STATUS_DENIED)
		target_explain_denied(reader->target, member, &why);
	system_emit_missing(&reader->retained[folder->retained], folder->figure, &why, out, now_ns);
}

static void emit_space(
	struct system_reader *reader, const struct folder *folder, struct sample_set *out, int64_t now_ns)
{
	char path[PATH_MAX];
	struct statvfs status;
	int written =
		snprintf(path, sizeof path, "%s/%d/%s", reader->target->proc_root, (int)reader->target->pid, folder->path);
	if (written < 0 || (size_t)written >= sizeof path)
		return;
	if (file_space(path, &status) != 0) {
		emit_denied(reader, folder, status_of_errno(errno), out, now_ns);
		return;
	}
	if (status.f_blocks == 0)
		return;
	double block = status.f_frsize ? (double)status.f_frsize : (double)status.f_bsize;
	double room = (double)status.f_bavail, used = (double)status.f_blocks - (double)status.f_bfree;
	sample_set_figure(out, now_ns, folder->size, 0, (double)status.f_blocks * block);
	sample_set_figure(out, now_ns, folder->room, 0, (folder == &shm ? used : room) * block);
	if (folder == &shm)
		system_shm_read(reader->shm, reader->target, used * block, now_ns, out);
	system_emit_missing(&reader->retained[folder->retained], folder->figure, NULL, out, now_ns);
}

/* Checks each folder of the path, because one on a blocking file system also blocks. */
static bool may_hang(const char *mountinfo, const char *path)
{
	char part[PATH_MAX];
	struct mount mount;
	size_t length = strlen(path);
	if (length >= sizeof part)
		return true;
	memcpy(part, path, length + 1);
	for (;;) {
		if (!mounts_find(mountinfo, part, &mount) || mount_may_hang(&mount))
			return true;
		char *slash = strrchr(part, '/');
		if (!slash || slash[1] == '\0')
			return false;
		slash[slash == part] = '\0';
	}
}

static void read_space_of_folder(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	const struct target_member *member = &reader->target->members[0];
	struct retained_file *retained = &reader->retained[RETAINED_SPACE];
	char cwd[MOUNTS_PATH_SIZE];
	struct mount mount;
	struct reason why;
	ssize_t length = file_link(member->directory_fd, "cwd", cwd, sizeof cwd);
	if (length < 0) {
		emit_denied(reader, &space, status_of_errno(errno), out, now_ns);
		return;
	}
	if (!mounts_find(reader->text, cwd, &mount)) {
		reason_set(&why, STATUS_NOT_FOUND, "", "the working directory's mount was not found");
		system_emit_missing(retained, space.figure, &why, out, now_ns);
	} else if (mount_may_hang(&mount)) {
		reason_set(&why, STATUS_UNSUPPORTED, "", "the working directory is on %s: pmtop skips it, statvfs could block",
			mount.type);
		system_emit_missing(retained, space.figure, &why, out, now_ns);
	} else {
		emit_space(reader, &space, out, now_ns);
	}
}

static void read_shm(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct mount mount;
	struct reason why;
	if (mounts_find(reader->text, SHM_PATH, &mount) && strcmp(mount.type, "tmpfs") == 0 &&
		!may_hang(reader->text, SHM_PATH)) {
		emit_space(reader, &shm, out, now_ns);
		reader->retained[RETAINED_SHM].next_ns = now_ns + SHM_NS;
		return;
	}
	reason_set(
		&why, STATUS_NOT_FOUND, "mount one: mount -t tmpfs tmpfs " SHM_PATH, "the target has no tmpfs at " SHM_PATH);
	system_emit_missing(&reader->retained[RETAINED_SHM], shm.figure, &why, out, now_ns);
}

void system_read_space(struct system_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct retained_file *retained = &reader->retained[RETAINED_SPACE];
	const struct target *target = reader->target;
	size_t length;
	if (target->member_count == 0)
		return;
	if (now_ns < retained->next_ns) {
		if (now_ns >= reader->retained[RETAINED_SHM].next_ns) {
			emit_space(reader, &shm, out, now_ns);
			reader->retained[RETAINED_SHM].next_ns = now_ns + SHM_NS;
		}
		return;
	}
	retained->next_ns = now_ns + SPACE_NS;
	reader->retained[RETAINED_SHM].next_ns = INT64_MAX;
	enum status status =
		file_read(target->members[0].directory_fd, "mountinfo", reader->text, sizeof reader->text, &length);
	if (status != STATUS_OK) {
		emit_denied(reader, &space, status, out, now_ns);
		emit_denied(reader, &shm, status, out, now_ns);
		return;
	}
	read_space_of_folder(reader, out, now_ns);
	read_shm(reader, out, now_ns);
}
