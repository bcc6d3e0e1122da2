/* collectives_judge.h: who keeps the others waiting in a collective.
 *
 * A rank is behind if it has not entered a collective that others have. That is normal for a while: it is judged
 * (is_due) after the largest of 5 s, 10 times the group's median interval between collectives, and 1.5 times the
 * longest wait so far; in a group's first collectives, which wait for compilations and workers, and while the rank
 * works (at a validation, say) by its stacks, its process state or its steps, after 60 s (15 s if it executes the same
 * few lines all the time, and no operation of torch; 30 s if only one); if it writes a checkpoint or compiles, after
 * ten minutes. All have entered it, and it does not complete: the network or the devices are slow.
 *
 * At the end of a run rank 0 often goes on alone. So ranks that have ended are judged only if more than one other
 * lives, or if rank 0 is among those that have ended. */
#ifndef PMTOP_MODEL_COLLECTIVES_COLLECTIVES_JUDGE_H
#define PMTOP_MODEL_COLLECTIVES_COLLECTIVES_JUDGE_H

#include "src/model/code/code.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/collectives_pace.h"

enum collective_finding {
	COLLECTIVE_FINE,
	COLLECTIVE_SLOW,    /* all have entered it, and it has not completed */
	COLLECTIVE_ENDED,   /* ranks have ended, and the others, which live, enter no more */
	COLLECTIVE_BEHIND,  /* ranks have not entered what others have */
	COLLECTIVE_MISMATCH /* ranks entered different operations, or sizes, with the same number */
};

/* Of one group. Ranks are indexes into `ranks`. */
struct collective_judgement {
	enum collective_finding finding;
	size_t group;
	uint64_t sequence;   /* of the collective that is waited for */
	uint32_t op, odd_op; /* of the ranks that wait, and of the odd one (MISMATCH); index plus 1, 0 = unknown */
	size_t member_count, behind_count;
	/* those behind, or with another operation, or that have ended; of a slow one, those that are stopped or have ended
	 */
	uint8_t behind[COLLECTIVE_RANKS_MAX];
	size_t waiting;              /* the first rank that entered it */
	double waited_s, patience_s; /* NAN = unknown */
	enum code_phase phase;       /* of the first rank behind: CHECKPOINT, COMPILE, or OTHER */
	bool is_due;
};

/* NULL collectives: FINE. */
void collectives_judge_group(const struct model *model, size_t group, struct collective_judgement *out);
/* The judgement that matters most: a mismatch, else the rank that others wait for and that waits for no one itself. */
void collectives_judge(const struct model *model, struct collective_judgement *out);
/* When the first and the last member entered a collective, and the last one. False: not all have, or not retained. */
bool collectives_entered(
	const struct model *model, size_t group, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last);

#endif
