/* died_output.h: reads the end of a program's output: the last Python traceback, messages of known errors, the last
 * lines. The text is untrusted; "\r", escape sequences and prefixes of ranks ("[rank0]: ") are removed. */
#ifndef PMTOP_DIED_DIED_OUTPUT_H
#define PMTOP_DIED_DIED_OUTPUT_H

#include "src/died/died.h"

enum { DIED_OUTPUT_MAX = 256 * 1024 };

void died_output_read(const char *text, size_t length, struct died_output *out);
/* The same from the last DIED_OUTPUT_MAX bytes of a part of a file. */
void died_output_read_file(int fd, const struct died_part *part, struct died_output *out);

#endif
