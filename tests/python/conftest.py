"""Tests see the package of this checkout (or the installed one, PMTOP_TEST_INSTALLED=1) and leave nothing behind.

The last line of a run reads "N passed, N failed". With CI=true a skipped test has failed, unless it says "no interpreter", "prometheus is not
installed" (332 MB, half a minute), "transformers is not installed", or "tensorflow" or "tf_keras is not installed" (1.9 GB)."""
import os
import sys

import pytest

import watching

MAY_BE_ABSENT = ("no interpreter", "prometheus is not installed", "transformers is not installed", "tensorflow is not installed",
                 "tf_keras is not installed")

if watching.PACKAGE:
    sys.path.insert(0, watching.PACKAGE)
for name in ("PMTOP", "PMTOP_RUN", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
    os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    yield
    watching.clean_up()


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not reporter or config.option.collectonly:
        return
    skipped = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    failed = len(reporter.stats.get("failed", [])) + len(reporter.stats.get("error", []))
    if os.environ.get("CI") == "true":
        missed = [why for why in skipped if not any(known in why for known in MAY_BE_ABSENT)]
        failed += len(missed)
        for why in missed:
            reporter.write_line(f"skipped, which counts as failed here: {why}")
    reporter.write_line(f"{len(reporter.stats.get('passed', []))} passed, {failed} failed")
