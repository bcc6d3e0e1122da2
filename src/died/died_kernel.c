#include "src/died/died_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"

enum { RECORD_SIZE = 8192, RECORDS_MAX = 200000 };

/* `mark` followed by the pid, and by no further digit. */
static bool names(const char *text, const char *mark, int32_t pid)
{
	const char *at = strstr(text, mark);
	char *end;
	return at && pid > 0 && strtol(at + strlen(mark), &end, 10) == pid && end > at + strlen(mark);
}

/* "python[4711]: segfault at 0 ip …", "traps: python[4711] general protection fault …" */
static bool is_fault(const char *text, int32_t pid)
{
	return names(text, "[", pid) &&
		(strstr(text, "segfault at") || strstr(text, "general protection") || strstr(text, "trap "));
}

/* "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python, …"; older drivers name no pid. */
static bool is_xid(const char *text, int32_t pid)
{
	return strstr(text, "NVRM: Xid") && (!strstr(text, "pid=") || names(text, "pid=", pid) || strstr(text, "pid='<"));
}

void died_kernel_take(const char *record, int32_t pid, int64_t from_us, struct died_evidence *out)
{
	long long at_us;
	const char *text = strchr(record, ';');
	if (!text || sscanf(record, "%*u,%*u,%lld", &at_us) != 1 || at_us < from_us)
		return;
	text++;
	enum died_kernel_kind kind = names(text, "Killed process ", pid) ? DIED_KERNEL_OOM
		: is_fault(text, pid)                                        ? DIED_KERNEL_FAULT
		: is_xid(text, pid)                                          ? DIED_KERNEL_XID
																	 : DIED_KERNEL_NOTHING;
	if (kind == DIED_KERNEL_NOTHING || (kind == DIED_KERNEL_XID && out->kernel != DIED_KERNEL_NOTHING))
		return;
	out->kernel = kind;
	text_clean(out->kernel_line, sizeof out->kernel_line, text, strcspn(text, "\n"));
}

void died_kernel_read(const char *path, int32_t pid, int64_t from_us, struct died_evidence *out)
{
	char record[RECORD_SIZE];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < RECORDS_MAX; i++) {
		ssize_t got = read(fd, record, sizeof record - 1);
		if (got < 0 && (errno == EPIPE || errno == EINTR)) /* overwritten meanwhile */
			continue;
		if (got <= 0)
			break;
		record[got] = '\0';
		died_kernel_take(record, pid, from_us, out);
	}
	if (fd >= 0)
		close(fd);
}
