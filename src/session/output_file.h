/* output_file.h: a file that is there whole or not at all: written beside its name and renamed once it is complete; one
 * that stood there before is replaced. What is no regular file (a pipe, a device) is written as it comes, and so is
 * standard output. */
#ifndef PMTOP_SESSION_OUTPUT_FILE_H
#define PMTOP_SESSION_OUTPUT_FILE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/files/new_file.h"
#include "src/base/status.h"

struct output_file {
	struct new_file file; /* its descriptor may be standard output */
	struct buffer out;
	bool (*goes_on)(void); /* asked whenever nobody reads what is written: false ends it. NULL: always */
};

/* `path` NULL or "-": standard output. `not_this` (may be NULL) is a file that must not be replaced: what is read. */
enum status output_file_open(struct output_file *file, const char *path, const char *not_this, struct reason *why_not);
/* Writes and empties `out`. False: nobody reads any more, or it could not be written (said on standard error; *code is
 * then 1). */
bool output_file_drain(struct output_file *file, int *code);
/* Drains, closes and gives it its name; false as above. `is_whole` false: it is taken away. */
bool output_file_close(struct output_file *file, bool is_whole, int *code);

#endif
