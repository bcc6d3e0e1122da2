/* stacks_tree.h: samples of stacks as a tree: a node is a line of Python called from its parent's line, and holds
 * the time in which it was the innermost.
 *
 * One thread adds; another may emit if a lock protects stacks_tree_add and stacks_tree_emit. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_TREE_H
#define PMTOP_SOURCES_INFERRED_STACKS_TREE_H

#include "src/samples/sample_set.h"
#include "src/sources/python/py_sampler.h"

/* If there are more nodes, time goes to the innermost line that has a node. */
enum { STACKS_NODES_MAX = 16384, STACKS_CODES_MAX = 8192 };

struct stacks_tree;

struct stacks_tree *stacks_tree_new(void);
void stacks_tree_free(struct stacks_tree *tree);
/* Whether it is the user's own code, judging by its path: neither installed packages, nor Python itself, nor generated
 * code. */
bool stacks_tree_is_own_file(const char *file);
/* As above. Called by the thread that adds. */
bool stacks_tree_is_own(const struct stacks_tree *tree, const struct py_known *known);
/* Adds a sample of a thread in this group with the time that it represents; of a DataLoader worker, the frames from its
 * loop on. texts: the source line of each site, NULL = unknown; they must outlive the tree. no_grad: the site that is a
 * forward without gradients; sample->count: none. Returns the id of the innermost node; 0 = none. */
uint32_t stacks_tree_add(struct stacks_tree *tree, uint32_t group, const struct py_sample *sample,
	const char *const *texts, size_t no_grad, uint64_t time_ns);
/* The node of a line without its callers, for other threads than the main one; it holds no time. 0 = none. */
uint32_t stacks_tree_line(struct stacks_tree *tree, uint32_t group, const struct py_site *site, const char *text);
/* Emits what is new since the last call (CODE, CODE_NODE, CODE_TIME); with `again`, all that was emitted before,
 * with the same values. */
void stacks_tree_emit(struct stacks_tree *tree, int64_t now_ns, bool again, struct sample_set *out);

#endif
