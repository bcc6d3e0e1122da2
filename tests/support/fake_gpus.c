#include "tests/support/fake_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"

static void must(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	_exit(99);
}

void fake_gpus_library(const char *kind, char *out, size_t size)
{
	const char *build = getenv("PMTOP_BUILD");
	char here[256];
	if (!build) {
		must(getcwd(here, sizeof here - 8) != NULL, "getcwd");
		strcat(here, "/build");
		build = here;
	}
	int written = snprintf(out, size, "%s/tests/fake_nvml/libnvidia-ml%s%s.so.1", build, kind[0] ? "-" : "", kind);
	must(written > 0 && (size_t)written < size, "the name of the fake library");
}

void fake_gpus_say_only(const struct fake_gpus *gpus, const char *all)
{
	char path[96], fresh[96];
	snprintf(path, sizeof path, "%s/script", gpus->folder);
	snprintf(fresh, sizeof fresh, "%s/fresh", gpus->folder);
	FILE *file = fopen(fresh, "w");
	must(file && fputs(all, file) >= 0 && fclose(file) == 0 && rename(fresh, path) == 0, path);
}

void fake_gpus_say(const struct fake_gpus *gpus, const char *more)
{
	char all[16384];
	snprintf(all, sizeof all, "%s%s", FAKE_NODE, more);
	fake_gpus_say_only(gpus, all);
}

void fake_gpus_open(struct fake_gpus *gpus, const char *kind)
{
	struct reason why = { "", "" };
	char script[96];
	*gpus = (struct fake_gpus){ .folder = "/tmp/pmtop-gpus-XXXXXX" };
	must(mkdtemp(gpus->folder) != NULL, "mkdtemp");
	fake_gpus_say(gpus, "");
	snprintf(script, sizeof script, "%s/script", gpus->folder);
	setenv("FAKE_NVML", script, 1);
	fake_gpus_library(kind, gpus->nvml, sizeof gpus->nvml);
	fake_proc_init(&gpus->proc);
	fake_proc_add(&gpus->proc, FAKE_TARGET, 1, "train.py");
	if (target_open(&gpus->target, FAKE_TARGET, gpus->proc.root, &why) != STATUS_OK) {
		fprintf(stderr, "%s\n", why.text);
		_exit(99);
	}
	snprintf(gpus->sys, sizeof gpus->sys, "%s/fake-sys", gpus->proc.root);
	snprintf(gpus->dev, sizeof gpus->dev, "%s/fake-dev", gpus->proc.root);
	gpus->choices.nvml_path = gpus->nvml;
	gpus->choices.sys_root = gpus->sys;
	gpus->choices.dev_root = gpus->dev;
	gpus->target.choices = &gpus->choices;
	gpus->begin_ns = clock_monotonic_ns();
}

void fake_gpus_close(struct fake_gpus *gpus)
{
	char command[128];
	target_close(&gpus->target);
	fake_proc_release(&gpus->proc);
	snprintf(command, sizeof command, "rm -r %s", gpus->folder);
	must(system(command) == 0, command);
}

int64_t fake_gpus_at(const struct fake_gpus *gpus, double seconds)
{
	return gpus->begin_ns + (int64_t)(seconds * (double)NS_PER_S);
}
