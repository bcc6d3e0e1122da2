#include "src/sources/gpu/sys_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/file.h"

bool sys_join(char out[SYS_PATH_SIZE], const char *folder, const char *name)
{
	int written = snprintf(out, SYS_PATH_SIZE, "%s/%s", folder, name);
	if (written >= 0 && written < SYS_PATH_SIZE)
		return true;
	out[0] = '\0';
	return false;
}

bool sys_text(const char *folder, const char *name, char *out, size_t size)
{
	char path[SYS_PATH_SIZE], text[SYS_TEXT_SIZE];
	size_t length, begin = 0;
	if (!sys_join(path, folder, name) || file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	if (memchr(text, '\0', length))
		return false;
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	while (begin < length && isspace((unsigned char)text[begin]))
		begin++;
	if (begin == length || length - begin >= size)
		return false;
	memcpy(out, text + begin, length - begin);
	out[length - begin] = '\0';
	return true;
}

bool sys_number(const char *folder, const char *name, double *out)
{
	char text[64], *end;
	if (!sys_text(folder, name, text, sizeof text) || !isdigit((unsigned char)text[text[0] == '-']))
		return false;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*out = (double)value;
	return true;
}

bool sys_hex(const char *folder, const char *name, uint64_t *out)
{
	char text[64], *end;
	if (!sys_text(folder, name, text, sizeof text) || !isxdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 16);
	if (errno || *end)
		return false;
	*out = value;
	return true;
}

bool sys_word(const char *text, const char *key, char separator, char *out, size_t size)
{
	size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != separator)
			continue;
		const char *value = line + length + 1;
		value += strspn(value, " \t");
		size_t wide = strcspn(value, "\n");
		if (wide == 0 || wide >= size)
			return false;
		memcpy(out, value, wide);
		out[wide] = '\0';
		return true;
	}
	return false;
}

bool sys_emit(
	const char *folder, const struct sys_figure *figure, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	double value;
	if (!sys_number(folder, figure->file, &value))
		return false;
	value *= figure->scale;
	if (value < figure->min || value > figure->max)
		return false;
	sample_set_figure(out, now_ns, figure->metric, instance, value);
	return true;
}

void sys_emit_all(
	const char *folder, const struct sys_figure *figures, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	for (const struct sys_figure *figure = figures; figure->file; figure++)
		if (sys_emit(folder, figure, instance, now_ns, out))
			while (figure[1].file && figure[1].metric == figure->metric)
				figure++;
}
