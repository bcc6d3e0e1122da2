/* Spans that are also measured by the GPU's clock, pmtop.span(name, gpu=True): pmtop.torch installs the functions,
 * because the events are torch's. Without it such a span is like any other. */
#ifndef PMTOP_GPU_CLOCK_H
#define PMTOP_GPU_CLOCK_H

#include "_pmtop_arguments.h"

#define SPAN_GPU 4u /* beside PMTOP_NOTE_CPU and PMTOP_NOTE_MEMORY, which are the region's */
#define REGION_NOTES (PMTOP_NOTE_CPU | PMTOP_NOTE_MEMORY)
#define SPAN_NOTES 8

static struct {
	PyObject *begin, *end; /* called with the span's name; NULL: nothing measures */
} gpu_clock;

/* Keeps an exception of the block, and drops one of the mark. 0: an interrupt came meanwhile, and is set. */
static int gpu_clock_marks(PyObject *const *at, PyObject *name)
{
	PyObject *function = __atomic_load_n(at, __ATOMIC_ACQUIRE), *type, *value, *trace;
	if (!function)
		return 1;
	PyErr_Fetch(&type, &value, &trace);
	Py_INCREF(function);
	PyObject *reply = PyObject_CallFunctionObjArgs(function, name, NULL);
	Py_DECREF(function);
	if (!reply && !PyErr_ExceptionMatches(PyExc_Exception)) {
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
		return 0;
	}
	Py_XDECREF(reply);
	PyErr_Restore(type, value, trace); /* clears an exception of the mark */
	return 1;
}

static void gpu_clock_set(PyObject **at, PyObject *function)
{
	if (function == Py_None)
		function = NULL;
	Py_XINCREF(function);
	PyObject *old = __atomic_exchange_n(at, function, __ATOMIC_ACQ_REL);
#ifndef Py_GIL_DISABLED /* without a GIL another thread may be about to call it */
	Py_XDECREF(old);
#else
	(void)old;
#endif
}

/* connect_gpu_clock(begin, end) */
static PyObject *connect_gpu_clock(PyObject *module, PyObject *arguments)
{
	PyObject *begin, *end;
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO", &begin, &end))
		return NULL;
	gpu_clock_set(&gpu_clock.begin, begin);
	gpu_clock_set(&gpu_clock.end, end);
	Py_RETURN_NONE;
}

#endif
