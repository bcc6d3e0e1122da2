/* The compiled part of the Python package pmtop: pmtop.h for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PMTOP_IMPLEMENTATION
#include <pmtop.h>

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "pmtop._pmtop" };

PyMODINIT_FUNC PyInit__pmtop(void);
PyMODINIT_FUNC PyInit__pmtop(void)
{
	return PyModuleDef_Init(&definition);
}
