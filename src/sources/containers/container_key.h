/* container_key.h: what the cgroups of a container or a pod are searched for. */
#ifndef PMTOP_SOURCES_CONTAINERS_CONTAINER_KEY_H
#define PMTOP_SOURCES_CONTAINERS_CONTAINER_KEY_H

#include "src/sources/containers/container_private.h"

/* Returns the new key, to be completed; NULL: no room, or no key (too long, too short). */
struct container_key *container_add_key(struct container_search *search, const char *prefix, const char *text);

#endif
