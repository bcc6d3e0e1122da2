#include "src/base/files/program_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

char *program_folder(const char *installed, const char *built, const char *file)
{
	char program[PATH_SIZE], path[PATH_SIZE + 64];
	const char *const folders[] = { installed, built };
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return NULL;
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s/%s", program, folders[i], file);
		if (access(path, R_OK) == 0) {
			path[strlen(path) - strlen(file) - 1] = '\0';
			return realpath(path, NULL);
		}
	}
	return NULL;
}
