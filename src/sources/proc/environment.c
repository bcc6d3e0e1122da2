#include "src/sources/proc/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"

enum { ENTRY_SIZE = ENVIRONMENT_VALUE_SIZE + 64, CHUNK_SIZE = 4096 };

/* The state of parsing an environment in chunks. */
struct reading {
	struct variable *variables;
	size_t count, length;
	bool is_too_long;
	char entry[ENTRY_SIZE];
};

static void take_entry(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++) {
		struct variable *variable = &reading->variables[i];
		size_t length = strlen(variable->name);
		if (strncmp(reading->entry, variable->name, length) != 0 || reading->entry[length] != '=')
			continue;
		const char *value = reading->entry + length + 1;
		if (variable->is_set || strlen(value) >= sizeof variable->value)
			return;
		strcpy(variable->value, value);
		variable->is_set = true;
		return;
	}
}

/* Entries that are longer than any that is needed are skipped. */
static void take(struct reading *reading, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\0') {
			reading->is_too_long |= reading->length == ENTRY_SIZE - 1;
			if (!reading->is_too_long)
				reading->entry[reading->length++] = text[i];
			continue;
		}
		reading->entry[reading->length] = '\0';
		if (!reading->is_too_long)
			take_entry(reading);
		reading->length = 0;
		reading->is_too_long = false;
	}
}

static void begin(struct reading *reading, struct variable *variables, size_t count)
{
	*reading = (struct reading){ .variables = variables, .count = count };
	for (size_t i = 0; i < count; i++) {
		variables[i].is_set = false;
		variables[i].value[0] = '\0';
	}
}

void environment_parse(const char *text, size_t length, struct variable *variables, size_t count)
{
	struct reading reading;
	begin(&reading, variables, count);
	take(&reading, text, length);
}

void environment_read(int directory_fd, struct variable *variables, size_t count)
{
	char chunk[CHUNK_SIZE];
	struct reading reading;
	begin(&reading, variables, count);
	int fd = file_open(directory_fd, "environ", O_RDONLY | O_NOCTTY | O_NONBLOCK);
	for (size_t all = 0; fd >= 0 && all < ENVIRONMENT_READ_MAX;) {
		ssize_t length = file_read_some(fd, chunk, sizeof chunk);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			break;
		take(&reading, chunk, (size_t)length);
		all += (size_t)length;
	}
	if (fd >= 0)
		close(fd);
}
