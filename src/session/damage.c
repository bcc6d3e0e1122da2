#include "src/session/damage.h"

#include <stdint.h>
#include <stdio.h>

#include "src/base/text.h"

bool damage_text(const struct stream_losses *losses, char out[DAMAGE_SIZE])
{
	char blocks[NUMBER_SIZE], bytes[NUMBER_SIZE];
	const char *block_s = losses->blocks == 1 ? "" : "s", *byte_s = losses->bytes == 1 ? "" : "s";
	format_grouped(blocks, losses->blocks);
	format_grouped(bytes, losses->bytes);
	out[0] = '\0';
	if (losses->blocks && losses->bytes)
		snprintf(out, DAMAGE_SIZE, "%s block%s (%s byte%s) damaged, the rest is shown", blocks, block_s, bytes, byte_s);
	else if (losses->blocks)
		snprintf(out, DAMAGE_SIZE, "%s block%s missing, the rest is shown", blocks, block_s);
	else if (losses->bytes)
		snprintf(out, DAMAGE_SIZE, "%s byte%s damaged, the rest is shown", bytes, byte_s);
	return out[0];
}
