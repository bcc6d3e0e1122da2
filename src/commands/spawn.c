#include "src/commands/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <features.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void spawn_add(struct spawn *spawn, const char *word)
{
	if (spawn->word_count + 1 == sizeof spawn->words / sizeof *spawn->words || !(spawn->words[spawn->word_count] = strdup(word)))
		spawn->failed = true;
	else
		spawn->word_count++;
}

void spawn_set(struct spawn *spawn, const char *name, const char *value)
{
	if (spawn->set_count + 1 == sizeof spawn->sets / sizeof *spawn->sets || asprintf(&spawn->sets[spawn->set_count], "%s=%s", name, value) < 0) {
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

/* Ours, without what is set anew. NULL when out of memory; to be freed, its texts not. */
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

static int set_actions(posix_spawn_file_actions_t *actions)
{
	int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && !error; fd++)
		error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	/* Ours are all closed on exec; those that somebody left open for us are not. */
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
	return error;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	int error = posix_spawnattr_setsigmask(attributes, &none);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setpgroup(attributes, 0);
	if (!error)
		error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	return error;
}

int spawn_start(const struct spawn *spawn, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	if (spawn->failed || spawn->word_count == 0)
		return ENOMEM;
	char **environment = make_environment(spawn);
	if (!environment)
		return ENOMEM;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		goto out;
	error = posix_spawnattr_init(&attributes);
	if (error)
		goto out_actions;
	error = set_actions(&actions);
	if (!error)
		error = set_attributes(&attributes);
	if (!error)
		error = posix_spawnp(pid, spawn->words[0], &actions, &attributes, spawn->words, environment);
	posix_spawnattr_destroy(&attributes);
out_actions:
	posix_spawn_file_actions_destroy(&actions);
out:
	free(environment);
	return error;
}
