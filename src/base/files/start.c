#include "src/base/files/start.h"

#include <errno.h>
#include <fcntl.h>
#include <features.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int set_actions(posix_spawn_file_actions_t *actions, const int descriptors[3])
{
	int error = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !error; fd++)
		error = descriptors[fd] >= 0
			? posix_spawn_file_actions_adddup2(actions, descriptors[fd], fd)
			: posix_spawn_file_actions_addopen(actions, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	/* pmtop opens all descriptors with O_CLOEXEC, but it may have inherited others. */
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
	return error;
}

enum { CLEAN = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF };

static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	int error = posix_spawnattr_setsigmask(attributes, &none);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setflags(attributes, CLEAN | POSIX_SPAWN_SETSID);
	/* glibc older than 2.26 starts no session here, and such a program may ask on the terminal. */
	if (error == EINVAL)
		error = posix_spawnattr_setflags(attributes, CLEAN | POSIX_SPAWN_SETPGROUP);
	return error;
}

int start_program_with(char *const *words, char *const *environment, const int descriptors[3], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error)
		goto out;
	error = set_actions(&actions, descriptors);
	if (!error)
		error = set_attributes(&attributes);
	if (!error)
		error = posix_spawnp(pid, words[0], &actions, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
out:
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int start_program(char *const *words, char *const *environment, int output, pid_t *pid)
{
	const int descriptors[3] = { -1, output, -1 };
	return start_program_with(words, environment, descriptors, pid);
}
