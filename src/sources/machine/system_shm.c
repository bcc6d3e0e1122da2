#include "src/sources/machine/system_shm.h"

#include <fcntl.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/target/target.h"

enum { FILES_MAX = 4096, DESCRIPTORS_MAX = 65536, CREATORS_MAX = 1024 };
#define FOLDER "/dev/shm/"
#define PERIOD_NS (4 * NS_PER_S)
/* The pause until the next scan, in durations of the last one: at least, and wanted up to PAUSE_MAX_NS. */
enum { COST_MIN = 500, COST_WANTED = 10000 };
#define PAUSE_MAX_NS (20 * NS_PER_S)
#define CHANGE_BYTES 1e6

/* A file of the run, by its inode. */
struct shm_file {
	uint64_t inode;
	double bytes;  /* 0: deleted, or no longer the run's */
	bool is_found; /* in this scan */
};

struct system_shm {
	size_t count;
	struct shm_file files[FILES_MAX];
	size_t creator_count;
	pid_t creators[CREATORS_MAX]; /* the run's processes, also those that have ended; the newest replace the oldest */
	int64_t next_ns;
	double used_bytes; /* at the last scan; NAN = never */
};

struct system_shm *system_shm_new(void)
{
	struct system_shm *shm = calloc(1, sizeof *shm);
	if (shm)
		shm->used_bytes = NAN;
	return shm;
}

void system_shm_free(struct system_shm *shm) { free(shm); }

static struct shm_file *find(struct system_shm *shm, uint64_t inode)
{
	for (size_t i = 0; i < shm->count; i++)
		if (shm->files[i].inode == inode)
			return &shm->files[i];
	return NULL;
}

static void note(struct system_shm *shm, uint64_t inode, double bytes)
{
	struct shm_file *file = find(shm, inode);
	if (!file && shm->count < FILES_MAX) {
		file = &shm->files[shm->count++];
		*file = (struct shm_file){ .inode = inode };
	}
	if (!file)
		return;
	file->bytes = file->is_found ? fmax(file->bytes, bytes) : bytes;
	file->is_found = true;
}

/* False: the descriptors may not be read. */
static bool check_descriptors(struct system_shm *shm, const struct target_member *member)
{
	DIR *folder = file_open_folder(member->directory_fd, "fd");
	const struct dirent *entry;
	for (unsigned i = 0; folder && i < DESCRIPTORS_MAX && (entry = file_next(folder)); i++) {
		char link[64];
		struct stat file;
		/* The name is checked first, because stat may block for ever on some file systems. */
		if (file_link(dirfd(folder), entry->d_name, link, sizeof link) > 0 &&
			strncmp(link, FOLDER, sizeof FOLDER - 1) == 0 && file_stat(dirfd(folder), entry->d_name, &file, 0) == 0 &&
			S_ISREG(file.st_mode))
			note(shm, file.st_ino, (double)file.st_blocks * 512);
	}
	if (folder)
		closedir(folder);
	return folder != NULL;
}

static void check_mapping(struct system_shm *shm, const char *line)
{
	unsigned long long low, high, inode;
	if (strstr(line, FOLDER) && sscanf(line, "%llx-%llx %*s %*x %*x:%*x %llu", &low, &high, &inode) == 3 && inode &&
		!find(shm, inode))
		note(shm, inode, (double)(high - low));
	else if (strstr(line, FOLDER) && sscanf(line, "%*x-%*x %*s %*x %*x:%*x %llu", &inode) == 1 && find(shm, inode))
		find(shm, inode)->is_found = true;
}

static void check_maps(struct system_shm *shm, const struct target_member *member)
{
	char text[16 * 1024];
	size_t retained = 0;
	ssize_t length;
	int fd = file_open(member->directory_fd, "maps", O_RDONLY);
	while (fd >= 0 && (length = file_read_some(fd, text + retained, sizeof text - 1 - retained)) > 0) {
		char *line = text, *end;
		text[retained + (size_t)length] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			check_mapping(shm, line);
		}
		retained = strlen(line);
		retained = retained < sizeof text - 1 ? retained : 0;
		memmove(text, line, retained);
	}
	if (fd >= 0)
		close(fd);
}

/* -- files by their name -- */

static void note_creators(struct system_shm *shm, const struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++) {
		size_t known = shm->creator_count < CREATORS_MAX ? shm->creator_count : CREATORS_MAX, at = 0;
		while (at < known && shm->creators[at] != target->members[i].pid)
			at++;
		if (at == known)
			shm->creators[shm->creator_count++ % CREATORS_MAX] = target->members[i].pid;
	}
}

/* Libraries name their files after the process that creates them: torch_PID_…, pym-PID-… (multiprocessing), loky-PID-…;
 * the first number is the pid, in the program's own namespace. */
static bool is_named_after_creator(const struct system_shm *shm, const char *name)
{
	size_t known = shm->creator_count < CREATORS_MAX ? shm->creator_count : CREATORS_MAX;
	while (*name && !isdigit((unsigned char)*name))
		name++;
	char *end;
	long pid = strtol(name, &end, 10);
	for (size_t i = 0; end > name && *end && i < known; i++)
		if (shm->creators[i] == pid)
			return true;
	return false;
}

/* A file that no process has open any more still uses memory until it is unlinked. */
static void check_folder(struct system_shm *shm, const struct target *target)
{
	DIR *folder = file_open_folder(target->members[0].directory_fd, "root" FOLDER);
	const struct dirent *entry;
	struct stat file;
	for (unsigned i = 0; folder && i < DESCRIPTORS_MAX && (entry = file_next(folder)); i++)
		if ((find(shm, entry->d_ino) || is_named_after_creator(shm, entry->d_name)) &&
			file_stat(dirfd(folder), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
			(find(shm, file.st_ino) || file.st_uid == target->uid))
			note(shm, file.st_ino, (double)file.st_blocks * 512);
	if (folder)
		closedir(folder);
}

static double forget_the_gone(struct system_shm *shm)
{
	double sum = 0;
	size_t retained = 0;
	for (size_t i = 0; i < shm->count; i++) {
		if (!shm->files[i].is_found)
			continue;
		sum += shm->files[i].bytes;
		shm->files[retained++] = shm->files[i];
	}
	shm->count = retained;
	return sum;
}

static int64_t pause_ns(int64_t cost_ns)
{
	int64_t wanted_ns = cost_ns * COST_WANTED < PAUSE_MAX_NS ? cost_ns * COST_WANTED : PAUSE_MAX_NS,
			min_ns = cost_ns * COST_MIN > PERIOD_NS ? cost_ns * COST_MIN : PERIOD_NS;
	return wanted_ns > min_ns ? wanted_ns : min_ns;
}

void system_shm_read(
	struct system_shm *shm, const struct target *target, double used_bytes, int64_t now_ns, struct sample_set *out)
{
	if (!shm || target->member_count == 0 || now_ns < shm->next_ns || fabs(used_bytes - shm->used_bytes) < CHANGE_BYTES)
		return;
	int64_t began_ns = clock_thread_cpu_ns();
	bool may_read = true;
	for (size_t i = 0; i < shm->count; i++)
		shm->files[i].is_found = false;
	for (size_t i = 0; i < target->member_count && may_read; i++) {
		may_read = check_descriptors(shm, &target->members[i]) || i > 0;
		check_maps(shm, &target->members[i]);
	}
	note_creators(shm, target);
	check_folder(shm, target);
	double own_bytes = forget_the_gone(shm);
	shm->next_ns = now_ns + pause_ns(clock_thread_cpu_ns() - began_ns);
	shm->used_bytes = used_bytes;
	if (may_read)
		sample_set_figure(out, now_ns, METRIC_SYSTEM_SHM_OWN, 0, fmin(own_bytes, used_bytes));
}
