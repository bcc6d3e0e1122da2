#include "src/sources/inferred/steps/stacks_training.h"

#include <string.h>

/* Files by the end of their path; functions without their class. */
static const struct {
	const char *file, *function;
	bool is_optimizer;
} training[] = {
	{ "torch/optim/optimizer.py", "wrapper", true },
	{ "torch/amp/grad_scaler.py", "step", true },
	{ "torch/_tensor.py", "backward", false },
	{ "torch/autograd/__init__.py", "backward", false },
	{ "torch/autograd/__init__.py", "grad", false },
	{ "paddle/optimizer/optimizer.py", "step", true },
	{ "paddle/optimizer/adam.py", "step", true },
	{ "paddle/optimizer/adamw.py", "step", true },
	{ "paddle/base/dygraph/tensor_patch_methods.py", "backward", false },
	{ "spacy/language.py", "update", false },
	{ "thinc/model.py", "finish_update", true },
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);
	return length >= size && strcmp(text + length - size, end) == 0;
}

/* Since Python 3.11 function names include the class. */
static bool is_called(const char *function, const char *name)
{
	const char *dot = strrchr(function, '.');
	return strcmp(dot ? dot + 1 : function, name) == 0;
}

int stacks_training_frame(const struct py_sample *sample, bool *is_optimizer)
{
	int found = -1;
	*is_optimizer = false;
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_code *code = &sample->sites[i].known->code;
		for (size_t k = 0; k < sizeof training / sizeof *training; k++)
			if (ends_with(code->file, training[k].file) && is_called(code->function, training[k].function)) {
				found = (int)i;
				*is_optimizer |= training[k].is_optimizer;
			}
	}
	return found;
}

bool stacks_training_is_derivative(const struct py_sample *sample, int frame)
{
	return is_called(sample->sites[frame].known->code.function, "grad");
}

bool stacks_training_is_torch(const char *file)
{
	static const char *const folders[] = { "/torch/nn/", "/torch/optim/", "/torch/autograd/", "/torch/utils/",
		"/torch/amp/", "/torch/cuda/", "/torch/distributed/", "/torch/_" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strstr(file, folders[i]))
			return true;
	return false;
}

bool stacks_training_has_torch(const struct py_sample *sample)
{
	bool has_torch = false;
	for (size_t i = 0; i < sample->count; i++) {
		const char *file = sample->sites[i].known->code.file;
		if (strncmp(file, "<frozen importlib", strlen("<frozen importlib")) == 0)
			return false;
		has_torch = has_torch || stacks_training_is_torch(file);
	}
	return has_torch;
}
