/* trace_snapshot.h: pmtop trace, diff and snapshot on memory snapshots of PyTorch: as text or JSON. */
#ifndef PMTOP_COMMANDS_TRACE_SNAPSHOT_H
#define PMTOP_COMMANDS_TRACE_SNAPSHOT_H

#include "src/session/command.h"

/* How many of the files are pickles. */
int trace_snapshot_count(char *const *paths, int count);
/* Prints each of them; as JSON, several are snapshots[]. */
enum exit_code trace_snapshot_print(
	const char *const *paths, int count, const struct options *options, const struct settings *settings);
enum exit_code trace_snapshot_diff(
	const char *a, const char *b, const struct options *options, const struct settings *settings);

#endif
