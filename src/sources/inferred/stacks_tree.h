/* stacks_tree.h: what was seen of stacks, as a tree: a node is a line of Python that was called from its parent's, and
 * holds the time in which it was the innermost.
 *
 * One thread adds; another may tell meanwhile where a lock lies around stacks_tree_add and stacks_tree_emit. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_TREE_H
#define PMTOP_SOURCES_INFERRED_STACKS_TREE_H

#include "src/samples/sample_set.h"
#include "src/sources/python/py_sampler.h"

/* Beyond so many, time goes to the innermost line that has a place. */
enum { STACKS_NODES_MAX = 16384, STACKS_CODES_MAX = 8192 };

struct stacks_tree;

struct stacks_tree *stacks_tree_new(void);
void stacks_tree_free(struct stacks_tree *tree);
/* Whether a person has written it, as far as its path tells: not what was installed, nor Python's own. By the thread
 * that adds. */
bool stacks_tree_is_own(const struct stacks_tree *tree, const struct py_known *known);
/* One look at a thread of this group, for so long as it stands for. texts: what stands in the line of each site, NULL =
 * not known; they outlive the tree. */
void stacks_tree_add(struct stacks_tree *tree, uint32_t group, const struct py_sample *sample, const char *const *texts,
	uint64_t time_ns);
bool stacks_tree_is_full(const struct stacks_tree *tree);
/* Appends what is new since the last call (CODE, CODE_NODE, CODE_TIME); with `again` all that was told before, as it
 * was told. */
void stacks_tree_emit(struct stacks_tree *tree, int64_t now_ns, bool again, struct sample_set *out);

#endif
