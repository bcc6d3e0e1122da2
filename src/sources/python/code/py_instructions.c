#include "src/sources/python/code/py_instructions.h"

#include <stdlib.h>

#include "src/sources/python/remote.h"

/* Of a bytes object, and of the code object that has its instructions within. */
enum { SIZE = 16, BYTES = 32 };

unsigned char *py_instructions_read(const struct py_process *process, uint64_t code, size_t *size)
{
	const struct py_layout *layout = &process->location.layout;
	bool is_within = layout->ip == PY_IP_ADDRESS;
	uint64_t at = code + layout->code_bytes, count, object = code;
	if (!is_within && !remote_word(process->pid, at, &object))
		return NULL;
	if (!remote_word(process->pid, object + SIZE, &count) || count == 0 || count > PY_BYTES_MAX)
		return NULL;
	at = is_within ? at : object + BYTES;
	count *= is_within ? 2 : 1;
	unsigned char *bytes = malloc(count);
	if (bytes && remote_read(process->pid, at, bytes, count)) {
		*size = count;
		return bytes;
	}
	free(bytes);
	return NULL;
}
