"""Tests see the package of this checkout (or the installed one, PMTOP_TEST_INSTALLED=1) and leave nothing behind."""
import os
import sys

import pytest

import watching

if watching.PACKAGE:
    sys.path.insert(0, watching.PACKAGE)
for name in ("PMTOP", "PMTOP_RUN", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    yield
    watching.clean_up()
