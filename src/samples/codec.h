/* codec.h: encodes sample sets losslessly, and decodes them. This is the payload of a stream's blocks (stream.h).
 *
 * A record is: its kind; the length of the rest; a mask of which of run, lane, sequence and time differ from those
 * predicted by the record before, and these; its fields (layout.h). The stream's header maps the numbers of kinds and
 * metrics to names, so the lists may grow anywhere. A reader skips unknown kinds by their length. Each block is decoded
 * independently. */
#ifndef PMTOP_SAMPLES_CODEC_H
#define PMTOP_SAMPLES_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/samples/sample_set.h"

#define CODEC_TIME_MAX (INT64_C(1) << 61)
/* CODEC_SET_MAX: a decoded set that would need more bytes loses its last records, and `failed` is set. */
enum { CODEC_NUMBERS_MAX = 512, CODEC_SET_MAX = 256 << 20 };

/* Maps the numbers of a stream to those of this program; −1 = unknown. */
struct codec_numbers {
	int16_t kinds[CODEC_NUMBERS_MAX], metrics[CODEC_NUMBERS_MAX];
};

#endif
