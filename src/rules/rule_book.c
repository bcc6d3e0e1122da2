#include "src/rules/rule_book.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/rules/reading/rule_file.h"
#include "src/rules/rule.h"
#include "src/rules/rule_builtin.h"
#include "src/settings/config_reader.h"
#include "src/settings/settings.h"

enum { FILES_MAX = 64, ARENA_BLOCK = 16384 };

struct arena_block {
	struct arena_block *before;
	size_t used, size;
	char room[];
};

void *rule_book_take(struct rule_book *book, size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15;
	struct arena_block *block = book->arena;
	if (!block || block->size - block->used < rounded) {
		size_t room = rounded > ARENA_BLOCK ? rounded : ARENA_BLOCK;
		block = calloc(1, sizeof *block + room);
		if (!block)
			return NULL;
		block->before = book->arena;
		block->size = room;
		book->arena = block;
	}
	void *allocated = block->room + block->used;
	block->used += rounded;
	return allocated;
}

const char *rule_book_keep(struct rule_book *book, const char *text)
{
	size_t size = strlen(text) + 1;
	char *retained = rule_book_take(book, size);
	return retained ? memcpy(retained, text, size) : NULL;
}

struct rule_book *rule_book_new(void)
{
	struct rule_book *book = calloc(1, sizeof *book);
	struct rule_source sources[FILES_MAX];
	size_t count = 0;
	if (!book)
		return NULL;
	for (const struct rule_builtin *source = rule_builtin; source->name && count < FILES_MAX; source++)
		sources[count++] = (struct rule_source){ source->name, source->text, strlen(source->text) };
	if (rule_files_read(book, sources, count, &book->faults[0]) != STATUS_OK)
		book->fault_count = 1;
	return book;
}

enum status rule_book_parse(
	struct rule_book *book, const char *name, const char *content, size_t length, struct reason *why_not)
{
	return rule_files_read(book, &(struct rule_source){ name, content, length }, 1, why_not);
}

double rule_book_level(const struct rule_book *book, const char *name)
{
	const struct rule *rule = rule_find(book, name);
	return rule ? rule->level : NAN;
}

void rule_book_free(struct rule_book *book)
{
	if (!book)
		return;
	for (struct arena_block *block = book->arena, *before; block; block = before) {
		before = block->before;
		free(block);
	}
	free(book);
}

enum status rule_book_load(struct rule_book *book, const char *path, struct reason *why_not)
{
	char name[CONFIG_NAME_SIZE], *content;
	size_t length;
	config_show_path(name, path);
	enum status status = config_load(path, name, &content, &length, why_not);
	if (status != STATUS_OK)
		return status;
	status = rule_book_parse(book, name, content, length, why_not);
	free(content);
	return status;
}

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

static bool is_rule_file(const char *name) { return name[0] != '.' && text_ends_with(name, ".yaml"); }

void rule_book_load_folder(struct rule_book *book, const char *folder)
{
	char *names[FILES_MAX], path[4200];
	size_t count = 0;
	DIR *directory = opendir(folder);
	if (!directory)
		return;
	for (struct dirent *entry; count < FILES_MAX && (entry = readdir(directory));)
		if (is_rule_file(entry->d_name) && (names[count] = strdup(entry->d_name)))
			count++;
	closedir(directory);
	qsort(names, count, sizeof names[0], by_name);
	for (size_t i = 0; i < count; i++) {
		struct reason why_not = { 0 };
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		if (rule_book_load(book, path, &why_not) != STATUS_OK && book->fault_count < RULE_FAULTS_MAX)
			book->faults[book->fault_count++] = why_not;
		free(names[i]);
	}
}

size_t rule_book_faults(const struct rule_book *book, const struct reason **faults)
{
	*faults = book->faults;
	return book->fault_count;
}

enum status rule_book_path(char *path, unsigned size)
{
	enum status status = settings_path(path, size);
	char *slash = status == STATUS_OK ? strrchr(path, '/') : NULL;
	if (!slash)
		return status;
	if ((size_t)(slash - path) + sizeof "/rules" > size)
		return STATUS_INVALID;
	strcpy(slash, "/rules");
	return STATUS_OK;
}

const struct rule *rule_find(const struct rule_book *book, const char *name)
{
	for (size_t i = 0; i < book->count; i++)
		if (strcmp(book->list[i]->name, name) == 0)
			return book->list[i];
	return NULL;
}

const char *rule_scope_name(enum rule_scope scope)
{
	static const char *const names[] = { [RULE_OF_MODEL] = "model", [RULE_OF_RUN] = "run", [RULE_OF_PHASE] = "phase" };
	return names[scope];
}
