#include "src/sources/python/counters/py_gradients.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Behind the head of a PyObject: of a type its ob_size and its name; of a bound method its function and what it is
 * bound to (Include/cpython/{object,classobject}.h). */
enum { TYPE_NAME = 8, METHOD_SELF = 8, NAME_SIZE = 24, TYPES_RETAINED = 64, ENTRIES_MAX = 16 };

static const char module_file[] = "torch/nn/modules/module.py";

enum kind {
	KIND_OTHER,
	KIND_METHOD,
	KIND_OFF,         /* torch.no_grad */
	KIND_ON,          /* torch.enable_grad */
	KIND_OFF_IF_TRUE, /* torch.inference_mode(mode) */
	KIND_ON_IF_TRUE,  /* torch.set_grad_enabled(mode) */
};

static const struct {
	const char *name;
	enum kind kind;
} named[] = { { "method", KIND_METHOD }, { "no_grad", KIND_OFF }, { "enable_grad", KIND_ON },
	{ "inference_mode", KIND_OFF_IF_TRUE }, { "set_grad_enabled", KIND_ON_IF_TRUE } };

/* Types that were met. */
struct py_gradients {
	size_t count;
	struct {
		uint64_t type;
		enum kind kind;
	} types[TYPES_RETAINED];
};

struct py_gradients *py_gradients_new(void) { return calloc(1, sizeof(struct py_gradients)); }

void py_gradients_free(struct py_gradients *gradients) { free(gradients); }

static enum kind kind_by_name(const struct py_process *process, uint64_t type)
{
	char name[NAME_SIZE] = "";
	uint64_t at;
	if (!remote_word(process->pid, type + process->location.layout.object_size + TYPE_NAME, &at) ||
		!remote_read(process->pid, at, name, sizeof name - 1))
		return KIND_OTHER;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(name, named[i].name) == 0)
			return named[i].kind;
	return KIND_OTHER;
}

static enum kind kind_of(struct py_gradients *gradients, const struct py_process *process, uint64_t object)
{
	uint64_t type;
	if (!object || object % 8 || !remote_word(process->pid, object + process->location.layout.object_type, &type))
		return KIND_OTHER;
	for (size_t i = 0; i < gradients->count; i++)
		if (gradients->types[i].type == type)
			return gradients->types[i].kind;
	if (gradients->count == TYPES_RETAINED)
		gradients->count = 0;
	enum kind kind = kind_by_name(process, type);
	gradients->types[gradients->count].type = type;
	gradients->types[gradients->count++].kind = kind;
	return kind;
}

/* Changes *is_off if this entry of a value stack belongs to a `with` that switches gradients. Up to 3.13 that has the
 * bound method __exit__ there, later __exit__ and then the object. */
static void apply(struct py_gradients *gradients, const struct py_process *process, uint64_t object, bool *is_off)
{
	enum kind kind = kind_of(gradients, process, object);
	uint64_t mode;
	bool is_true;
	if (kind == KIND_METHOD)
		kind = remote_word(process->pid, object + process->location.layout.object_size + METHOD_SELF, &object)
			? kind_of(gradients, process, object)
			: KIND_OTHER;
	if (kind == KIND_OFF || kind == KIND_ON)
		*is_off = kind == KIND_OFF;
	else if ((kind == KIND_OFF_IF_TRUE || kind == KIND_ON_IF_TRUE) &&
		py_attribute_get(process, object, "mode", &mode) && py_bool_read(process, mode, &is_true))
		*is_off = is_true == (kind == KIND_OFF_IF_TRUE);
}

static bool is_forward(const struct py_code *code)
{
	size_t length = strlen(code->file), end = sizeof module_file - 1;
	return length >= end && strcmp(code->file + length - end, module_file) == 0 && strstr(code->function, "_call_impl");
}

size_t py_gradients_disabled(
	struct py_gradients *gradients, const struct py_process *process, const struct py_sample *sample)
{
	size_t first = sample->count;
	bool is_off = false;
	while (gradients && first > 0 && !is_forward(&sample->sites[first - 1].known->code))
		first--;
	if (!gradients || first == 0)
		return sample->count;
	for (size_t i = sample->count; i-- > first;) {
		const struct py_site *site = &sample->sites[i];
		struct py_activation at = { site->frame, site->code };
		uint64_t entries[ENTRIES_MAX];
		size_t count = py_blocks_read(process, &at, site->ip, entries, ENTRIES_MAX);
		for (size_t k = 0; k < count; k++)
			apply(gradients, process, entries[k], &is_off);
	}
	return is_off ? first - 1 : sample->count;
}
