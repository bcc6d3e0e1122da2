#include "src/sources/python/counters/py_thread_name.h"

#include <string.h>

#include "src/base/text.h"
#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"

/* The outermost frame is that of Thread._bootstrap(self). */
bool py_thread_name(const struct py_process *process, const struct py_sample *sample, char out[PY_THREAD_NAME_SIZE])
{
	uint64_t self, name;
	if (!sample->is_whole || sample->is_cut || sample->count == 0)
		return false;
	const struct py_site *site = &sample->sites[sample->count - 1];
	const struct py_code *code = &site->known->code;
	return text_ends_with(code->function, "_bootstrap") && text_ends_with(code->file, "/threading.py") &&
		py_local_first(process, &(struct py_activation){ site->frame, site->code }, &self) &&
		py_attribute_get(process, self, "_name", &name) && py_text_read(process, name, out, PY_THREAD_NAME_SIZE) &&
		out[0] != '\0';
}
