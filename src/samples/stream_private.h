/* stream_private.h: what writing and reading blocks share. */
#ifndef PMTOP_SAMPLES_STREAM_PRIVATE_H
#define PMTOP_SAMPLES_STREAM_PRIVATE_H

enum { BLOCK_MAGIC = 0x42746d70 /* "pmtB" */, BLOCK_CRC_AT = 36 };

#endif
