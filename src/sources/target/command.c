#include "src/sources/target/command.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/text.h"

enum { ARGUMENTS_MAX = 64 };

struct argument {
	const char *text;
	size_t length;
};

/* Programs whose first non-option argument is the program to name. */
static const struct interpreter {
	const char *prefix;
	const char *with_value; /* one-letter options that take a value */
	char module, code;      /* -m NAME; -c TEXT: the interpreter itself is the program */
} interpreters[] = {
	{ "python", "WX", 'm', 'c' },
	{ "pypy", "WX", 'm', 'c' },
	{ "bash", "oO", 0, 'c' },
	{ "dash", "o", 0, 'c' },
	{ "sh", "o", 0, 'c' },
	{ "perl", "I", 0, 'e' },
};

/* Names that a process gives itself and that are better than its command line, which is its parent's. */
static const char *const preferred_comms[] = { "pt_data_worker" };

static bool is_preferred_comm(const char *comm)
{
	for (size_t i = 0; i < sizeof preferred_comms / sizeof *preferred_comms; i++)
		if (strcmp(comm, preferred_comms[i]) == 0)
			return true;
	return false;
}

static struct argument basename_of(struct argument path)
{
	const char *slash = memrchr(path.text, '/', path.length);
	if (!slash || slash + 1 == path.text + path.length)
		return path;
	size_t skipped = (size_t)(slash + 1 - path.text);
	return (struct argument){ slash + 1, path.length - skipped };
}

static size_t split(const char *cmdline, size_t length, struct argument out[ARGUMENTS_MAX])
{
	size_t count = 0;
	while (length > 0 && count < ARGUMENTS_MAX) {
		size_t one = strnlen(cmdline, length);
		out[count++] = (struct argument){ cmdline, one };
		if (one == length)
			break;
		cmdline += one + 1;
		length -= one + 1;
	}
	return count;
}

/* Matches "python3", "python3.11", "sh", but not "python-config" or "shred". */
static const struct interpreter *interpreter_named(struct argument name)
{
	for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
		size_t prefix = strlen(interpreters[i].prefix);
		if (name.length < prefix || memcmp(name.text, interpreters[i].prefix, prefix) != 0)
			continue;
		size_t at = prefix;
		while (at < name.length && strchr("0123456789.t", name.text[at]))
			at++;
		if (at == name.length)
			return &interpreters[i];
	}
	return NULL;
}

/* What the interpreter runs; `program` if that has no name of its own. */
static struct argument script_of(
	const struct interpreter *interpreter, struct argument program, const struct argument *arguments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct argument it = arguments[i];
		if (it.length == 0)
			return program;
		if (it.text[0] != '-')
			return basename_of(it);
		if (it.length < 2 || it.text[1] == '-')
			continue;
		/* The letters of one argument: "-um" is "-u -m". */
		for (size_t letter = 1; letter < it.length; letter++) {
			char option = it.text[letter];
			struct argument value = letter + 1 < it.length
				? (struct argument){ it.text + letter + 1, it.length - letter - 1 }
				: i + 1 < count ? arguments[i + 1]
								: (struct argument){ "", 0 };
			if (interpreter->module && option == interpreter->module)
				return value.length > 0 ? value : program;
			if (option == interpreter->code)
				return program;
			if (strchr(interpreter->with_value, option)) {
				i += letter + 1 == it.length;
				break;
			}
		}
	}
	return program;
}

void command_shorten(char *out, size_t size, const char *cmdline, size_t length, const char *comm)
{
	struct argument arguments[ARGUMENTS_MAX];
	size_t count = split(cmdline, length, arguments);
	struct argument name = { comm, strlen(comm) };
	if (count > 0 && arguments[0].length > 0 && !is_preferred_comm(comm)) {
		name = arguments[0];
		/* A title that the program set itself ("ray::train /tmp/x") is one argument with spaces: only its first word
		 * can be a path. */
		const char *space = count == 1 || arguments[1].length == 0 ? memchr(name.text, ' ', name.length) : NULL;
		struct argument path = { name.text, space ? (size_t)(space - name.text) : name.length };
		struct argument base = basename_of(path);
		size_t skipped = (size_t)(base.text - name.text);
		name = (struct argument){ base.text, name.length - skipped };
		if (name.length > 1 && name.text[0] == '-') /* a login shell */
			name = (struct argument){ name.text + 1, name.length - 1 };
		const struct interpreter *interpreter = interpreter_named(name);
		if (interpreter)
			name = script_of(interpreter, name, arguments + 1, count - 1);
	}
	text_clean(out, size, name.text, name.length);
}
