/* Files of /proc and the kernel's log, and what a program printed. Other processes choose parts of all of them: their
 * names, arguments, environment, mounts and output. The first byte of the input says which file. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/mounts.h"
#include "src/died/died.h"
#include "src/died/died_kernel.h"
#include "src/died/died_output.h"
#include "src/died/died_words.h"
#include "src/sources/proc/cgroup_find.h"
#include "src/sources/proc/environment.h"
#include "src/sources/proc/proc_file.h"
#include "src/sources/target/command.h"
#include "src/sources/target/foreign_rights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

/* Of exactly its size and a NUL, so that a byte too far is seen. */
static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void no_controls(const char *text)
{
	for (; *text; text++)
		must((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void read_stat(char *text, size_t size)
{
	struct proc_stat stat;
	if (proc_stat_parse(text, size, &stat))
		must(memchr(stat.comm, '\0', sizeof stat.comm) != NULL);
}

static void read_fields(char *text, size_t size)
{
	static const char *const keys[] = { "VmRSS", "Cpus_allowed_list", "read_bytes", "NSpid" };
	uint64_t value;
	(void)size;
	for (unsigned i = 0; i < 8; i++) {
		const char *line = proc_field(text, keys[i % 4], i / 4, &value);
		must(!line || (line >= text && line <= text + size));
	}
}

static void read_cgroups(char *text, size_t size)
{
	static char scratch[CGROUP_TEXT_SIZE];
	struct cgroup_location location;
	(void)size;
	if (cgroup_find("/nowhere", 1, text, "memory", scratch, &location)) {
		must(strlen(location.path) < sizeof location.path);
		while (cgroup_go_up(&location))
			must(strlen(location.path) >= location.top_length);
	}
}

static void read_mounts(char *text, size_t size)
{
	struct mount mount;
	char *split = memchr(text, '\0', size);
	if (mounts_find(text, split && split < text + size ? split + 1 : "/dev/shm/x", &mount)) {
		must(memchr(mount.point, '\0', sizeof mount.point) && memchr(mount.options, '\0', sizeof mount.options));
		mount_may_hang(&mount);
	}
}

static void read_environment(char *text, size_t size)
{
	struct variable variables[] = { { .name = "RANK" }, { .name = "WORLD_SIZE" }, { .name = "A" } };
	environment_parse(text, size, variables, 3);
	for (unsigned i = 0; i < 3; i++)
		must(memchr(variables[i].value, '\0', sizeof variables[i].value) != NULL);
}

static void read_rights(char *text, size_t size)
{
	struct foreign_rights rights;
	(void)size;
	if (foreign_rights_parse(text, size % 2, &rights) == STATUS_OK)
		must(rights.group_count <= FOREIGN_GROUPS_MAX);
}

static void read_command(char *text, size_t size)
{
	char name[64];
	command_shorten(name, sizeof name, text, size, "python3");
	no_controls(name);
}

/* Lines as the kernel writes them, each a record. */
static void read_log(char *text, size_t size)
{
	struct died_evidence evidence;
	char words[DIED_WORDS_SIZE];
	(void)size;
	died_init(&evidence);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		died_kernel_take(line, 4711, 1000, &evidence);
	no_controls(evidence.kernel_line);
	must(died_judge(&evidence) < DIED_CAUSES);
	no_controls(died_sentence(&evidence, words));
}

static void read_output(char *text, size_t size)
{
	struct died_evidence evidence;
	char words[DIED_WORDS_SIZE];
	died_init(&evidence);
	died_output_read(text, size, &evidence.output);
	must(evidence.output.line_count <= DIED_LINES_MAX);
	for (size_t i = 0; i < evidence.output.line_count; i++)
		no_controls(evidence.output.lines[i]);
	no_controls(evidence.output.exception);
	must(died_judge(&evidence) < DIED_CAUSES);
	no_controls(died_sentence(&evidence, words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(char *, size_t) = { read_stat, read_fields, read_cgroups, read_mounts,
		read_environment, read_rights, read_command, read_log, read_output };
	if (size == 0)
		return 0;
	char *text = text_of(data + 1, size - 1);
	readers[data[0] % (sizeof readers / sizeof *readers)](text, size - 1);
	free(text);
	return 0;
}
