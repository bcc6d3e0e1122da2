/* crc32c.h: the Castagnoli CRC (polynomial 0x1EDC6F41, reflected; RFC 3720, appendix B.4), used by iSCSI, ext4 and
 * TensorBoard. */
#ifndef PMTOP_BASE_FORMATS_CRC32C_H
#define PMTOP_BASE_FORMATS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` over more bytes; start with 0. crc32c(0, "123456789", 9) is 0xe3069283. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t length);

#endif
