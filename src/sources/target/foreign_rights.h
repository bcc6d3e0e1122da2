/* foreign_rights.h: the rights with which another process reads files: its user, groups and capabilities
 * (proc_pid_status(5), credentials(7)).
 *
 * A file whose name comes from another process is read with these rights, not with pmtop's own. */
#ifndef PMTOP_SOURCES_TARGET_FOREIGN_RIGHTS_H
#define PMTOP_SOURCES_TARGET_FOREIGN_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

enum { FOREIGN_GROUPS_MAX = 256 };

struct foreign_rights {
	uid_t uid;
	gid_t gid;
	/* CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, if it has them in pmtop's own user namespace */
	uint64_t capabilities;
	size_t group_count;
	gid_t groups[FOREIGN_GROUPS_MAX];
};

/* `process_fd`: /proc/PID. DENIED: its real, effective, saved and file system ids differ, so it is just changing
 * them (su, sudo), or it has more groups than fit; no file may be read for it then. NOT_FOUND: it has ended. */
enum status foreign_rights_read(int process_fd, struct foreign_rights *out);
/* The same from the text of a status file. `is_same_namespace`: the process is in pmtop's own user namespace. */
enum status foreign_rights_parse(const char *text, bool is_same_namespace, struct foreign_rights *out);
bool foreign_rights_are_equal(const struct foreign_rights *a, const struct foreign_rights *b);

#endif
