/* collectives_view.h: the members of one process group and how far they are, for its judgement and its pace. */
#ifndef PMTOP_MODEL_COLLECTIVES_COLLECTIVES_VIEW_H
#define PMTOP_MODEL_COLLECTIVES_COLLECTIVES_VIEW_H

#include "src/model/collectives/collectives.h"

struct collectives_view {
	const struct model *model;
	const struct collectives *all;
	const struct collective_group *group;
	size_t count;
	uint8_t members[COLLECTIVE_RANKS_MAX];
	int64_t min_enqueued, max_enqueued, min_completed, max_completed;
};

/* False: the group is not used, all its members have ended, or it has only one. */
bool collectives_view(const struct model *model, size_t group, struct collectives_view *out);
/* What a rank has entered, and completed. */
int64_t collectives_view_entered(const struct collectives_view *view, size_t rank);
/* When the first and the last member entered a collective. False: not all have, or it is not retained. */
bool collectives_view_times(
	const struct collectives_view *view, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last);

#endif
