"""Builds the extension; the rest of the package is described in pyproject.toml.

Without a compiler or Python.h the build skips the extension: the package still installs, publishes nothing, and says so once."""
import glob
import os
import sys
import sysconfig

from setuptools import Extension, setup

HEADER = "include/pmtop.h"
if not os.path.exists(HEADER):
    sys.exit(f"pmtop: {HEADER} is a broken link to src/region/pmtop.h: build from a complete checkout, or from the sdist")

# One wheel serves CPython 3.10 and later, except free-threaded versions, which cannot load it.
is_stable = sys.implementation.name == "cpython" and sys.version_info >= (3, 10) and not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[Extension(
        "pmtop._pmtop",
        sources=["native/_pmtop.c"],
        depends=[HEADER, *glob.glob("native/*.h")],
        include_dirs=["include"],
        define_macros=[("_GNU_SOURCE", None)] + ([("Py_LIMITED_API", "0x030A0000")] if is_stable else []),
        # Hidden: calls within the extension are then direct, and do not clash with a program that has its own pmtop.h.
        extra_compile_args=["-std=c11", "-fvisibility=hidden"],
        py_limited_api=is_stable,
        optional=True,
    )],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if is_stable else {},
)
