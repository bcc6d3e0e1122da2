"""The guides with a folder of their own in guide/: where the text is, and what the kept Python blocks change in it."""
import pathlib

import watching

SEEDS = watching.ROOT.parent / "shared" / "seeds"
FOLDER = pathlib.Path(__file__).resolve().parent / "guide"

SEED_OF = {"001": "001_5f69f59825f81c53.txt", "002": "002_1e1720742371b3e0.txt", "003": "003_abe5efb37fba2540.txt", "004": "004_76307ad1501bbcf7.txt"}
CHANGES = {
    "001": [
        ("from cookbook.measure import", "from pmtop import"),
        # The guide leaves out the methods that these two call, and a decorator.
        ("class PerformanceRegressionDetector:", "class PerformanceRegressionDetector(pmtop.PerformanceRegressionDetector):"),
        ("    def check_regression(", "    @contextlib.contextmanager\n    def check_regression("),
        ("class ProductionProfiler:", "class ProductionProfiler(pmtop.ProductionProfiler):"),
    ],
    # The guide's "..." stands for the arguments of the blocks before.
    "003": [("profiler.profile(...)", "profiler.profile(**arguments)")],
}


def kept(guide, name):
    """The text of a block."""
    return (FOLDER / guide / name).read_text(encoding="utf-8")


def blocks(guide, suffix=".py"):
    """Names of a guide's kept blocks, without the suffix."""
    return sorted(path.stem for path in (FOLDER / guide).glob("*" + suffix))
