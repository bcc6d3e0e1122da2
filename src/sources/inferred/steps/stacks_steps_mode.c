#include "src/sources/inferred/steps/stacks_steps_mode.h"

#include <ctype.h>
#include <string.h>

#include "src/base/clock.h"

#define LOOP_WAIT_NS (2 * NS_PER_S)
#define EVIDENCE_WAIT_NS (NS_PER_S / 2)

/* Matches the beginning of words: "val_loader", "evaluate", "for batch in test_data", but not "retrieval" or
 * "latest". */
static bool has_word(const char *text, const char *word)
{
	for (const char *at = text; text && (at = strstr(at, word)); at++)
		if ((at == text || !isalpha((unsigned char)at[-1])) && strncmp(at, "value", 5) != 0)
			return true;
	return false;
}

bool stacks_steps_names_validation(const char *text)
{
	static const char *const words[] = { "val", "eval", "test" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(text, words[i]))
			return true;
	return false;
}

static enum mode mode_of(const struct py_counted *counted, const char *text)
{
	bool validates = stacks_steps_names_validation(text) || stacks_steps_names_validation(counted->function) ||
		strstr(counted->file, "/evaluation_loop.py");
	return validates ? MODE_VALIDATION : MODE_TRAIN;
}

static struct loader *find_loader(struct stacks_steps *steps, uint64_t sampler)
{
	for (size_t i = 0; i < steps->loader_count; i++)
		if (steps->loaders[i].sampler == sampler)
			return &steps->loaders[i];
	return NULL;
}

void stacks_steps_remember_loader(struct stacks_steps *steps, uint64_t sampler, enum mode mode)
{
	struct loader *loader = find_loader(steps, sampler);
	if (!loader)
		loader =
			&steps->loaders[steps->loader_count < STEPS_LOADERS_MAX ? steps->loader_count++ : STEPS_LOADERS_MAX - 1];
	*loader = (struct loader){ sampler, mode };
}

/* The loop may be found later than its loader. Until then its loader, or the fact that another one trains, decides. */
bool stacks_steps_find_mode(struct stacks_steps *steps, const struct py_counted *counted, const char *text,
	int64_t since_ns, int64_t now_ns, enum mode *mode)
{
	const struct loader *loader = find_loader(steps, counted->sampler);
	if (counted->trains || counted->evaluates) {
		*mode = counted->evaluates ? MODE_VALIDATION : MODE_TRAIN;
		stacks_steps_remember_loader(steps, counted->sampler, *mode);
		return true;
	}
	if (*counted->function) {
		*mode = mode_of(counted, text);
		if (counted->is_undecided)
			return false;
		/* Words may deceive (train_and_evaluate): backward may still be seen. */
		if (*mode == MODE_VALIDATION && !loader && !counted->is_over && now_ns - since_ns < EVIDENCE_WAIT_NS)
			return false;
		stacks_steps_remember_loader(steps, counted->sampler, *mode);
		return true;
	}
	*mode = loader ? loader->mode : steps->state.epochs_begun > 0 ? MODE_VALIDATION : MODE_TRAIN;
	bool is_waited_for = counted->is_undecided || (!loader && now_ns - since_ns <= LOOP_WAIT_NS);
	return counted->is_over || !is_waited_for;
}
