/* Whether torch compiles, as far as torch.compiler has a flag: for hooks whose Python code has only asked whether
 * Dynamo traces it. */
#ifndef PMTOP_COMPILING_H
#define PMTOP_COMPILING_H

#include <Python.h>

/* The variables of torch.compiler and the name of its flag there. variables: NULL if this torch has no such flag. */
static struct {
	PyObject *variables, *flag;
} compiling;

/* watch_compiling(variables, flag) */
static PyObject *watch_compiling(PyObject *module, PyObject *arguments)
{
	PyObject *variables, *flag;
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO", &variables, &flag))
		return NULL;
	if (!compiling.flag) { /* once: torch is imported once */
		Py_INCREF(variables);
		Py_INCREF(flag);
		compiling.variables = variables == Py_None ? NULL : variables;
		compiling.flag = flag;
	}
	Py_RETURN_NONE;
}

/* True also if that is unknown. Without a flag the Python code has asked torch's function. */
static int is_flag_set(void)
{
	PyObject *is_so = compiling.variables ? PyDict_GetItemWithError(compiling.variables, compiling.flag) : Py_False;
	if (!is_so)
		PyErr_Clear();
	return is_so != Py_False;
}

#endif
