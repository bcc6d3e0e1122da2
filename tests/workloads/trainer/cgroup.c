#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERIOD_US = 100000 };

static const char *const names[] = { "cpu", "memory" };

static bool put(const char *folder, const char *file, const char *text)
{
	char path[640];
	int fd;
	bool good;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/* ",rw,cpu,cpuacct," holds "cpu". */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length] || at[length] == '\n'))
			return true;
	return false;
}

/* Where the controller is mounted; v1 before v2, for a controller is only ever in one of them. */
static bool find_mount(const char *name, char *mount, size_t size, bool *is_v2)
{
	char line[1024], at[200], type[64], options[400];
	bool found = false;
	FILE *file = fopen("/proc/self/mounts", "r");

	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%*s %199s %63s %399s", at, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup") == 0 && has_word(options, name)) {
			snprintf(mount, size, "%s", at);
			*is_v2 = false;
			found = true;
			break;
		}
		if (strcmp(type, "cgroup2") == 0) {
			snprintf(mount, size, "%s", at);
			*is_v2 = found = true;
		}
	}
	if (file)
		fclose(file);
	return found;
}

/* Lines of /proc/self/cgroup: "4:memory:/a/b", "0::/a/b". */
static bool find_own(const char *name, bool is_v2, char *own, size_t size)
{
	char line[640], controllers[200];
	bool found = false;
	FILE *file = fopen("/proc/self/cgroup", "r");

	while (file && !found && fgets(line, sizeof line, file)) {
		char *path = strchr(line, '/');

		if (!path || sscanf(line, "%*d:%199[^:]", controllers) != 1)
			controllers[0] = '\0';
		found = path && (is_v2 ? strncmp(line, "0::", 3) == 0 : has_word(controllers, name));
		if (found) {
			path[strcspn(path, "\n")] = '\0';
			snprintf(own, size, "%s", path);
		}
	}
	if (file)
		fclose(file);
	return found;
}

bool cgroup_enter(struct cgroup *cgroup, enum cgroup_controller controller, char *why, unsigned long size)
{
	const char *name = names[controller];
	char mount[200], own[200], word[16], pid[16];

	snprintf(why, size, "no cgroup with the controller %s here", name);
	if (!find_mount(name, mount, sizeof mount, &cgroup->is_v2) || !find_own(name, cgroup->is_v2, own, sizeof own))
		return false;
	snprintf(cgroup->parent, sizeof cgroup->parent, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
	snprintf(cgroup->folder, sizeof cgroup->folder, "%s/trainer.%d", cgroup->parent, (int)getpid());
	snprintf(word, sizeof word, "+%s", name);
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	if (cgroup->is_v2)
		put(cgroup->parent, "cgroup.subtree_control", word);
	if (mkdir(cgroup->folder, 0755) != 0 || !put(cgroup->folder, "cgroup.procs", pid)) {
		snprintf(why, size, "%.200s: %s", cgroup->folder, strerror(errno));
		rmdir(cgroup->folder);
		cgroup->folder[0] = '\0';
		return false;
	}
	if (controller == CGROUP_CPU ? cgroup_limit_cpus(cgroup, 0) : cgroup_limit_memory(cgroup, 0))
		return true;
	snprintf(why, size, "%.200s takes no limit", cgroup->folder);
	cgroup_leave(cgroup);
	return false;
}

bool cgroup_limit_cpus(const struct cgroup *cgroup, double cpus)
{
	char text[64];

	if (cgroup->is_v2) {
		if (cpus > 0)
			snprintf(text, sizeof text, "%.0f %d", cpus * PERIOD_US, PERIOD_US);
		else
			snprintf(text, sizeof text, "max %d", PERIOD_US);
		return put(cgroup->folder, "cpu.max", text);
	}
	snprintf(text, sizeof text, "%.0f", cpus > 0 ? cpus * PERIOD_US : -1);
	if (cpus > 0 && !put(cgroup->folder, "cpu.cfs_period_us", "100000"))
		return false;
	return put(cgroup->folder, "cpu.cfs_quota_us", text);
}

bool cgroup_limit_memory(const struct cgroup *cgroup, double bytes)
{
	char text[64];

	if (bytes > 0)
		snprintf(text, sizeof text, "%.0f", bytes);
	else
		snprintf(text, sizeof text, cgroup->is_v2 ? "max" : "-1");
	return put(cgroup->folder, cgroup->is_v2 ? "memory.high" : "memory.limit_in_bytes", text);
}

double cgroup_anonymous(const struct cgroup *cgroup)
{
	char path[640], key[64];
	double value, found = 0;
	FILE *file;

	snprintf(path, sizeof path, "%s/memory.stat", cgroup->folder);
	file = fopen(path, "r");
	while (file && fscanf(file, "%63s %lf", key, &value) == 2)
		if (strcmp(key, cgroup->is_v2 ? "anon" : "rss") == 0)
			found = value;
	if (file)
		fclose(file);
	return found;
}

void cgroup_leave(struct cgroup *cgroup)
{
	char pid[16];

	if (!cgroup->folder[0])
		return;
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	put(cgroup->parent, "cgroup.procs", pid);
	rmdir(cgroup->folder);
	cgroup->folder[0] = '\0';
}
