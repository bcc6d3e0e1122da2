#include "src/commands/damage.h"

#include <stdint.h>
#include <stdio.h>

enum { DIGITS_SIZE = 32 };

/* "1,204" */
static const char *count_text(char out[DIGITS_SIZE], uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

bool damage_text(const struct stream_losses *losses, char out[DAMAGE_SIZE])
{
	char blocks[DIGITS_SIZE], bytes[DIGITS_SIZE];
	const char *block_s = losses->blocks == 1 ? "" : "s", *byte_s = losses->bytes == 1 ? "" : "s";
	count_text(blocks, losses->blocks);
	count_text(bytes, losses->bytes);
	out[0] = '\0';
	if (losses->blocks && losses->bytes)
		snprintf(out, DAMAGE_SIZE, "%s block%s (%s byte%s) damaged, the rest is shown", blocks, block_s, bytes, byte_s);
	else if (losses->blocks)
		snprintf(out, DAMAGE_SIZE, "%s block%s missing, the rest is shown", blocks, block_s);
	else if (losses->bytes)
		snprintf(out, DAMAGE_SIZE, "%s byte%s damaged, the rest is shown", bytes, byte_s);
	return out[0];
}
