/* stream_private.h: shared by the code that writes and reads blocks. */
#ifndef PMTOP_SAMPLES_STREAM_PRIVATE_H
#define PMTOP_SAMPLES_STREAM_PRIVATE_H

#define BLOCK_MAGIC_TEXT "pmtB"
enum { BLOCK_MAGIC = 0x42746d70, BLOCK_CRC_AT = 36 };

#endif
