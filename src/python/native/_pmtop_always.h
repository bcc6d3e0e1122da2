/* For disabled monitors: a function that takes any arguments and returns one value. As a class attribute it is not
 * bound, so `with` is cheap. */
#ifndef PMTOP_ALWAYS_H
#define PMTOP_ALWAYS_H

#include <Python.h>

static PyObject *always_value(PyObject *value, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
	(void)given, (void)count, (void)keywords;
	Py_INCREF(value);
	return value;
}

static PyObject *always(PyObject *module, PyObject *value)
{
	static PyMethodDef method = { "always", (PyCFunction)(void (*)(void))always_value, METH_FASTCALL | METH_KEYWORDS,
		NULL };
	(void)module;
	return PyCFunction_NewEx(&method, value, NULL);
}

#endif
