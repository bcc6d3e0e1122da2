/* region_workers.h: the DataLoader workers among the target's members, by their small regions. */
#ifndef PMTOP_SOURCES_REGION_REGION_WORKERS_H
#define PMTOP_SOURCES_REGION_REGION_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/region/reader.h"
#include "src/samples/sample_set.h"
#include "src/sources/target/target.h"

enum { REGION_WORKERS_MAX = 160 };

struct region_workers;

/* NULL when out of memory, which all calls accept. */
struct region_workers *region_workers_new(void);
void region_workers_free(struct region_workers *workers);
/* Takes ownership of `region` of `member` and reads it until that process ends. Closes it if there is no room. */
void region_workers_add(struct region_workers *workers, struct region *region, const struct target_member *member);
/* Whether the member is a known worker; its other regions are not searched. */
bool region_workers_has(const struct region_workers *workers, const struct target_member *member);
void region_workers_read(
	struct region_workers *workers, const struct target *target, int64_t now_ns, struct sample_set *out);

/* Emits all current rows. */
void region_workers_emit_all(struct region_workers *workers, int64_t now_ns, struct sample_set *out);

#endif
