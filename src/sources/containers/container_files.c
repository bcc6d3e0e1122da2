#include "src/sources/containers/container_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/containers/container_key.h"

enum { FILE_SIZE = 1 << 20 };

/* A JSON file of at most 1 MiB; NULL: none. */
static struct json_tree *read_json(struct container_search *search, const char *path)
{
	struct json_tree *tree = NULL;
	struct reason reason;
	char *text = malloc(FILE_SIZE);
	size_t length;
	enum status status = text ? file_read(AT_FDCWD, path, text, FILE_SIZE, &length) : STATUS_NO_MEMORY;
	if (status == STATUS_DENIED)
		search->is_denied = true;
	if (status == STATUS_OK)
		json_tree_read(text, length, &tree, &reason);
	free(text);
	return tree;
}

static DIR *open_folder(struct container_search *search, const char *path)
{
	DIR *folder = file_open_folder(AT_FDCWD, path);
	if (!folder && (errno == EACCES || errno == EPERM))
		search->is_denied = true;
	return folder;
}

/* -- Docker -- */

static void read_docker_container(struct container_search *search, const char *folder, const char *id)
{
	char path[CONTAINER_PATH_SIZE];
	if ((size_t)snprintf(path, sizeof path, "%s/%s/config.v2.json", folder, id) >= sizeof path)
		return;
	struct json_tree *tree = read_json(search, path);
	const char *name = tree ? json_member_text(json_tree_root(tree), "Name") : NULL;
	if (name && strcmp(name + (name[0] == '/'), search->name) == 0)
		container_add_key(search, "", id);
	json_tree_free(tree);
}

static void read_docker(struct container_search *search)
{
	char path[CONTAINER_PATH_SIZE];
	struct dirent *entry;
	snprintf(path, sizeof path, "%s/var/lib/docker/containers", search->roots->root);
	DIR *folder = open_folder(search, path);
	while (folder && (entry = file_next(folder)))
		if (entry->d_name[0] != '.')
			read_docker_container(search, path, entry->d_name);
	if (folder)
		closedir(folder);
}

/* -- Podman -- */

static void read_podman_list(struct container_search *search, const char *storage)
{
	static const char *const drivers[] = { "overlay", "vfs" };
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		char path[CONTAINER_PATH_SIZE];
		if ((size_t)snprintf(path, sizeof path, "%s/%s-containers/containers.json", storage, drivers[i]) >= sizeof path)
			continue;
		struct json_tree *tree = read_json(search, path);
		const struct json_value *row = tree ? json_tree_root(tree)->first : NULL;
		for (; row; row = row->next) {
			const struct json_value *names = json_member(row, "names", JSON_ARRAY);
			for (const struct json_value *name = names ? names->first : NULL; name; name = name->next)
				if (name->text && strcmp(name->text, search->name) == 0)
					container_add_key(search, "", json_member_text(row, "id"));
		}
		json_tree_free(tree);
	}
}

static void read_podman(struct container_search *search)
{
	char path[CONTAINER_PATH_SIZE];
	snprintf(path, sizeof path, "%s/var/lib/containers/storage", search->roots->root);
	read_podman_list(search, path);
	if (search->roots->home) {
		snprintf(path, sizeof path, "%s%s/.local/share/containers/storage", search->roots->root, search->roots->home);
		read_podman_list(search, path);
	}
}

/* -- pods -- */

static bool is_pod(const struct container_search *search, const char *space, const char *name)
{
	return space && name && strcmp(name, search->name) == 0 && (!search->space[0] || strcmp(space, search->space) == 0);
}

/* The kubelet's folders: NAMESPACE_NAME_UID. */
static void read_pod_logs(struct container_search *search)
{
	char path[CONTAINER_PATH_SIZE], name[CONTAINER_NAME_SIZE];
	struct dirent *entry;
	snprintf(path, sizeof path, "%s/var/log/pods", search->roots->root);
	DIR *folder = open_folder(search, path);
	while (folder && (entry = file_next(folder))) {
		snprintf(name, sizeof name, "%s", entry->d_name);
		char *pod = strchr(name, '_'), *uid = pod ? strchr(pod + 1, '_') : NULL;
		if (!uid)
			continue;
		*pod++ = '\0';
		*uid++ = '\0';
		struct container_key *key = is_pod(search, name, pod) ? container_add_key(search, "pod", uid) : NULL;
		if (key)
			snprintf(key->space, sizeof key->space, "%s", name);
	}
	if (folder)
		closedir(folder);
}

/* containerd's bundle of a container, whose annotations name its pod. */
static void read_bundle(struct container_search *search, const char *folder, const char *id)
{
	static const char *const names[][2] = {
		{ "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name" },
		{ "io.kubernetes.pod.namespace", "io.kubernetes.pod.name" },
	};
	char path[CONTAINER_PATH_SIZE];
	if ((size_t)snprintf(path, sizeof path, "%s/%s/config.json", folder, id) >= sizeof path)
		return;
	struct json_tree *tree = read_json(search, path);
	const struct json_value *annotations = tree ? json_member(json_tree_root(tree), "annotations", JSON_OBJECT) : NULL;
	for (size_t i = 0; annotations && i < sizeof names / sizeof *names; i++) {
		const char *space = json_member_text(annotations, names[i][0]);
		if (!is_pod(search, space, json_member_text(annotations, names[i][1])))
			continue;
		struct container_key *key = container_add_key(search, "", id);
		if (key)
			snprintf(key->space, sizeof key->space, "%s", space);
		break;
	}
	json_tree_free(tree);
}

static void read_bundles(struct container_search *search)
{
	char path[CONTAINER_PATH_SIZE];
	struct dirent *entry;
	snprintf(path, sizeof path, "%s/run/containerd/io.containerd.runtime.v2.task/k8s.io", search->roots->root);
	DIR *folder = open_folder(search, path);
	while (folder && (entry = file_next(folder)))
		if (entry->d_name[0] != '.')
			read_bundle(search, path, entry->d_name);
	if (folder)
		closedir(folder);
}

void container_read_files(struct container_search *search)
{
	switch (search->kind) {
	case CONTAINER_DOCKER: read_docker(search); break;
	case CONTAINER_PODMAN: read_podman(search); break;
	case CONTAINER_POD:
		read_pod_logs(search);
		if (search->key_count == 0)
			read_bundles(search);
		break;
	}
}
