"""Builds the package: one abi3 extension for CPython 3.10 and later, one of its own for 3.9 and for free-threaded builds."""
import sys
import sysconfig

from setuptools import Extension, setup

IS_ABI3 = sys.version_info >= (3, 10) and not sysconfig.get_config_var("Py_GIL_DISABLED")
MACROS = [("_GNU_SOURCE", None)] + ([("Py_LIMITED_API", "0x030A0000")] if IS_ABI3 else [])

setup(
    name="pmtop",
    version="0.1.0",
    packages=["pmtop"],
    package_data={"pmtop": ["py.typed", "*.pyi"]},
    python_requires=">=3.9",
    ext_modules=[
        Extension(
            "pmtop._pmtop",
            sources=["pmtop/_pmtop.c"],
            depends=["../region/pmtop.h"],
            include_dirs=["../region"],
            define_macros=MACROS,
            # Hidden: calls into pmtop.h are direct then, and a program that has the header itself keeps its own.
            extra_compile_args=["-std=c11", "-fvisibility=hidden"],
            py_limited_api=IS_ABI3,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if IS_ABI3 else {},
)
