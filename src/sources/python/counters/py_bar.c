#include "src/sources/python/counters/py_bar.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"

enum { POSTFIX_SIZE = 160 };

static bool parse_value(const char *text, double *out)
{
	char *end;
	text += strspn(text, " ");
	if (*text != '=' && *text != ':')
		return false;
	double value = strtod(text + 1, &end);
	if (end == text + 1 || !isfinite(value))
		return false;
	*out = value;
	return true;
}

bool py_bar_loss_parse(const char *text, double *out)
{
	static const char *const names[] = { "loss", "train_loss", "Loss" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		for (const char *at = text; (at = strstr(at, names[i])); at += length) {
			/* Not a part of another name, such as val_loss. */
			bool is_name = at == text || !(isalnum((unsigned char)at[-1]) || strchr("_/.-", at[-1]));
			if (is_name && parse_value(at + length, out))
				return true;
		}
	}
	return false;
}

bool py_bar_loss(const struct py_process *process, uint64_t object, double *out)
{
	struct py_activation frame;
	uint64_t bar = object, postfix;
	char text[POSTFIX_SIZE];
	if (py_generator_frame(process, object, &frame) && !py_local_get(process, &frame, "self", &bar))
		return false;
	return py_is_derived(process, bar, "tqdm") && py_attribute_get(process, bar, "postfix", &postfix) &&
		py_text_read(process, postfix, text, sizeof text) && py_bar_loss_parse(text, out);
}
