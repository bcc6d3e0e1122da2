#include "src/session/children/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/start.h"

void spawn_add(struct spawn *spawn, const char *word)
{
	if (spawn->word_count + 1 == sizeof spawn->words / sizeof *spawn->words ||
		!(spawn->words[spawn->word_count] = strdup(word)))
		spawn->failed = true;
	else
		spawn->word_count++;
}

void spawn_set(struct spawn *spawn, const char *name, const char *value)
{
	if (spawn->set_count + 1 == sizeof spawn->sets / sizeof *spawn->sets ||
		asprintf(&spawn->sets[spawn->set_count], "%s=%s", name, value) < 0) {
		spawn->sets[spawn->set_count] = NULL;
		spawn->failed = true;
	} else {
		spawn->set_count++;
	}
}

void spawn_release(struct spawn *spawn)
{
	for (size_t i = 0; i < spawn->word_count; i++)
		free(spawn->words[i]);
	for (size_t i = 0; i < spawn->set_count; i++)
		free(spawn->sets[i]);
	*spawn = (struct spawn){ 0 };
}

static bool is_set(const struct spawn *spawn, const char *entry)
{
	for (size_t i = 0; i < spawn->set_count; i++) {
		size_t length = strcspn(spawn->sets[i], "=") + 1;
		if (strncmp(spawn->sets[i], entry, length) == 0)
			return true;
	}
	return false;
}

/* pmtop's environment with the variables of `spawn` added or replaced. NULL when out of memory. The caller frees the
 * array, not the strings. */
static char **make_environment(const struct spawn *spawn)
{
	size_t count = 0, at = 0;
	while (environ[count])
		count++;
	char **environment = calloc(count + spawn->set_count + 1, sizeof *environment);
	if (!environment)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!is_set(spawn, environ[i]))
			environment[at++] = environ[i];
	for (size_t i = 0; i < spawn->set_count; i++)
		environment[at++] = spawn->sets[i];
	return environment;
}

int spawn_start(const struct spawn *spawn, pid_t *pid)
{
	if (spawn->failed || spawn->word_count == 0)
		return ENOMEM;
	char **environment = make_environment(spawn);
	if (!environment)
		return ENOMEM;
	int error = start_program(spawn->words, environment, -1, pid);
	free(environment);
	return error;
}
