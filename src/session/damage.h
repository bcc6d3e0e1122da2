/* damage.h: the sentence about damaged blocks of a recording, the same for every command. */
#ifndef PMTOP_SESSION_DAMAGE_H
#define PMTOP_SESSION_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/samples/stream.h"

enum { DAMAGE_SIZE = 128 };

/* "3 blocks (1,204 bytes) damaged, the rest is shown". Returns false, with an empty `out`, if nothing is damaged. */
bool damage_text(const struct stream_losses *losses, char out[DAMAGE_SIZE]);

#endif
