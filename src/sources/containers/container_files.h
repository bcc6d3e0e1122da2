/* container_files.h: ids of containers and pods by name, from the files of Docker, Podman, containerd and the kubelet.
 */
#ifndef PMTOP_SOURCES_CONTAINERS_CONTAINER_FILES_H
#define PMTOP_SOURCES_CONTAINERS_CONTAINER_FILES_H

#include "src/sources/containers/container_private.h"

void container_read_files(struct container_search *search);

#endif
