#include "src/sources/proc/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/files/file_aside.h"

enum status proc_file_read(
	int directory_fd, int *fd, bool keep, const char *name, char *out, size_t size, size_t *length)
{
	char whole[HANG_PATH_SIZE];
	if (*fd < 0 && file_is_aside(directory_fd, name, whole))
		return file_read(directory_fd, name, out, size, length);
	if (*fd < 0) {
		*fd = file_open(directory_fd, name, O_RDONLY | O_NOCTTY | O_NONBLOCK);
		if (*fd < 0)
			return errno == EMFILE || errno == ENFILE ? STATUS_AGAIN : status_of_errno(errno);
	}
	enum status status = file_reread(*fd, out, size, length);
	if (!keep || status != STATUS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}

/* The fields after the name, numbered as in proc_pid_stat(5), and where they go. */
static const struct {
	unsigned number;
	size_t offset;
} stat_fields[] = {
	{ 10, offsetof(struct proc_stat, minor_faults) },
	{ 12, offsetof(struct proc_stat, major_faults) },
	{ 14, offsetof(struct proc_stat, user_ticks) },
	{ 15, offsetof(struct proc_stat, system_ticks) },
	{ 20, offsetof(struct proc_stat, threads) },
	{ 22, offsetof(struct proc_stat, start_ticks) },
	{ 23, offsetof(struct proc_stat, virtual_bytes) },
	{ 24, offsetof(struct proc_stat, resident_pages) },
	{ 26, offsetof(struct proc_stat, start_code) },
	{ 27, offsetof(struct proc_stat, end_code) },
	{ 28, offsetof(struct proc_stat, start_stack) },
};

enum { STAT_FIRST_NUMBER = 4, STAT_LAST_NUMBER = 28, STAT_DISK_WAIT = 42 };

/* The words in between are skipped unparsed, which matters with many processes. */
static uint64_t word_far_on(const char *at, unsigned words)
{
	for (; words > 0; words--) {
		at += strspn(at, " ");
		at = strchr(at, ' ');
		if (!at)
			return 0;
	}
	return strtoull(at, NULL, 10);
}

bool proc_stat_parse(const char *text, size_t length, struct proc_stat *out)
{
	/* A name may hold ") R (": only the last parenthesis ends it. */
	const char *open = memchr(text, '(', length);
	const char *close = memrchr(text, ')', length);
	if (!open || !close || close < open || text + length - close < 5 || close[1] != ' ' || close[3] != ' ')
		return false;

	struct proc_stat stat = { .state = close[2] };
	size_t comm_length = (size_t)(close - open - 1);
	if (comm_length >= sizeof stat.comm)
		comm_length = sizeof stat.comm - 1;
	memcpy(stat.comm, open + 1, comm_length);

	const char *at = close + 4;
	size_t next = 0;
	for (unsigned number = STAT_FIRST_NUMBER; number <= STAT_LAST_NUMBER; number++) {
		char *end;
		errno = 0;
		uint64_t value = strtoull(at, &end, 10);
		if (end == at || errno)
			return false;
		at = end;
		if (number == STAT_FIRST_NUMBER)
			stat.parent = (pid_t)value;
		if (next < sizeof stat_fields / sizeof *stat_fields && number == stat_fields[next].number)
			memcpy((char *)&stat + stat_fields[next++].offset, &value, sizeof value);
	}
	stat.disk_wait_ticks = word_far_on(at, STAT_DISK_WAIT - STAT_LAST_NUMBER - 1);
	*out = stat;
	return true;
}

static bool parse_column(const char *at, unsigned column, uint64_t *out)
{
	for (unsigned i = 0;; i++) {
		char *end;
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			return false;
		errno = 0;
		uint64_t value = strtoull(at, &end, 10);
		if (errno)
			return false;
		if (i == column) {
			*out = value;
			return true;
		}
		at = end;
	}
}

const char *proc_field(const char *text, const char *key, unsigned column, uint64_t *out)
{
	size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return parse_column(line + length + 1, column, out) ? line : NULL;
	}
	return NULL;
}
