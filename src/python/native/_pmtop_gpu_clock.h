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
static int gpu_clock_marks(PyObject *function, PyObject *name)
{
	if (!function)
		return 1;
	PyObject *type, *value, *trace;
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

/* connect_gpu_clock(begin, end) */
static PyObject *connect_gpu_clock(PyObject *module, PyObject *arguments)
{
	PyObject *begin, *end, *old[] = { gpu_clock.begin, gpu_clock.end };
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO", &begin, &end))
		return NULL;
	gpu_clock.begin = begin == Py_None ? NULL : begin;
	gpu_clock.end = end == Py_None ? NULL : end;
	Py_XINCREF(gpu_clock.begin);
	Py_XINCREF(gpu_clock.end);
	Py_XDECREF(old[0]);
	Py_XDECREF(old[1]);
	Py_RETURN_NONE;
}

#endif
