/* cgroup.h: a cgroup of the trainer's own, v1 or v2, to be given less in. Needs the right to make one. */
#ifndef TRAINER_CGROUP_H
#define TRAINER_CGROUP_H

#include <stdbool.h>

enum cgroup_controller { CGROUP_CPU, CGROUP_MEMORY };

struct cgroup {
	bool is_v2;
	char parent[400], folder[480];
};

/* Makes it and moves this process into it. False: `why` (one line) says why not. */
bool cgroup_enter(struct cgroup *cgroup, enum cgroup_controller controller, char *why, unsigned long size);
/* CPUs; 0 = as many as there are. */
bool cgroup_limit_cpus(const struct cgroup *cgroup, double cpus);
/* Bytes of memory, page cache included; 0 = as much as there is. What is above is taken away before this returns, where
 * it can be. */
bool cgroup_limit_memory(const struct cgroup *cgroup, double bytes);
/* What it uses now, without the page cache; 0: not known. */
double cgroup_anonymous(const struct cgroup *cgroup);
void cgroup_leave(struct cgroup *cgroup);

#endif
