#include "src/sources/containers/container.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/sources/containers/container_files.h"
#include "src/sources/containers/container_key.h"
#include "src/sources/containers/container_private.h"
#include "src/sources/containers/container_socket.h"
#include "src/sources/proc/environment.h"
#include "src/sources/proc/proc_file.h"

enum { CGROUP_SIZE = 16 * 1024 };

static const struct {
	const char *prefix, *what;
} kinds[] = {
	[CONTAINER_DOCKER] = { "docker:", "Docker" },
	[CONTAINER_PODMAN] = { "podman:", "Podman" },
	[CONTAINER_POD] = { "pod/", "Kubernetes" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const char *text)
{
	for (int i = 0; i < KINDS; i++)
		if (strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return i;
	return -1;
}

bool container_is_name(const char *text) { return kind_of(text) >= 0; }

/* What the runtimes allow; so a name is harmless in a path, a request and a shell. */
static bool is_name(const char *name)
{
	return isalnum((unsigned char)name[0]) &&
		!name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")];
}

static bool read_name(const char *text, struct container_search *search)
{
	int kind = kind_of(text);
	search->kind = kind < 0 ? CONTAINER_POD : (enum container_kind)kind;
	const char *name = kind < 0 ? text : text + strlen(kinds[kind].prefix), *slash = strchr(name, '/');
	if (slash && search->kind != CONTAINER_POD)
		return false;
	if (slash)
		snprintf(search->space, sizeof search->space, "%.*s", (int)(slash - name), name);
	snprintf(search->name, sizeof search->name, "%s", slash ? slash + 1 : name);
	return strlen(text) < CONTAINER_NAME_SIZE && is_name(search->name) && (!slash || is_name(search->space));
}

/* -- processes -- */

/* A key follows the / of a folder or the - of a prefix, such as "docker-". */
static bool has_key(const char *cgroups, const char *key)
{
	for (const char *at = strstr(cgroups, key); at; at = strstr(at + 1, key))
		if (at > cgroups && (at[-1] == '/' || at[-1] == '-'))
			return true;
	return false;
}

struct scan {
	const struct container_search *search;
	struct container *out;
	uint64_t first_ticks;
	char cgroups[CGROUP_SIZE];
	const struct container_key *key; /* of the process found last */
	bool has_several;                /* pods of different namespaces */
};

static bool is_member(struct scan *scan, int process_fd)
{
	const struct container_search *search = scan->search;
	size_t length;
	if (file_read(process_fd, "cgroup", scan->cgroups, sizeof scan->cgroups, &length) != STATUS_OK)
		return false;
	/* systemd's driver of cgroups writes _ for - in a pod's uid. */
	for (char *c = scan->cgroups; *c; c++)
		*c = *c == '_' ? '-' : *c;
	for (size_t i = 0; i < search->key_count; i++)
		if (has_key(scan->cgroups, search->keys[i].text)) {
			scan->has_several |= scan->key && strcmp(scan->key->space, search->keys[i].space) != 0;
			scan->key = &search->keys[i];
			return true;
		}
	if (search->key_count || search->kind != CONTAINER_POD || !strstr(scan->cgroups, "kubepods"))
		return false;
	struct variable host = { .name = "HOSTNAME" };
	environment_read(process_fd, &host, 1);
	return host.is_set && strcmp(host.value, search->name) == 0;
}

static bool has_pid(const struct container *container, pid_t pid)
{
	for (size_t i = 0; i < container->count; i++)
		if (container->pids[i] == pid)
			return true;
	return false;
}

static void scan_process(struct scan *scan, int proc_fd, const char *pid)
{
	char text[4096];
	size_t length;
	struct proc_stat stat;
	int fd = file_open(proc_fd, pid, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return;
	/* The container that holds a pod's network has nothing to watch. */
	if (is_member(scan, fd) && file_read(fd, "stat", text, sizeof text, &length) == STATUS_OK &&
		proc_stat_parse(text, length, &stat) && strcmp(stat.comm, "pause") != 0 &&
		scan->out->count < CONTAINER_PIDS_MAX) {
		struct container *out = scan->out;
		out->pids[out->count++] = (pid_t)text_count(pid);
		if (!out->first || stat.start_ticks < scan->first_ticks) {
			out->first = out->pids[out->count - 1];
			scan->first_ticks = stat.start_ticks;
		}
	}
	close(fd);
}

static void scan_processes(struct scan *scan)
{
	struct dirent *entry;
	DIR *proc = file_open_folder(AT_FDCWD, scan->search->roots->proc);
	while (proc && (entry = file_next(proc)))
		if (text_count(entry->d_name) > 0)
			scan_process(scan, dirfd(proc), entry->d_name);
	if (proc)
		closedir(proc);
	/* What the runtime says itself; also where cgroups do not show the id. */
	for (size_t i = 0; i < scan->search->key_count; i++) {
		pid_t pid = scan->search->keys[i].pid;
		if (!pid)
			continue;
		scan->out->first = pid;
		if (!has_pid(scan->out, pid) && scan->out->count < CONTAINER_PIDS_MAX)
			scan->out->pids[scan->out->count++] = pid;
	}
}

/* -- result -- */

static enum status refuse(const struct container_search *search, struct reason *why_not)
{
	enum status status = search->is_denied ? STATUS_DENIED : STATUS_NOT_FOUND;
	const char *name = search->name, *client = search->kind == CONTAINER_DOCKER ? "docker" : "podman";
	char remedy[sizeof why_not->remedy];
	if (search->kind == CONTAINER_POD)
		snprintf(remedy, sizeof remedy,
			"on its node (kubectl get pod %.63s -o wide) run pmtop as root, or in it: kubectl exec -it %.63s -- pmtop",
			name, name);
	else
		snprintf(remedy, sizeof remedy, "%spmtop -p $(%s inspect -f '{{.State.Pid}}' %.63s)",
			search->is_denied ? "run pmtop as root, or " : "", client, name);
	if (search->key_count)
		return reason_set(why_not, status, remedy, "%.63s has no process that pmtop can see", name);
	return reason_set(why_not, status, remedy,
		search->is_denied ? "the files of %s are not readable: no %s %.63s found" : "%s has no %s %.63s here",
		kinds[search->kind].what, search->kind == CONTAINER_POD ? "pod" : "container", name);
}

enum status container_find(
	const struct container_roots *roots, const char *text, struct container *out, struct reason *why_not)
{
	struct container_search *search = calloc(1, sizeof *search);
	struct scan *scan = calloc(1, sizeof *scan);
	enum status status = STATUS_OK;
	if (!search || !scan) {
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		goto out;
	}
	search->roots = roots;
	if (!read_name(text, search)) {
		status = reason_set(why_not, STATUS_INVALID, "docker:NAME, podman:NAME, pod/NAME or NAMESPACE/NAME",
			"no container can have this name");
		goto out;
	}
	*out = (struct container){ 0 };
	container_read_files(search);
	if (search->key_count == 0)
		container_ask_socket(search);
	/* Podman and Docker take an id for a name. */
	if (search->key_count == 0 && search->kind != CONTAINER_POD &&
		!search->name[strspn(search->name, "0123456789abcdef")])
		container_add_key(search, "", search->name);
	*scan = (struct scan){ .search = search, .out = out };
	scan_processes(scan);
	out->is_certain = search->key_count > 0;
	if (out->count == 0)
		status = refuse(search, why_not);
	else if (scan->has_several)
		status = reason_set(why_not, STATUS_INVALID, "pod/NAMESPACE/NAME names one of them",
			"pods of several namespaces are named %.63s", search->name);
out:
	free(search);
	free(scan);
	return status;
}
