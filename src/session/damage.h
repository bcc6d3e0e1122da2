/* damage.h: what a recording has lost, in words: the same sentence for every command that reads one. */
#ifndef PMTOP_SESSION_DAMAGE_H
#define PMTOP_SESSION_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/samples/stream.h"

enum { DAMAGE_SIZE = 128 };

/* "3 blocks (1,204 bytes) damaged, the rest is shown". False: nothing is lost, and `out` is empty. */
bool damage_text(const struct stream_losses *losses, char out[DAMAGE_SIZE]);

#endif
