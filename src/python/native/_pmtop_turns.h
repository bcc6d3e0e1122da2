/* The iterator of epochs() and batches(): each iteration is an epoch or a batch.
 *
 * It is in C because only a deallocator can distinguish how a loop was left: `break` ends the batch, an exception
 * leaves it unfinished. */
#ifndef PMTOP_TURNS_H
#define PMTOP_TURNS_H

#include "_pmtop_span.h"

struct turns {
	PyObject_HEAD PyObject *items;
	uint64_t index, number;     /* of the next iteration in this loop; of the batch in the run */
	unsigned long long samples; /* in each batch, 0 = unknown */
	int is_epochs, is_open;
};

static void turn_ends(struct turns *turns)
{
	struct pmtop *pm = region_now();
	int is_open = turns->is_open;
	turns->is_open = 0;
	if (is_open && turns->is_epochs)
		pmtop_epoch_end(pm);
	else if (is_open && pmtop_batch_number(pm) == turns->number) /* else the loop has ended it */
		pmtop_batch_end(pm, NAN);
}

/* An int item is the epoch's index. */
static uint32_t epoch_index(const struct turns *turns, PyObject *item)
{
	uint64_t index = PyLong_CheckExact(item) ? PyLong_AsUnsignedLongLong(item) : turns->index;
	PyErr_Clear();
	return (uint32_t)(index <= UINT32_MAX ? index : turns->index);
}

static PyObject *next_turn(PyObject *self)
{
	struct turns *turns = (struct turns *)self;
	struct pmtop *pm;
	turn_ends(turns);
	PyObject *item = PyIter_Next(turns->items);
	if (!item)
		return NULL;
	if (!reach_from(self, &pm)) {
		Py_DECREF(item);
		return NULL;
	}
	turns->number = pmtop_batch_number(pm);
	if (turns->is_epochs)
		pmtop_epoch_begin(pm, epoch_index(turns, item));
	else
		pmtop_batch_begin(pm, turns->index);
	if (turns->samples)
		pmtop_batch_samples(pm, turns->samples);
	turns->index++;
	turns->is_open = 1;
	return item;
}

/* turns(iterator, is_epochs, samples) */
static PyObject *make_turns(PyObject *module, PyObject *arguments)
{
	PyObject *items;
	int is_epochs;
	unsigned long long samples;
	if (!PyArg_ParseTuple(arguments, "OpK", &items, &is_epochs, &samples))
		return NULL;
	if (!PyIter_Check(items))
		return PyErr_Format(PyExc_TypeError, "%R is not an iterator", Py_TYPE(items));
	struct turns *turns = PyObject_GC_New(struct turns, state_of(module)->turns_type);
	if (!turns)
		return NULL;
	Py_INCREF(items);
	turns->items = items;
	turns->index = turns->number = 0;
	turns->samples = samples;
	turns->is_epochs = is_epochs;
	turns->is_open = 0;
	*(is_epochs ? &run.are_epochs_by_hand : &run.are_batches_by_hand) = 1;
	PyObject_GC_Track((PyObject *)turns);
	return (PyObject *)turns;
}

static int turns_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct turns *)self)->items);
	return 0;
}

static int turns_clear(PyObject *self)
{
	Py_CLEAR(((struct turns *)self)->items);
	return 0;
}

static void turns_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	if (!PyErr_Occurred())
		turn_ends((struct turns *)self);
	turns_clear(self);
	PyObject_GC_Del(self);
	Py_DECREF((PyObject *)type);
}

static PyType_Slot turns_slots[] = {
	{ Py_tp_new, refuse_new },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, next_turn },
	{ Py_tp_traverse, turns_traverse },
	{ Py_tp_clear, turns_clear },
	{ Py_tp_dealloc, turns_free },
	{ 0, NULL },
};

static PyType_Spec turns_spec = { "pmtop._pmtop.turns_iterator", sizeof(struct turns), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, turns_slots };

#endif
