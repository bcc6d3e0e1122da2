/* Memory snapshots: read, and shown as text, as JSON and beside themselves. Nothing that reaches a terminal may hold a
 * control character. */
#include <stdint.h>
#include <stdlib.h>

#include "src/base/buffer.h"
#include "src/trace/snapshot/snapshot_diff.h"
#include "src/trace/snapshot/snapshot_json.h"
#include "src/trace/snapshot/snapshot_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct buffer *out)
{
	for (size_t i = 0; i < out->length; i++)
		if ((unsigned char)out->data[i] < ' ' && out->data[i] != '\n')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reason reason;
	struct buffer out = BUFFER_INIT;
	struct json json = { .out = &out };
	struct profile_view view = { .width = 80, .limit = 20 };
	struct snapshot *both = calloc(2, sizeof *both);
	if (both && snapshot_read_memory(&both[0], data, size, &reason) == STATUS_OK) {
		snapshot_as_text(&out, &both[0], &view);
		check_text(&out);
		snapshot_as_json(&json, &both[0], &view);
		if (snapshot_read_memory(&both[1], data, size, &reason) != STATUS_OK)
			abort();
		buffer_clear(&out);
		snapshot_diff_as_text(&out, &both[0], &both[1], &view);
		check_text(&out);
		snapshot_release(&both[0]);
		snapshot_release(&both[1]);
	}
	buffer_release(&out);
	free(both);
	return 0;
}
