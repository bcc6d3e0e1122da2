/* container_private.h: what the files of src/sources/containers share. */
#ifndef PMTOP_SOURCES_CONTAINERS_CONTAINER_PRIVATE_H
#define PMTOP_SOURCES_CONTAINERS_CONTAINER_PRIVATE_H

#include "src/base/formats/json_tree.h"
#include "src/sources/containers/container.h"

enum { CONTAINER_NAME_SIZE = 256, CONTAINER_KEYS_MAX = 64, CONTAINER_KEY_SIZE = 72, CONTAINER_PATH_SIZE = 4096 };

enum container_kind { CONTAINER_DOCKER, CONTAINER_PODMAN, CONTAINER_POD };

/* A container's id or "pod" and a pod's uid, as a cgroup's path has it (with - for _). */
struct container_key {
	char text[CONTAINER_KEY_SIZE];
	char space[CONTAINER_NAME_SIZE]; /* the pod's namespace */
	pid_t pid;                       /* of its first process, as the runtime says; 0 = unknown */
};

struct container_search {
	const struct container_roots *roots;
	enum container_kind kind;
	char space[CONTAINER_NAME_SIZE], name[CONTAINER_NAME_SIZE]; /* the namespace may be empty */
	struct container_key keys[CONTAINER_KEYS_MAX];
	size_t key_count;
	bool is_denied; /* a file or socket exists that this user may not read */
};

#endif
