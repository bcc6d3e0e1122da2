#include "src/base/formats/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { SLICES = 8 };

/* Slicing-by-8: table[k][b] is the CRC of byte b followed by k zero bytes. */
static uint32_t table[SLICES][256];
static bool has_instruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
		table[0][byte] = crc;
	}
	for (int slice = 1; slice < SLICES; slice++)
		for (int byte = 0; byte < 256; byte++)
			table[slice][byte] = table[slice - 1][byte] >> 8 ^ table[0][table[slice - 1][byte] & 0xff];
}

static uint32_t little(const unsigned char *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t with_table(uint32_t crc, const unsigned char *at, size_t length)
{
	for (; length >= SLICES; at += SLICES, length -= SLICES) {
		uint32_t low = little(at) ^ crc, high = little(at + 4);
		crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
			table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^ table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
	}
	for (; length > 0; at++, length--)
		crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
	return crc;
}

/* SSE 4.2 has an instruction for this polynomial: eight bytes in three cycles. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2,crc32"))) static uint32_t with_instruction(
	uint32_t crc, const unsigned char *at, size_t length)
{
	uint64_t wide = crc, bytes;
	for (; length >= sizeof bytes; at += sizeof bytes, length -= sizeof bytes) {
		memcpy(&bytes, at, sizeof bytes);
		wide = __builtin_ia32_crc32di(wide, bytes);
	}
	crc = (uint32_t)wide;
	for (; length > 0; at++, length--)
		crc = __builtin_ia32_crc32qi(crc, *at);
	return crc;
}
#else
#define with_instruction with_table
#endif

static void begin(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__builtin_cpu_init();
	has_instruction = __builtin_cpu_supports("sse4.2");
#endif
	if (!has_instruction)
		fill_table();
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t length)
{
	pthread_once(&once, begin);
	return ~(has_instruction ? with_instruction : with_table)(~crc, bytes, length);
}
