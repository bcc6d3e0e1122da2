#include "src/commands/options/version.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <yaml.h>
#include <zlib.h>

#include "src/base/files/program_files.h"
#include "src/base/text.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct library {
	const char *name, *file, *variable;
};

static const struct library libraries[] = {
	{ "NVML", "libnvidia-ml.so.1", "PMTOP_NVML" },
	{ "libpfm", "libpfm.so.4", NULL },
	{ "libdrm", "libdrm.so.2", NULL },
};

struct folder {
	const char *name, *installed, *built, *file, *missing;
};

static const struct folder folders[] = {
	{ "launch hooks", "../share/pmtop/python/launch", "../src/python/launch", "sitecustomize.py",
		"not found: make install" },
	{ "package", "../share/pmtop/python/site", "python/site", "pmtop/torch.py", "not found: make python install" },
	{ "terminfo", "../share/pmtop/terminfo", "terminfo", "x/xterm-256color", "the system's" },
};

static void print_row(const char *name, const char *value)
{
	char clean[512];
	text_clean(clean, sizeof clean, value, strlen(value));
	printf("%-13s %s\n", name, clean);
}

static void print_library(const struct library *library)
{
	const char *given = library->variable ? getenv(library->variable) : NULL;
	const char *file = given ? given : library->file;
	void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	print_row(library->name, handle ? file : "not found");
	if (handle)
		dlclose(handle);
}

static void print_folder(const struct folder *folder)
{
	char *found = program_folder(folder->installed, folder->built, folder->file);
	print_row(folder->name, found ? found : folder->missing);
	free(found);
}

void version_print(void)
{
	struct utsname system;
	puts("pmtop " PMTOP_VERSION);
	printf("%-13s %s, glibc %d.%d, libyaml %s, zlib %s\n", "built with", COMPILER, __GLIBC__, __GLIBC_MINOR__,
		yaml_get_version_string(), zlibVersion());
	if (uname(&system) == 0)
		printf("%-13s glibc %s, %s %s, %s\n", "runs with", gnu_get_libc_version(), system.sysname, system.release,
			system.machine);
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		print_library(&libraries[i]);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		print_folder(&folders[i]);
}
