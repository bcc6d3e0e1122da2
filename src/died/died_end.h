/* died_end.h: the end of a process that pmtop started or watched, in a small file: end-PID.json in pmtop's folder of
 * state, for `pmtop why-died` afterwards. */
#ifndef PMTOP_DIED_DIED_END_H
#define PMTOP_DIED_DIED_END_H

#include "src/base/status.h"
#include "src/died/died.h"

enum { DIED_ENDS_MAX = 64 };

/* `command`: its whole command line; empty: not known, so no other end is compared with this one. Failing is no error.
 * Older files beyond DIED_ENDS_MAX are removed. */
void died_end_write(const char *folder, const struct died_evidence *evidence, const char *command);
/* The newest end of the process (0: of any) and with this recording (an absolute path; NULL: any), with the last one of
 * the same command that exited with 0, and its output. NOT_FOUND. */
enum status died_end_read(
	const char *folder, int32_t pid, const char *recording, struct died_evidence *out, struct reason *why_not);

#endif
