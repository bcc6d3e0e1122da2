#include "src/sources/python/code/py_instructions.h"

#include <stdlib.h>

#include "src/sources/python/remote.h"

/* Of a bytes object, and of the code object that has its instructions within. */
enum { SIZE = 16, BYTES = 32 };

static unsigned char *read_at(const struct py_process *process, uint64_t at, uint64_t count, size_t *size)
{
	if (count > PY_BYTES_MAX)
		return NULL;
	unsigned char *bytes = malloc(count + 1);
	if (bytes && (count == 0 || remote_read(process->pid, at, bytes, count))) {
		*size = count;
		return bytes;
	}
	free(bytes);
	return NULL;
}

unsigned char *py_bytes_read(const struct py_process *process, uint64_t object, size_t *size)
{
	uint64_t count;
	return remote_word(process->pid, object + SIZE, &count) ? read_at(process, object + BYTES, count, size) : NULL;
}

unsigned char *py_instructions_read(const struct py_process *process, uint64_t code, size_t *size)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t at = code + layout->code_bytes, count, object;
	if (layout->ip != PY_IP_ADDRESS)
		return remote_word(process->pid, at, &object) ? py_bytes_read(process, object, size) : NULL;
	if (!remote_word(process->pid, code + SIZE, &count) || count > PY_BYTES_MAX)
		return NULL;
	return read_at(process, at, 2 * count, size);
}
