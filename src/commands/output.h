/* output.h: text on standard output, whole. A reader that went away (| head -1) is no error: it ends the command quietly. */
#ifndef PMTOP_COMMANDS_OUTPUT_H
#define PMTOP_COMMANDS_OUTPUT_H

#include <stdbool.h>

#include "src/base/buffer.h"

/* Writes and empties the buffer. False: nobody reads any more, or it could not be written (said on standard error; *code is then 1). */
bool output_flush(struct buffer *buffer, int *code);

#endif
