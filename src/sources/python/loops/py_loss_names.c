#include "src/sources/python/loops/py_loss_names.h"

#include <ctype.h>
#include <string.h>

#include "src/sources/python/py_objects.h"

/* Not of a validation, nor a sum of losses. */
static const char *const loss_names[] = { "loss", "train_loss", "training_loss", "loss_val", "loss_value", "loss_item",
	"loss_float", "lossf", "loss_f", "loss_scalar", "batch_loss", "step_loss", "cur_loss", "current_loss", NULL };
/* Of what is gathered, beside these. */
static const char *const gathered_names[] = { "l", "cost", "total_loss", NULL };
static const char *const methods[] = { "item", "detach", "cpu", "float", "double", "mean", "numpy", "clone", NULL };

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

bool py_loss_names_has(const char *name) { return is_one_of(loss_names, name); }

static bool begins(const char *word, size_t length, const char *begin)
{
	size_t wanted = strlen(begin);
	return length >= wanted && memcmp(word, begin, wanted) == 0;
}

static bool is_validation(const char *word, size_t length)
{
	return (begins(word, length, "val") && !begins(word, length, "value")) || begins(word, length, "test") ||
		begins(word, length, "eval") || begins(word, length, "vloss") || (length == 3 && begins(word, length, "dev"));
}

bool py_loss_names_validation(const char *name)
{
	while (*name) {
		size_t length = 0;
		while (isalpha((unsigned char)name[length]))
			length++;
		if (is_validation(name, length))
			return true;
		name += length + (name[length] != '\0');
	}
	return false;
}

static bool read_name(const struct py_process *process, const struct py_loop_code *code, uint32_t index, char *out)
{
	uint64_t object;
	return py_loop_item(
			   process, index & PY_OPERAND_KEY ? code->constants : code->names, index & ~PY_OPERAND_KEY, &object) &&
		py_text_read(process, object, out, PY_LOOP_NAME_SIZE);
}

/* "loss" of `loss`, `self.loss`, `outputs["loss"]` and `loss.data`. */
static bool read_last_name(
	const struct py_process *process, const struct py_loop_code *code, const struct py_operand *from, char *out)
{
	size_t count = from->name_count;
	bool is_read = count > 0 && read_name(process, code, from->names[count - 1], out);
	if (is_read && strcmp(out, "data") == 0)
		is_read = --count > 0 && read_name(process, code, from->names[count - 1], out);
	if (count > 0)
		return is_read;
	if (from->role == PY_ROLE_GLOBAL || from->role == PY_ROLE_NAME)
		return read_name(process, code, from->index, out);
	uint32_t local = from->index + (from->role == PY_ROLE_CELL ? code->cells : 0);
	if (local >= code->local_count)
		return false;
	memcpy(out, code->local_names[local], PY_LOOP_NAME_SIZE);
	return true;
}

bool py_loss_names_gain(const struct py_process *process, const struct py_loop_code *code, const struct py_gain *gain)
{
	char name[PY_LOOP_NAME_SIZE];
	if (gain->method != PY_NO_INDEX && (!read_name(process, code, gain->method, name) || strcmp(name, "append") != 0))
		return false;
	if (gain->function != PY_NO_INDEX &&
		(!read_name(process, code, gain->function, name) || strcmp(name, "float") != 0))
		return false;
	for (size_t i = 0; i < gain->call_count; i++)
		if (!read_name(process, code, gain->calls[i], name) || !is_one_of(methods, name))
			return false;
	return read_last_name(process, code, &gain->from, name) &&
		(is_one_of(loss_names, name) || is_one_of(gathered_names, name));
}

bool py_loss_names_backward(const struct py_process *process, const struct py_loop_code *code)
{
	enum { NAMES_MAX = 128 };
	uint64_t names[NAMES_MAX];
	char name[PY_LOOP_NAME_SIZE];
	size_t count = py_items_read(process, code->names, names, NAMES_MAX);
	for (size_t i = 0; i < count; i++)
		if (py_text_read(process, names[i], name, sizeof name) && strcmp(name, "backward") == 0)
			return true;
	return false;
}
