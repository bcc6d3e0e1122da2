/* The element of a scalar tensor in the CPU's memory, by DLPack's C interface (torch.Tensor.__dlpack_c_exchange_api__,
 * PyTorch 2.10 and later; its layout is that of DLPack 1.3, dlpack.h). Tensor.item() takes five times the instructions,
 * in code that nothing else of a step uses. */
#ifndef PMTOP_ELEMENT_H
#define PMTOP_ELEMENT_H

#include <Python.h>
#include <stdint.h>

struct element_view {
	void *data;
	int32_t device_type, device;
	int32_t dimensions;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t offset;
};

typedef int (*element_viewer)(void *tensor, struct element_view *out);

struct element_interface {
	uint32_t major, minor;
	struct element_interface *older;
	void *allocate, *share, *take;
	element_viewer view; /* may be NULL */
};

/* kDLCPU, kDLCUDA, kDLROCM; kDLFloat */
enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_ROCM = 10, CODE_FLOAT = 2, INTERFACE_MAJOR = 1 };

/* ELEMENT_OTHER: any other tensor. */
enum element { ELEMENT_OTHER, ELEMENT_ELSEWHERE, ELEMENT_READ };

/* capsule: the class's attribute, or None. NULL: this torch has no such interface. */
static element_viewer element_viewer_of(PyObject *capsule)
{
	if (!PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
		return NULL;
	const struct element_interface *now = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
	while (now && now->major != INTERFACE_MAJOR)
		now = now->older;
	return now ? now->view : NULL;
}

/* The element of a float32 tensor. One at an odd place is left to others: it may be the imaginary part of a number, of
 * which the tensor may be the negative, and memory does not show that. */
static enum element element_read(element_viewer view, PyObject *tensor, double *out)
{
	struct element_view seen;
	if (view(tensor, &seen)) {
		PyErr_Clear(); /* it has no memory, as a sparse one */
		return ELEMENT_OTHER;
	}
	if (seen.device_type == DEVICE_CUDA || seen.device_type == DEVICE_ROCM)
		return ELEMENT_ELSEWHERE;
	uintptr_t address = (uintptr_t)seen.data + (uintptr_t)seen.offset;
	if (!seen.data || address % (2 * sizeof(float)) != 0 || seen.device_type != DEVICE_CPU || seen.dimensions ||
		seen.code != CODE_FLOAT || seen.bits != 8 * sizeof(float) || seen.lanes != 1)
		return ELEMENT_OTHER;
	*out = (double)*(const float *)address;
	return ELEMENT_READ;
}

#endif
