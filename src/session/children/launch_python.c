#include "src/session/children/launch_python.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/program_files.h"
#include "src/base/text.h"

enum { NEWS_SIZE = 4096 };

#define READ_EVERY_NS (200 * NS_PER_MS)
/* A command that has started no Python for so long is reported: a script may first prepare its data. */
#define PYTHON_MAX_NS (10 * NS_PER_S)

/* -- before the start -- */

static bool is_python(const char *name)
{
	return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.t")] == '\0';
}

/* Options end at the first other word, -c or -m; -W and -X take a value. */
static char find_isolation(char *const *word)
{
	for (; *word && (*word)[0] == '-' && (*word)[1] != '\0'; word++) {
		for (const char *letter = *word + 1; *letter && *letter != '-'; letter++) {
			if (strchr("IES", *letter))
				return *letter;
			if (strchr("cm", *letter))
				return '\0';
			if (strchr("WX", *letter)) {
				word += !letter[1] && word[1];
				break;
			}
		}
	}
	return '\0';
}

static char *make_path(const char *folder)
{
	const char *before = getenv("PYTHONPATH");
	char *path = NULL;
	/* A colon would divide the folder in two. */
	if (strchr(folder, ':') ||
		asprintf(&path, "%s%s%s", folder, before && *before ? ":" : "", before ? before : "") < 0)
		return NULL;
	return path;
}

void launch_python_prepare(struct launch_python *python, char *const *command, const char *folder, int64_t now_ns)
{
	const char *slash = strrchr(command[0], '/'), *name = slash ? slash + 1 : command[0];
	char *hook = program_folder("../share/pmtop/python/launch", "../src/python/launch", "sitecustomize.py");
	*python = (struct launch_python){ .fd = -1, .begun_ns = now_ns };
	text_clean(python->name, sizeof python->name, name, strlen(name));
	python->path = hook ? make_path(hook) : NULL;
	free(hook);
	if (!python->path)
		return;
	python->isolation = is_python(name) ? find_isolation(command + 1) : '\0';
	python->package = program_folder("../share/pmtop/python/site", "python/site", "pmtop/torch.py");
	if (!folder[0] || asprintf(&python->report, "%s/launch-%d.txt", folder, (int)getpid()) < 0)
		python->report = NULL;
	else
		python->fd = open(python->report, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void launch_python_set(const struct launch_python *python)
{
	if (!python->path)
		return;
	setenv("PYTHONPATH", python->path, true);
	setenv("PMTOP_LAUNCH", python->fd >= 0 ? python->report : "", true);
	setenv("PMTOP_LAUNCH_PACKAGE", python->package ? python->package : "", true);
}

/* -- afterwards -- */

/* `text`: FRAMEWORKS (package of …). Each is reported once: ranks and other processes repeat it. */
static bool report_instrumented(struct launch_python *python, int pid, const char *text, struct reason *news)
{
	size_t length = strcspn(text, "("), used = strlen(python->instrumented);
	char names[sizeof python->instrumented], remedy[sizeof news->remedy];
	snprintf(names, sizeof names, "%.*s;", (int)length, text);
	if (strstr(python->instrumented, names))
		return false;
	snprintf(python->instrumented + used, sizeof python->instrumented - used, "%s", names);
	snprintf(remedy, sizeof remedy,
		"--no-instrument leaves the environment alone; now it has PMTOP_LAUNCH, PMTOP_LAUNCH_PACKAGE, and "
		"PYTHONPATH begins with %.*s",
		(int)strcspn(python->path, ":"), python->path);
	reason_set(news, STATUS_OK, remedy, "instrumented %.*sin process %d %s", (int)length, text, pid, text + length);
	return true;
}

/* A line of pmtop_launch_hooks.py: WORD PID TEXT. */
static bool read_line(struct launch_python *python, const char *line, struct reason *news, bool *is_failure)
{
	char word[16], text[160] = "";
	int pid = 0;
	python->has_started = true;
	if (sscanf(line, "%15s %d %159[^\n]", word, &pid, text) < 2)
		return false;
	if (strcmp(word, "instrumented") == 0) {
		python->instrumented_count++;
		return report_instrumented(python, pid, text, news);
	}
	if (strcmp(word, "failed") != 0 || python->has_failed)
		return false;
	python->has_failed = true;
	reason_set(
		news, STATUS_UNSUPPORTED, NULL, "pmtop cannot instrument process %d and infers its steps: %s", pid, text);
	return *is_failure = true;
}

static bool read_report(struct launch_python *python, struct reason *news, bool *is_failure)
{
	char text[NEWS_SIZE], clean[NEWS_SIZE];
	ssize_t length = python->fd >= 0 ? read(python->fd, text, sizeof text - 1) : 0;
	if (length <= 0)
		return false;
	text[length] = '\0';
	char *end = strchr(text, '\n');
	/* The rest is read at the next call. */
	lseek(python->fd, (end ? (off_t)(end + 1 - text) : 0) - (off_t)length, SEEK_CUR);
	if (!end)
		return false;
	text_clean(clean, sizeof clean, text, (size_t)(end - text));
	return read_line(python, clean, news, is_failure);
}

static bool refuse(struct launch_python *python, int64_t now_ns, struct reason *news, bool *is_failure)
{
	if (python->isolation)
		reason_set(news, STATUS_UNSUPPORTED,
			"start it without the option, or add pmtop.torch.instrument() to the script",
			"%s -%c ignores %s: pmtop cannot instrument it and infers its steps", python->name, python->isolation,
			python->isolation == 'S' ? "sitecustomize" : "PYTHONPATH");
	else if (python->fd >= 0 && !python->has_started && now_ns - python->begun_ns > PYTHON_MAX_NS)
		reason_set(news, STATUS_UNSUPPORTED, NULL,
			"%s has started no Python that reads PYTHONPATH: pmtop cannot instrument it", python->name);
	else
		return false;
	python->is_refused = true;
	return *is_failure = true;
}

bool launch_python_news(
	struct launch_python *python, bool publishes, int64_t now_ns, struct reason *news, bool *is_failure)
{
	*is_failure = false;
	if (!python->path || now_ns - python->read_ns < READ_EVERY_NS)
		return false;
	python->read_ns = now_ns;
	while (python->fd >= 0) {
		off_t before = lseek(python->fd, 0, SEEK_CUR);
		if (read_report(python, news, is_failure))
			return true;
		if (lseek(python->fd, 0, SEEK_CUR) == before)
			break;
	}
	return !publishes && !python->is_refused && refuse(python, now_ns, news, is_failure);
}

void launch_python_end(struct launch_python *python)
{
	if (python->report && python->fd >= 0) {
		close(python->fd);
		unlink(python->report);
	}
	free(python->path);
	free(python->package);
	free(python->report);
	*python = (struct launch_python){ .fd = -1 };
}
