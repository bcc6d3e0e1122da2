/* Converts the callers' arguments to C. Every failure sets an exception that names the argument, whether or not the
 * process publishes. */
#ifndef PMTOP_ARGUMENTS_H
#define PMTOP_ARGUMENTS_H

#include <Python.h>
#include <math.h>
#include <stdint.h>

#define ARGUMENTS_MAX 4

struct signature {
	const char *function;
	const char *names[ARGUMENTS_MAX];
	int required, max;
};

static PyObject *const *sorted_arguments(
	const struct signature *takes, PyObject *const *given, Py_ssize_t count, PyObject *keywords, PyObject **own)
{
	if (count > takes->max)
		return PyErr_Format(
				   PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", takes->function, takes->max, count),
			   NULL;
	for (int i = 0; i < takes->max; i++)
		own[i] = i < count ? given[i] : NULL;
	for (Py_ssize_t k = 0; keywords && k < PyTuple_Size(keywords); k++) {
		PyObject *keyword = PyTuple_GetItem(keywords, k);
		int i = 0;
		while (i < takes->max && PyUnicode_CompareWithASCIIString(keyword, takes->names[i]))
			i++;
		if (i == takes->max)
			return PyErr_Format(
					   PyExc_TypeError, "%s() got an unexpected keyword argument %R", takes->function, keyword),
				   NULL;
		if (own[i])
			return PyErr_Format(
					   PyExc_TypeError, "%s() got two values for argument '%s'", takes->function, takes->names[i]),
				   NULL;
		own[i] = given[count + k];
	}
	for (int i = 0; i < takes->required; i++)
		if (!own[i])
			return PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", takes->function, takes->names[i]),
				   NULL;
	return own;
}

/* Returns `max` borrowed arguments in order, NULL for omitted ones; or NULL with an exception. They may be stored in
 * `own`. */
static inline PyObject *const *take(
	const struct signature *takes, PyObject *const *given, Py_ssize_t count, PyObject *keywords, PyObject **own)
{
	if (__builtin_expect(!keywords && count == takes->max, 1))
		return given;
	return sorted_arguments(takes, given, count, keywords, own);
}

/* UTF-8 of a str, valid while the str lives. A str with lone surrogates is encoded into `own`. A NUL ends the text. */
struct text {
	const char *utf8;
	PyObject *own;
};

static int unusual_text(PyObject *object, const char *what, struct text *out)
{
	if (!PyUnicode_Check(object)) {
		PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, Py_TYPE(object));
		return 0;
	}
	PyErr_Clear();
	out->own = PyUnicode_AsEncodedString(object, "utf-8", "replace");
	out->utf8 = out->own ? PyBytes_AsString(out->own) : NULL;
	return out->utf8 != NULL;
}

static inline int text_of(PyObject *object, const char *what, struct text *out)
{
	out->own = NULL;
	if (__builtin_expect(PyUnicode_CheckExact(object), 1) && (out->utf8 = PyUnicode_AsUTF8AndSize(object, NULL)))
		return 1;
	return unusual_text(object, what, out);
}

static int unusual_whole(PyObject *object, const char *what, uint64_t max, uint64_t *out)
{
	int overflow;
	PyErr_Clear();
	PyObject *number = PyNumber_Index(object);
	if (!number) {
		if (PyErr_ExceptionMatches(PyExc_TypeError))
			PyErr_Format(PyExc_TypeError, "%s must be an int, not %R", what, Py_TYPE(object));
		return 0;
	}
	long long is_signed = PyLong_AsLongLongAndOverflow(number, &overflow);
	*out = PyLong_AsUnsignedLongLong(number);
	PyErr_Clear();
	Py_DECREF(number);
	if (overflow < 0 || (!overflow && is_signed < 0))
		return PyErr_Format(PyExc_ValueError, "%s must not be negative", what), 0;
	if (*out > max || *out == UINT64_MAX)
		/* The largest value means unknown (PMTOP_UNKNOWN). */
		return PyErr_Format(PyExc_OverflowError, "%s must be at most %llu", what,
				   (unsigned long long)(max == UINT64_MAX ? max - 1 : max)),
			   0;
	return 1;
}

/* An int, or an object with __index__, from 0 to `max`. */
static inline int whole_of(PyObject *object, const char *what, uint64_t max, uint64_t *out)
{
	if (__builtin_expect(Py_IS_TYPE(object, &PyLong_Type), 1)) {
		*out = PyLong_AsUnsignedLongLong(object);
		if (__builtin_expect(*out <= max && *out != UINT64_MAX, 1))
			return 1;
	}
	return unusual_whole(object, what, max, out);
}

enum number { NUMBER_ERROR = -1, NUMBER_UNREAD, NUMBER_READ };

static enum number float_of(PyObject *object, double *out)
{
	*out = PyFloat_AsDouble(object);
	return *out == -1.0 && PyErr_Occurred() ? NUMBER_ERROR : NUMBER_READ;
}

/* Skips a tensor on a device, because reading it waits for the device. item() is used because float() warns about a
 * tensor with a gradient. */
static enum number number_of_tensor(PyObject *object, PyObject *is_cpu, double *out)
{
	PyObject *item = is_cpu == Py_True ? PyObject_CallMethod(object, "item", NULL) : NULL;
	enum number read = item ? float_of(item, out) : is_cpu == Py_True ? NUMBER_ERROR : NUMBER_UNREAD;
	Py_XDECREF(item);
	return read;
}

static enum number unusual_number(PyObject *object, const char *what, int is_needed, double *out)
{
	if (!PyNumber_Check(object) || PyComplex_Check(object)) {
		PyErr_Format(PyExc_TypeError, "%s must be a number, not %R", what, Py_TYPE(object));
		return NUMBER_ERROR;
	}
	if (PyLong_Check(object))
		return float_of(object, out);
	if (!is_needed)
		return NUMBER_UNREAD;
	PyObject *is_cpu = PyObject_GetAttrString(object, "is_cpu");
	if (!is_cpu)
		PyErr_Clear();
	enum number read = is_cpu ? number_of_tensor(object, is_cpu, out) : float_of(object, out);
	Py_XDECREF(is_cpu);
	return read;
}

/* A float, or an object with __float__, which is called only if the value is needed and not on a device. */
static inline enum number number_of(PyObject *object, const char *what, int is_needed, double *out)
{
	if (__builtin_expect(Py_IS_TYPE(object, &PyFloat_Type), 1)) {
		*out = PyFloat_AsDouble(object);
		return NUMBER_READ;
	}
	return unusual_number(object, what, is_needed, out);
}

#endif
