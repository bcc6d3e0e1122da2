#include "src/explain/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -- kind of a phase, from its name -- */

static const struct {
	const char *word;
	enum phase_kind kind;
} kind_words[] = {
	{ "data", PHASE_DATA },
	{ "dataset", PHASE_DATA },
	{ "dataloader", PHASE_DATA },
	{ "dataloading", PHASE_DATA },
	{ "loader", PHASE_DATA },
	{ "load", PHASE_DATA },
	{ "loading", PHASE_DATA },
	{ "fetch", PHASE_DATA },
	{ "prefetch", PHASE_DATA },
	{ "forward", PHASE_FORWARD },
	{ "fwd", PHASE_FORWARD },
	{ "inference", PHASE_INFERENCE },
	{ "backward", PHASE_BACKWARD },
	{ "bwd", PHASE_BACKWARD },
	{ "backprop", PHASE_BACKWARD },
	{ "optimizer", PHASE_OPTIMIZER },
	{ "optimiser", PHASE_OPTIMIZER },
	{ "optim", PHASE_OPTIMIZER },
};

static enum phase_kind kind_of_word(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
		if (strlen(kind_words[i].word) == length && strncasecmp(kind_words[i].word, word, length) == 0)
			return kind_words[i].kind;
	return PHASE_OTHER;
}

enum phase_kind phase_kind(const struct run *run, uint32_t name)
{
	enum phase_kind kind = PHASE_OTHER;
	const char *word = run_name(run, name);
	if (strstr(word, ".py:")) /* a line of the program, whose file may be dataset.py */
		return kind;
	while (*word && kind == PHASE_OTHER) {
		size_t length = 0;
		while (isalnum((unsigned char)word[length]))
			length++;
		kind = kind_of_word(word, length);
		word += length ? length : 1;
	}
	return kind == PHASE_OTHER && name == NAME_BETWEEN ? PHASE_BETWEEN : kind;
}

/* -- DataLoader settings, as published -- */

const char *loader_setting(const struct run *run, const char *key)
{
	char full[48];
	snprintf(full, sizeof full, "loader.%s", key);
	const char *value = run_meta(run, full);
	return value ? value : run_meta(run, key);
}

bool loader_count(const struct run *run, const char *key, long *count)
{
	const char *value = loader_setting(run, key);
	char *end;
	if (!value || !isdigit((unsigned char)*value))
		return false;
	*count = strtol(value, &end, 10);
	return *end == '\0' && *count < 100000;
}

const char *phase_kind_name(enum phase_kind kind)
{
	static const char *const names[] = {
		[PHASE_OTHER] = "other",
		[PHASE_DATA] = "data",
		[PHASE_FORWARD] = "forward",
		[PHASE_INFERENCE] = "inference",
		[PHASE_BACKWARD] = "backward",
		[PHASE_OPTIMIZER] = "optimizer",
		[PHASE_BETWEEN] = "between",
	};
	return names[kind];
}
