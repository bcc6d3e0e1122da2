#include "src/sources/region/region_advice.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"

enum { MEMBERS_MAX = 8, BUFFER_SIZE = 16 * 1024, MAPPINGS_MAX = 20000 };

#define AGAIN_NS (5 * NS_PER_S)
#define AGAIN_FOUND_NS (60 * NS_PER_S)

/* A path comes after the fields of a line, of which none has a slash. */
static void check_line(struct region_advice *advice, const char *line)
{
	const char *path = strchr(line, '/');
	if (!path)
		return;
	advice->found = framework_first(advice->found, path);
	advice->is_python |= strstr(path, "/python3") || strstr(path, "/libpython3");
}

static void check_maps(struct region_advice *advice, const struct target_member *member)
{
	char text[BUFFER_SIZE];
	size_t retained = 0, count = 0;
	ssize_t length;
	int fd = file_open(member->directory_fd, "maps", O_RDONLY);
	while (fd >= 0 && count < MAPPINGS_MAX &&
		(length = file_read_some(fd, text + retained, sizeof text - 1 - retained)) > 0) {
		char *line = text, *end;
		text[retained + (size_t)length] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1, count++) {
			*end = '\0';
			check_line(advice, line);
		}
		retained = strlen(line);
		retained = retained < sizeof text - 1 ? retained : 0;
		memmove(text, line, retained);
	}
	if (fd >= 0)
		close(fd);
}

/* A copy of its parent by fork, as a DataLoader's worker: it has the same libraries. With random layout no two programs
 * have the same stack. */
static bool is_copy(const struct target *target, const struct target_member *member)
{
	for (size_t i = 0; i < target->member_count; i++) {
		const struct proc_stat *of_parent = &target->members[i].stat, *own = &member->stat;
		if (target->members[i].pid == member->parent)
			return own->start_code > 1 && own->start_code == of_parent->start_code &&
				own->end_code == of_parent->end_code && own->start_stack == of_parent->start_stack;
	}
	return false;
}

void region_advice_renew(struct region_advice *advice, const struct target *target, int64_t now_ns)
{
	if (now_ns < advice->next_ns)
		return;
	advice->found = NULL;
	advice->is_python = false;
	for (size_t i = 0; i < target->member_count && i < MEMBERS_MAX; i++)
		if (!is_copy(target, &target->members[i]))
			check_maps(advice, &target->members[i]);
	advice->next_ns = now_ns + (advice->found ? AGAIN_FOUND_NS : AGAIN_NS);
}
