/* Phases of library functions, as of PyTorch 2.13 and Lightning 2.6. Files are matched by the end of their path, NULL
 * is any function. */
#include "src/model/code/code_phases.h"

#include <string.h>

#include "src/model/code/code.h"

static const struct {
	const char *file, *function;
	enum code_phase phase;
} known[] = {
	{ "torch/utils/data/dataloader.py", "__next__", CODE_PHASE_DATA },
	{ "torch/utils/data/dataloader.py", "__iter__", CODE_PHASE_DATA },
	{ "torch/utils/data/_utils/worker.py", "_worker_loop", CODE_PHASE_DATA },
	{ "torch/nn/modules/module.py", "_call_impl", CODE_PHASE_FORWARD },
	{ "torch/nn/modules/module.py", "_wrapped_call_impl", CODE_PHASE_FORWARD },
	{ "torch/_tensor.py", "backward", CODE_PHASE_BACKWARD },
	{ "torch/autograd/__init__.py", "backward", CODE_PHASE_BACKWARD },
	{ "torch/autograd/__init__.py", "grad", CODE_PHASE_BACKWARD },
	{ "torch/optim/optimizer.py", "wrapper", CODE_PHASE_OPTIMIZER },
	{ "torch/optim/optimizer.py", "zero_grad", CODE_PHASE_OPTIMIZER },
	{ "torch/amp/grad_scaler.py", NULL, CODE_PHASE_OPTIMIZER },
	{ "torch/nn/utils/clip_grad.py", NULL, CODE_PHASE_OPTIMIZER },
	{ "torch/distributed/distributed_c10d.py", NULL, CODE_PHASE_COMMUNICATION },
	{ "torch/serialization.py", "save", CODE_PHASE_CHECKPOINT },
	{ "torch/serialization.py", "load", CODE_PHASE_CHECKPOINT },
	{ "torch/_inductor/compile_fx.py", NULL, CODE_PHASE_COMPILE },
	{ "torch/_dynamo/convert_frame.py", NULL, CODE_PHASE_COMPILE },
	{ "lightning/pytorch/strategies/strategy.py", "training_step", CODE_PHASE_FORWARD },
	{ "pytorch_lightning/strategies/strategy.py", "training_step", CODE_PHASE_FORWARD },
	{ "lightning/pytorch/loops/evaluation_loop.py", "run", CODE_PHASE_VALIDATION },
	{ "pytorch_lightning/loops/evaluation_loop.py", "run", CODE_PHASE_VALIDATION },
	{ "lightning/pytorch/trainer/trainer.py", "save_checkpoint", CODE_PHASE_CHECKPOINT },
	{ "pytorch_lightning/trainer/trainer.py", "save_checkpoint", CODE_PHASE_CHECKPOINT },
	{ "<frozen importlib._bootstrap>", "_find_and_load", CODE_PHASE_IMPORT },
};

const char *code_phase_name(enum code_phase phase)
{
	static const char *const names[CODE_PHASE_COUNT] = {
#define CODE_PHASE_NAME(id, name) name,
		CODE_PHASES(CODE_PHASE_NAME)
#undef CODE_PHASE_NAME
	};
	return names[phase];
}

/* Since Python 3.11 function names include the class. */
static bool is_called(const char *function, const char *name)
{
	const char *dot = strrchr(function, '.');
	return strcmp(dot ? dot + 1 : function, name) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && strcmp(text + length - end_length, end) == 0 &&
		(length == end_length || text[length - end_length - 1] == '/');
}

enum code_phase code_phase_of(const char *function, const char *file)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (ends_with(file, known[i].file) && (!known[i].function || is_called(function, known[i].function)))
			return known[i].phase;
	return CODE_PHASE_OTHER;
}

const char *code_short_file(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *found = strstr(file, folders[i]);
		if (found)
			return found + strlen(folders[i]);
	}
	const char *library = strstr(file, "/lib/python3.");
	const char *rest = library ? strchr(library + strlen("/lib/python3."), '/') : NULL;
	return rest ? rest + 1 : file;
}
