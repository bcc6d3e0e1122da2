/* output_file.h: an output file that is complete or absent: pmtop writes a temporary file beside it and renames that at
 * the end, replacing an existing file. Standard output, pipes and devices are written directly. */
#ifndef PMTOP_SESSION_OUTPUT_FILE_H
#define PMTOP_SESSION_OUTPUT_FILE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/files/new_file.h"
#include "src/base/status.h"

struct output_file {
	struct new_file file; /* its descriptor may be standard output */
	struct buffer out;
	bool (*goes_on)(void); /* called while the reader does not read: false gives up. NULL: always true */
};

/* `path` NULL or "-": standard output. `not_this` (may be NULL): the input, which must not be replaced. */
enum status output_file_open(struct output_file *file, const char *path, const char *not_this, struct reason *why_not);
/* Writes and empties `out`. Returns false if the reader is gone, or if a write failed (printed on standard error; *code
 * is then 1). */
bool output_file_drain(struct output_file *file, int *code);
/* Drains, closes and renames the file; returns false as above. With `is_whole` false it removes the file instead. */
bool output_file_close(struct output_file *file, bool is_whole, int *code);

#endif
