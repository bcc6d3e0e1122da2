#include "src/sources/target/foreign_rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"

enum { STATUS_FILE_SIZE = 16 * 1024, IDS = 4, LINK_SIZE = 64 };

/* The text after "key:" at the start of a line; NULL: there is no such line. */
static const char *find_field(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

/* The next number of the line; false: there is none. */
static bool next_number(const char **at, int base, uint64_t *out)
{
	char *end;
	while (**at == ' ' || **at == '\t')
		(*at)++;
	if (**at == '\0' || **at == '\n')
		return false;
	*out = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* Reads the real, effective, saved and file system id; false: they differ. */
static bool read_id(const char *text, const char *key, uint64_t *out)
{
	const char *at = find_field(text, key);
	uint64_t ids[IDS];
	for (int i = 0; i < IDS; i++)
		if (!at || !next_number(&at, 10, &ids[i]) || ids[i] != ids[0] || ids[i] >= UINT32_MAX)
			return false;
	*out = ids[0];
	return true;
}

static bool read_groups(const char *text, struct foreign_rights *out)
{
	const char *at = find_field(text, "Groups");
	uint64_t group;
	if (!at)
		return false;
	while (next_number(&at, 10, &group)) {
		if (out->group_count == FOREIGN_GROUPS_MAX || group >= UINT32_MAX)
			return false;
		out->groups[out->group_count++] = (gid_t)group;
	}
	return *at == '\n';
}

enum status foreign_rights_parse(const char *text, bool is_same_namespace, struct foreign_rights *out)
{
	const uint64_t reading = UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
	struct foreign_rights rights = { .group_count = 0 };
	uint64_t uid, gid, effective;
	const char *capabilities = find_field(text, "CapEff");
	if (!read_id(text, "Uid", &uid) || !read_id(text, "Gid", &gid) || !read_groups(text, &rights))
		return STATUS_DENIED;
	rights.uid = (uid_t)uid;
	rights.gid = (gid_t)gid;
	/* Capabilities in another user namespace hold only for files that it owns. */
	if (uid == 0 && is_same_namespace && capabilities && next_number(&capabilities, 16, &effective))
		rights.capabilities = effective & reading;
	*out = rights;
	return STATUS_OK;
}

static bool is_in_our_namespace(int process_fd)
{
	char its[LINK_SIZE], ours[LINK_SIZE];
	ssize_t length = readlinkat(process_fd, "ns/user", its, sizeof its);
	return length > 0 && length < LINK_SIZE && readlink("/proc/self/ns/user", ours, sizeof ours) == length &&
		memcmp(its, ours, (size_t)length) == 0;
}

enum status foreign_rights_read(int process_fd, struct foreign_rights *out)
{
	char text[STATUS_FILE_SIZE];
	size_t length;
	enum status status = file_read(process_fd, "status", text, sizeof text, &length);
	return status == STATUS_OK ? foreign_rights_parse(text, is_in_our_namespace(process_fd), out) : status;
}

bool foreign_rights_are_equal(const struct foreign_rights *a, const struct foreign_rights *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->capabilities == b->capabilities &&
		a->group_count == b->group_count && memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0;
}
