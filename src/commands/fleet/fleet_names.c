#include "src/commands/fleet/fleet_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/text.h"
#include "src/fleet/fleet.h"

enum { NAME_SIZE = 256, LINE_SIZE = 64 * 1024, DIGITS_MAX = 9 };

static const char between[] = " \t\r\n";

void fleet_names_release(struct fleet_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct fleet_names){ 0 };
}

static bool has_name(const struct fleet_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

/* A name that came before is left out: its host would be reached twice. */
static enum status add_name(struct fleet_names *names, const char *name, struct reason *why_not)
{
	if (has_name(names, name))
		return STATUS_OK;
	if (names->count == FLEET_HOSTS_MAX)
		return reason_set(why_not, STATUS_INVALID, NULL, "too many hosts: at most %d", FLEET_HOSTS_MAX);
	if (names->count == names->capacity) {
		size_t capacity = names->capacity ? 2 * names->capacity : 16;
		char **more = realloc(names->names, capacity * sizeof *more);
		if (!more)
			return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		names->names = more;
		names->capacity = capacity;
	}
	char *copy = strdup(name);
	if (!copy)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	names->names[names->count++] = copy;
	return STATUS_OK;
}

/* -- lists -- */

static enum status refuse(const char *text, struct reason *why_not)
{
	char shown[80];
	text_clean(shown, sizeof shown, text, strlen(text));
	return reason_set(why_not, STATUS_INVALID, "such as node[001-400,512]", "%s is no list of hosts", shown);
}

/* "7" or "001-400" at `text`, which ends at `end`. Returns the digits of its first number, 0: it is neither. */
static size_t read_range(const char *text, const char *end, unsigned long *first, unsigned long *last)
{
	static const char digits[] = "0123456789";
	size_t width = strspn(text, digits), more = 0;
	*first = *last = strtoul(text, NULL, 10);
	if (text[width] == '-') {
		more = strspn(text + width + 1, digits);
		*last = strtoul(text + width + 1, NULL, 10);
		if (!more)
			return 0;
		more++;
	}
	return text + width + more == end && width <= DIGITS_MAX && more <= DIGITS_MAX + 1 && *first <= *last ? width : 0;
}

/* `done`: what stands before `text` in the name. */
static enum status expand(struct fleet_names *names, const char *done, const char *text, struct reason *why_not)
{
	char name[NAME_SIZE];
	size_t plain = strcspn(text, "[]");
	const char *close = text[plain] == '[' ? strchr(text + plain, ']') : NULL;
	enum status status = STATUS_OK;
	if (!text[plain]) {
		int used = snprintf(name, sizeof name, "%s%s", done, text);
		return used < (int)sizeof name ? add_name(names, name, why_not) : refuse(text, why_not);
	}
	for (const char *from = text + plain + 1, *end; close && from <= close && status == STATUS_OK; from = end + 1) {
		unsigned long first, last;
		end = from + strcspn(from, ",]");
		size_t width = read_range(from, end, &first, &last);
		if (!width)
			return refuse(text, why_not);
		for (unsigned long i = first; i <= last && status == STATUS_OK; i++) {
			int used = snprintf(name, sizeof name, "%s%.*s%0*lu", done, (int)plain, text, (int)width, i);
			status = used < (int)sizeof name ? expand(names, name, close + 1, why_not) : refuse(text, why_not);
		}
	}
	return close ? status : refuse(text, why_not);
}

/* The parts between commas outside brackets. Changes `word`. */
static enum status add_list(struct fleet_names *names, char *word, struct reason *why_not)
{
	enum status status = STATUS_OK;
	while (word && status == STATUS_OK) {
		char *at = word;
		for (int depth = 0; *at && (*at != ',' || depth); at++)
			depth += (*at == '[') - (*at == ']');
		char *next = *at ? at + 1 : NULL;
		*at = '\0';
		status = *word ? expand(names, "", word, why_not) : refuse(",", why_not);
		word = next;
	}
	return status;
}

static enum status add_line(struct fleet_names *names, char *line, struct reason *why_not)
{
	char *state = NULL;
	enum status status = STATUS_OK;
	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, between, &state); word && status == STATUS_OK;
		 word = strtok_r(NULL, between, &state))
		status = add_list(names, word, why_not);
	return status;
}

static enum status add_lines(struct fleet_names *names, FILE *file, struct reason *why_not)
{
	char *line = malloc(LINE_SIZE);
	enum status status = line ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	while (status == STATUS_OK && fgets(line, LINE_SIZE, file))
		status = add_line(names, line, why_not);
	free(line);
	return status;
}

enum status fleet_names_add(struct fleet_names *names, const char *word, struct reason *why_not)
{
	if (word[0] == '@') {
		FILE *file = fopen(word + 1, "re");
		if (!file)
			return reason_set(why_not, STATUS_INVALID, NULL, "%s: %s", word + 1, strerror(errno));
		enum status status = add_lines(names, file, why_not);
		fclose(file);
		return status;
	}
	char *copy = strdup(word);
	enum status status =
		copy ? add_list(names, copy, why_not) : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	free(copy);
	return status;
}

/* -- Slurm -- */

/* squeue prints its errors itself. */
enum status fleet_names_add_job(struct fleet_names *names, const char *job, struct reason *why_not)
{
	char command[512], quoted[256], shown[64];
	size_t before = names->count;
	text_shell_word(quoted, sizeof quoted, job);
	snprintf(command, sizeof command, "squeue -h -o %%N -j %s", quoted);
	FILE *pipe = popen(command, "re");
	enum status status = pipe ? add_lines(names, pipe, why_not) : STATUS_OK;
	if (pipe)
		pclose(pipe);
	if (status != STATUS_OK || names->count > before)
		return status;
	text_clean(shown, sizeof shown, job, strlen(job));
	return reason_set(why_not, STATUS_IO, "name its hosts: pmtop fleet --srun JOBID HOST ...",
		"squeue names no hosts of job %s", shown);
}
