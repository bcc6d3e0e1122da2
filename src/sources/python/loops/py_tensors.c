#include "src/sources/python/loops/py_tensors.h"

#include <string.h>

#include "src/sources/python/remote.h"

enum { OBJECT_WORDS = 4, TENSOR_WORDS = 24, STORAGE_WORDS = 8, OBJECT_IMPL = 2 };
/* Words behind that of the Python object, and behind the count of references. */
enum { DIMENSIONS = 1, STORAGE_OFFSET = 12, ELEMENTS = 13, KIND = 14, DEVICE = 3, SIZE = 4 };
enum { FLOAT32 = 6, FLOAT64 = 7 };
/* Bytes of a c10::Device, and of an optional one; older releases have its flag first. */
#define CPU 0xff00
#define IS_CPU (CPU | 0x010000)
#define IS_CPU_OLD (CPU << 8 | 0x01)
#define STORAGE_SIZE_MAX (UINT64_C(1) << 47)

/* Of one tensor, as read at once. */
struct words {
	uint64_t slot, object[OBJECT_WORDS], tensor[TENSOR_WORDS], storage[STORAGE_WORDS], value;
};

struct place {
	uint64_t slot, object, tensor, storage, data;
	size_t impl, pointer; /* in the object, and in the tensor: that of the storage, which its head has, too */
	size_t size;          /* of the element */
};

/* Fills what the tensor itself shows. `self`: index of the word with the object. */
static bool take_tensor(const uint64_t *words, size_t self, struct place *out)
{
	uint64_t kind = words[self + KIND] & 0xffff, device = words[self + KIND] >> 16 & 0xffffff;
	out->size = kind == FLOAT32 ? 4 : kind == FLOAT64 ? 8 : 0;
	out->storage = words[out->pointer];
	return out->size > 0 && (device == IS_CPU || device == IS_CPU_OLD) && words[self + DIMENSIONS] == 0 &&
		words[self + STORAGE_OFFSET] == 0 && words[self + ELEMENTS] == 1 && out->storage && out->storage % 8 == 0;
}

/* mse_loss resizes its output of many elements to one, and keeps the storage. */
static bool take_storage(const uint64_t *words, struct place *out)
{
	uint64_t size = words[out->pointer + SIZE];
	out->data = words[out->pointer];
	return (words[out->pointer + DEVICE] & 0xffff) == CPU && size >= out->size && size <= STORAGE_SIZE_MAX &&
		size % out->size == 0 && out->data && out->data % out->size == 0;
}

/* The head has one or two words of references; releases have an interpreter before the object, or not. */
static bool find(pid_t pid, struct place *out)
{
	uint64_t object[OBJECT_WORDS], tensor[TENSOR_WORDS], storage[STORAGE_WORDS];
	if (!remote_read(pid, out->object, object, sizeof object))
		return false;
	for (out->impl = OBJECT_IMPL; out->impl < OBJECT_WORDS; out->impl++) {
		out->tensor = object[out->impl];
		if (!out->tensor || out->tensor % 8 || !remote_read(pid, out->tensor, tensor, sizeof tensor))
			continue;
		for (out->pointer = 2; out->pointer <= 3; out->pointer++)
			for (size_t self = out->pointer + 4; self <= out->pointer + 5; self++)
				if (tensor[self] == out->object && take_tensor(tensor, self, out) &&
					remote_read(pid, out->storage, storage, sizeof storage) && take_storage(storage, out))
					return true;
	}
	return false;
}

/* Whether all is where it was found. */
static bool is_there(const struct py_layout *layout, const struct place *place, const struct words *words)
{
	struct place again = *place;
	for (size_t self = place->pointer + 4; self <= place->pointer + 5; self++)
		if (words->tensor[self] == place->object && take_tensor(words->tensor, self, &again) &&
			again.storage == place->storage && take_storage(words->storage, &again) && again.data == place->data &&
			again.size == place->size)
			return py_layout_object(layout, words->slot) == place->object &&
				py_layout_references(layout, words->object[0]) > 0 && words->object[place->impl] == place->tensor;
	return false;
}

/* Twice, and each time the value after what leads to it: memory that was freed and is used again between them would
 * have to hold the same. */
bool py_tensor_read(const struct py_process *process, uint64_t slot, uint64_t object, double *out)
{
	enum { PIECES = 5, TIMES = 2 };
	struct words words[TIMES] = { { .value = 0 } };
	struct remote_piece pieces[PIECES * TIMES + 1];
	struct place place = { .slot = slot, .object = object };
	const struct py_layout *layout = &process->location.layout;
	uint64_t last;
	float single;
	if (!object || object % 8 || !find(process->pid, &place))
		return false;
	for (size_t i = 0; i < TIMES; i++) {
		struct remote_piece *piece = &pieces[PIECES * i];
		piece[0] = (struct remote_piece){ slot, &words[i].slot, sizeof words[i].slot };
		piece[1] = (struct remote_piece){ object, words[i].object, sizeof words[i].object };
		piece[2] = (struct remote_piece){ place.tensor, words[i].tensor, sizeof words[i].tensor };
		piece[3] = (struct remote_piece){ place.storage, words[i].storage, sizeof words[i].storage };
		piece[4] = (struct remote_piece){ place.data, &words[i].value, place.size };
	}
	pieces[PIECES * TIMES] = (struct remote_piece){ slot, &last, sizeof last };
	if (!remote_read_pieces(process->pid, pieces, PIECES * TIMES + 1) || !is_there(layout, &place, &words[0]) ||
		!is_there(layout, &place, &words[1]) || words[0].value != words[1].value ||
		py_layout_object(layout, last) != object)
		return false;
	memcpy(&single, &words[0].value, sizeof single);
	memcpy(out, &words[0].value, sizeof *out);
	*out = place.size == sizeof single ? (double)single : *out;
	return true;
}
