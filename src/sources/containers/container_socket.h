/* container_socket.h: asks Docker or Podman on its socket for the id and the pid of a container. */
#ifndef PMTOP_SOURCES_CONTAINERS_CONTAINER_SOCKET_H
#define PMTOP_SOURCES_CONTAINERS_CONTAINER_SOCKET_H

#include "src/sources/containers/container_private.h"

/* Waits at most two seconds for each step of the exchange. */
void container_ask_socket(struct container_search *search);

#endif
