/* ras_words.h: what NCCL's RAS service says of the job's ranks, in one sentence, for the screen, lines, reports and
 * warnings. */
#ifndef PMTOP_EXPLAIN_RAS_WORDS_H
#define PMTOP_EXPLAIN_RAS_WORDS_H

#include "src/explain/collective_words.h"
#include "src/model/collectives/ras_judge.h"

/* "rank 9 on 10.0.0.8 has launched 230 AllReduce, others 231; no rank has moved for 35 s", "rank 5 on 10.0.0.7 is dead,
 * as NCCL sees it"; empty if all is well. */
const char *ras_words(
	const struct model *model, const struct ras_judgement *judgement, char out[COLLECTIVE_WORDS_SIZE]);
/* "rank 9 on 10.0.0.8", or "process 4711 on 10.0.0.8" if its number in the job is unknown. */
const char *ras_rank_words(const struct ras *ras, const struct ras_rank *rank, char *out, size_t size);
/* "AllReduce" */
const char *ras_op_name(enum ras_op op);
const char *ras_state_name(enum ras_state state);

#endif
