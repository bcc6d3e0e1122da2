/* Calls with arguments in an array: they make neither a tuple nor a dict. The limited API has PyObject_Vectorcall()
 * from CPython 3.12 on, and CPython 3.11 exports it too: it is looked up when the extension is loaded. */
#ifndef PMTOP_VECTOR_H
#define PMTOP_VECTOR_H

#include <Python.h>
#include <dlfcn.h>

/* The limited API of CPython 3.10 names none of these, but has them all. */
typedef PyObject *(*vector_function)(PyObject *, PyObject *const *, size_t, PyObject *);
#define VECTOR_FLAG (1UL << 11)                               /* Py_TPFLAGS_HAVE_VECTORCALL */
#define METHOD_FLAG (1UL << 17)                               /* Py_TPFLAGS_METHOD_DESCRIPTOR */
#define VECTOR_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

static vector_function vector_known; /* NULL: this CPython has none */

static void vector_find(void) { *(void **)&vector_known = dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"); }

/* Of the CPython that runs: 311 for 3.11. */
static long version_now(void)
{
	char *end;
	long major = strtol(Py_GetVersion(), &end, 10);
	return 100 * major + (*end == '.' ? strtol(end + 1, NULL, 10) : 0);
}

static PyObject *vector_tuple(PyObject *const *given, Py_ssize_t count)
{
	PyObject *tuple = PyTuple_New(count);
	for (Py_ssize_t i = 0; tuple && i < count; i++) {
		Py_INCREF(given[i]);
		PyTuple_SetItem(tuple, i, given[i]);
	}
	return tuple;
}

/* The values behind the first `count`, by their names. */
static PyObject *vector_keywords(PyObject *const *values, PyObject *names)
{
	PyObject *keywords = PyDict_New();
	for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(names); i++)
		if (PyDict_SetItem(keywords, PyTuple_GetItem(names, i), values[i]))
			Py_CLEAR(keywords);
	return keywords;
}

static PyObject *vector_as_tuple(PyObject *function, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
	PyObject *result = NULL, *keywords = NULL, *arguments = vector_tuple(given, count);
	if (arguments && (!names || (keywords = vector_keywords(given + count, names))))
		result = PyObject_Call(function, arguments, keywords);
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	return result;
}

/* names: of the keyword arguments, which follow the first `count`; or NULL. */
static inline PyObject *vector_call(PyObject *function, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
	return vector_known ? vector_known(function, given, (size_t)count, names)
						: vector_as_tuple(function, given, count, names);
}

/* The keyword argument of that name, borrowed; NULL: there is none. */
static PyObject *vector_keyword(PyObject *const *values, PyObject *names, const char *name)
{
	for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name))
			return values[i];
	return NULL;
}

/* Makes a function a method, or reads an attribute that C code computes; NULL: the object is neither. */
static descrgetfunc binder_of(PyObject *function)
{
#ifdef Py_LIMITED_API
	return (descrgetfunc)PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get);
#else
	return Py_TYPE(function)->tp_descr_get;
#endif
}

#endif
