#include "src/sources/inferred/sums/stacks_tree.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 1024, OUTERMOST = 0 };

struct known_code {
	char *function, *file;
	bool is_own, is_emitted;
};

struct node {
	uint32_t parent; /* its number; 0 = outermost */
	uint32_t code;   /* index */
	uint32_t group;
	int line;
	const char *text; /* the source line; NULL = unknown */
	uint64_t time_ns, emitted_ns;
	bool is_no_grad; /* a forward without gradients */
	bool is_emitted;
};

/* A number is an index plus one. */
struct stacks_tree {
	size_t node_count, node_room, code_count, code_room, table_room;
	struct node *nodes;
	struct known_code *codes;
	uint32_t *table; /* hash table of nodes by parent, code, line and group; 0 = free */
};

struct stacks_tree *stacks_tree_new(void)
{
	struct stacks_tree *tree = calloc(1, sizeof *tree);
	if (tree) {
		tree->table_room = TABLE_FIRST;
		tree->table = calloc(tree->table_room, sizeof *tree->table);
	}
	if (tree && tree->table)
		return tree;
	free(tree);
	return NULL;
}

void stacks_tree_free(struct stacks_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->code_count; i++) {
		free(tree->codes[i].function);
		free(tree->codes[i].file);
	}
	free(tree->nodes);
	free(tree->codes);
	free(tree->table);
	free(tree);
}

/* -- codes -- */

/* A file that TorchInductor generated, in a cache folder of any name: FOLDER/xy/cxy….py, where cxy… is a long hash. */
static bool is_inductor_file(const char *file)
{
	enum { FOLDER_LENGTH = 2, HASH_LENGTH_MIN = 40 };
	const char *name = strrchr(file, '/');
	if (!name || name - file < FOLDER_LENGTH + 1 || name[-FOLDER_LENGTH - 1] != '/' || name[1] != 'c' ||
		strspn(name + 1, "abcdefghijklmnopqrstuvwxyz234567") < HASH_LENGTH_MIN)
		return false;
	return strncmp(name - FOLDER_LENGTH, name + 2, FOLDER_LENGTH) == 0;
}

/* Code without a file is generated ("<string>", "<eval_with_key>.3", "<frozen …>") unless a person typed it. */
static bool is_typed(const char *file)
{
	static const char *const consoles[] = { "<stdin>", "<ipython-input", "<console>", "<input>" };
	for (size_t i = 0; i < sizeof consoles / sizeof *consoles; i++)
		if (strncmp(file, consoles[i], strlen(consoles[i])) == 0)
			return true;
	return false;
}

/* The user's own code, judging by its path: neither installed packages, nor Python itself, nor generated code. */
bool stacks_tree_is_own_file(const char *file)
{
	static const char *const others[] = { "/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3.",
		"/pmtop/", "/pmtop_launch_hooks.py", "/pmtop_instrument.py", "/torchinductor_", "/torch_compile_debug/",
		"/.triton/cache/", "/__autograph_generated_file" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(file, others[i]))
			return false;
	return file[0] == '<' ? is_typed(file) : !is_inductor_file(file);
}

static bool grow(void **list, size_t *room, size_t count, size_t each, size_t max)
{
	if (count < *room)
		return true;
	size_t more = *room ? 2 * *room : 64;
	void *longer = count < max ? realloc(*list, more * each) : NULL;
	if (!longer)
		return false;
	*list = longer;
	*room = more;
	return true;
}

bool stacks_tree_is_own(const struct stacks_tree *tree, const struct py_known *known)
{
	return known->mark ? tree->codes[known->mark - 1].is_own : stacks_tree_is_own_file(known->code.file);
}

/* 0: there is no room. */
static uint32_t number_of_code(struct stacks_tree *tree, struct py_known *known)
{
	if (known->mark)
		return known->mark;
	size_t at = 0;
	while (at < tree->code_count &&
		(strcmp(tree->codes[at].function, known->code.function) != 0 ||
			strcmp(tree->codes[at].file, known->code.file) != 0))
		at++;
	if (at == tree->code_count) {
		if (!grow((void **)&tree->codes, &tree->code_room, tree->code_count, sizeof *tree->codes, STACKS_CODES_MAX))
			return 0;
		struct known_code code = { .function = strdup(known->code.function),
			.file = strdup(known->code.file),
			.is_own = stacks_tree_is_own_file(known->code.file) };
		if (!code.function || !code.file) {
			free(code.function);
			free(code.file);
			return 0;
		}
		tree->codes[tree->code_count++] = code;
	}
	known->mark = (uint32_t)at + 1;
	return known->mark;
}

/* -- nodes -- */

static size_t slot_of(const struct stacks_tree *tree, const struct node *wanted)
{
	uint64_t hash = (uint64_t)wanted->parent * UINT64_C(0x9e3779b97f4a7c15) ^
		((uint64_t)wanted->code << 32 | (uint32_t)wanted->line) * UINT64_C(0xff51afd7ed558ccd) ^ wanted->group;
	size_t at = (size_t)(hash ^ hash >> 29) & (tree->table_room - 1);
	for (; tree->table[at]; at = (at + 1) & (tree->table_room - 1)) {
		const struct node *node = &tree->nodes[tree->table[at] - 1];
		if (node->parent == wanted->parent && node->code == wanted->code && node->line == wanted->line &&
			node->group == wanted->group && node->is_no_grad == wanted->is_no_grad)
			break;
	}
	return at;
}

static bool grow_table(struct stacks_tree *tree)
{
	if (2 * tree->node_count < tree->table_room)
		return true;
	uint32_t *table = calloc(2 * tree->table_room, sizeof *table);
	if (!table)
		return false;
	free(tree->table);
	tree->table = table;
	tree->table_room *= 2;
	for (size_t i = 0; i < tree->node_count; i++)
		tree->table[slot_of(tree, &tree->nodes[i])] = (uint32_t)i + 1;
	return true;
}

/* 0: there is no room. */
static uint32_t child_of(struct stacks_tree *tree, uint32_t group, uint32_t parent, const struct py_site *site,
	const char *text, bool is_no_grad)
{
	uint32_t number = number_of_code(tree, site->known);
	if (!number || !grow_table(tree))
		return 0;
	const struct node new = {
		.parent = parent, .code = number - 1, .group = group, .line = site->line, .text = text, .is_no_grad = is_no_grad
	};
	size_t at = slot_of(tree, &new);
	if (tree->table[at])
		return tree->table[at];
	if (!grow((void **)&tree->nodes, &tree->node_room, tree->node_count, sizeof *tree->nodes, STACKS_NODES_MAX))
		return 0;
	tree->nodes[tree->node_count] = new;
	tree->table[at] = (uint32_t)++tree->node_count;
	return tree->table[at];
}

/* A forked DataLoader worker also has the frames of its parent, which it will never return to: they are left out.
 * Returns the number of the remaining frames. */
static size_t cut_above_worker(const struct py_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		if (strcmp(sample->sites[i].known->code.function, "_worker_loop") == 0 &&
			strstr(sample->sites[i].known->code.file, "torch/utils/data/_utils/worker.py"))
			return i + 1;
	return sample->count;
}

uint32_t stacks_tree_add(struct stacks_tree *tree, uint32_t group, const struct py_sample *sample,
	const char *const *texts, size_t no_grad, uint64_t time_ns)
{
	uint32_t node = OUTERMOST;
	for (size_t i = cut_above_worker(sample); i > 0; i--) {
		uint32_t child = child_of(tree, group, node, &sample->sites[i - 1], texts[i - 1], i - 1 == no_grad);
		if (!child)
			break;
		node = child;
	}
	if (node != OUTERMOST)
		tree->nodes[node - 1].time_ns += time_ns;
	return node;
}

uint32_t stacks_tree_line(struct stacks_tree *tree, uint32_t group, const struct py_site *site, const char *text)
{
	return child_of(tree, group, OUTERMOST, site, text, false);
}

/* -- output -- */

static void emit_code(const struct stacks_tree *tree, size_t i, int64_t now_ns, struct sample_set *out)
{
	const struct known_code *code = &tree->codes[i];
	struct record *record = sample_set_add(out, RECORD_CODE, 0, now_ns);
	if (!record)
		return;
	record->code.id = (uint32_t)i + 1;
	record->code.is_own = code->is_own;
	record->code.function = sample_set_text(out, code->function, strlen(code->function));
	record->code.file = sample_set_text(out, code->file, strlen(code->file));
}

static void emit_node(const struct stacks_tree *tree, size_t i, int64_t now_ns, struct sample_set *out)
{
	const struct node *node = &tree->nodes[i];
	struct record *record = sample_set_add(out, RECORD_CODE_NODE, 0, now_ns);
	if (!record)
		return;
	record->code_node.id = (uint32_t)i + 1;
	record->code_node.parent = node->parent;
	record->code_node.group = node->group;
	record->code_node.code = node->code + 1;
	record->code_node.line = (uint32_t)node->line;
	record->code_node.is_no_grad = node->is_no_grad;
	record->code_node.text = node->text ? sample_set_text(out, node->text, strlen(node->text)) : NULL;
}

static void emit_time(const struct node *node, size_t i, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_CODE_TIME, 0, now_ns);
	if (!record)
		return;
	record->code_time.id = (uint32_t)i + 1;
	record->code_time.total_ns = node->emitted_ns;
}

void stacks_tree_emit(struct stacks_tree *tree, int64_t now_ns, bool again, struct sample_set *out)
{
	for (size_t i = 0; i < tree->code_count; i++) {
		if (tree->codes[i].is_emitted == again)
			emit_code(tree, i, now_ns, out);
		tree->codes[i].is_emitted |= !again;
	}
	for (size_t i = 0; i < tree->node_count; i++) {
		struct node *node = &tree->nodes[i];
		if (node->is_emitted == again)
			emit_node(tree, i, now_ns, out);
		node->is_emitted |= !again;
		bool has_grown = node->time_ns != node->emitted_ns;
		if (!again)
			node->emitted_ns = node->time_ns;
		if (again ? node->emitted_ns > 0 : has_grown)
			emit_time(node, i, now_ns, out);
	}
}
