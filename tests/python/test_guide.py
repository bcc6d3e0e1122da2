"""Every Python block, every configuration and every sample output of the guide "Performance Monitoring".

guide/ keeps the blocks as they stand there, but for the module that they import from, and a body that is only a comment gets its `pass`.
"""
import csv
import importlib.util
import pathlib
import re
import sys
import time
import types
import warnings

import pmtop.monitor
import pytest
import torch
import watching
import yaml
from guide_blocks import SUFFIXES, blocks_of

GUIDE = pathlib.Path(__file__).resolve().parent / "guide"
SEED = watching.ROOT.parent / "shared" / "seeds" / "000_92dc6d78458fd3fe.txt"
THEIR_MODULE = "src.utils.memory_monitor"


def kept(name):
    return (GUIDE / name).read_text(encoding="utf-8")


if SEED.exists():
    def test_the_kept_blocks_are_the_guides():
        blocks = blocks_of(SEED.read_text(encoding="utf-8"), [(f"from {THEIR_MODULE} import", "from pmtop import")])
        assert sorted(blocks) == sorted(path.name for path in GUIDE.iterdir() if path.suffix in SUFFIXES.values())
        for name, text in blocks.items():
            assert kept(name) == text, name


class Clock:
    """What the monitors read here: it moves by what stands for work, and by nothing else."""
    now = 10**9

    @classmethod
    def read(cls):
        return cls.now


def work(seconds):
    Clock.now += round(seconds * 1e9)


def works(seconds, result=None):
    def call(*arguments):
        work(seconds)
        return result
    return call


class Net(torch.nn.Module):
    """A model whose output is a loss."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, batch):
        work(0.1)
        return self.layer(batch).mean()


def batches(count, size=8):
    return torch.utils.data.DataLoader(torch.randn(count * size, 4), batch_size=size)


def loader_with_workers(dataset, prefetch_factor=None, num_workers=0, **options):
    """torch refuses prefetch_factor without workers, which the guide leaves out."""
    workers = num_workers or (1 if prefetch_factor else 0)
    return torch.utils.data.DataLoader(dataset, prefetch_factor=prefetch_factor, num_workers=workers, **options)


def trained(**options):
    """A monitor at the guide's "# After training"."""
    monitor = pmtop.EpochPerformanceMonitor(**options)
    monitor.on_epoch_start()
    for index in range(4):
        monitor.on_batch_start(index)
        work(0.538 if index == 0 else 0.185)
        monitor.on_batch_end(index, 0.5)
    monitor.on_epoch_end()
    return monitor


def monitor_with(*names):
    def make(**options):
        monitor = pmtop.PerformanceMonitor(**options)
        for name in names:
            with monitor.track(name):
                work(0.25)
        return monitor
    return make


class Frame(list):
    """The little of pandas.DataFrame that the guide uses."""

    def to_csv(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["", *self[0]])
            writer.writeheader()
            writer.writerows({"": number, **row} for number, row in enumerate(self))


def training():
    model = Net()
    loss = model(torch.randn(8, 4))

    def backward():
        work(0.05)
        # The guide's batches all go back through the same loss.
        torch.Tensor.backward(loss, retain_graph=True)
    loss.backward = backward
    return {"model": model, "dataloader": batches(15), "loss": loss, "device": "cpu", "epochs": 2}


DATA = {
    "load_large_dataset": works(0.45, [1]), "load_data": works(0.1, [1]), "preprocess": works(0.12, [1]), "post_process": works(0.01),
}
PUBLIC = ("PerformanceMonitor", "EpochPerformanceMonitor", "track_performance", "monitor_performance")

# What each block is given besides torch and the names that the guide imports further up.
STANDINS = {
    "01_performancemonitor": lambda: {**DATA, "model": works(0.85)},
    "02_aggregated_operations": training,
    "03_context_manager": lambda: {"expensive_function": works(1.234, 7)},
    "04_function_decorator": lambda: {"data": [1], "result": 8},
    "05_epochperformancemonitor": lambda: {**training(), "loss": torch.tensor(0.009458)},
    "06_strategy_1_compare_operation_times": lambda: {**DATA, "preprocess": works(0.3), "model": works(0.5), "post_process": works(0.05)},
    "07_strategy_2_analyze_batch_timing_variance": lambda: {"EpochPerformanceMonitor": trained},
    "08_strategy_3_profile_different_configurations": lambda: {"train_with_batch_size": lambda size: work(0.25 if size == 32 else 0.5)},
    "09_data_loading_is_slow": lambda: {"DataLoader": loader_with_workers, "dataset": torch.randn(64, 4)},
    "10_first_batch_is_slow": training,
    "11_forward_pass_is_slow": lambda: {"model": Net(), "input": torch.randn(8, 4, requires_grad=True)},
    "12_backward_pass_is_slow": lambda: {
        "model": (model := Net()), "optimizer": torch.optim.SGD(model.parameters(), 0.1), "mini_batches": list(batches(4)),
        "input": torch.randn(8, 4), "autocast": torch.cuda.amp.autocast,
    },
    "13_high_variance_between_batches": dict,
    "14_research_analysis_phase": lambda: {"PerformanceMonitor": monitor_with("load", "train")},
    "15_performancemonitor": dict,
    "16_epochperformancemonitor": lambda: {"batch_idx": 0},
    "17_context_managers_decorators": dict,
    "18_my_timing_seems_wrong": lambda: {"time": time},
}


@pytest.fixture
def run_block(monkeypatch, tmp_path, capsys):
    """Runs a block of guide/, or another text under its name: its namespace and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    for module in (pmtop.monitor, pmtop._profiling.measure):
        monkeypatch.setattr(module, "perf_counter_ns", Clock.read)

    def run(name, text=None):
        space = {"torch": torch, **{public: getattr(pmtop, public) for public in PUBLIC}, **STANDINS[name]()}
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text or kept(name + ".py"), name, "exec"), space)
        return space, capsys.readouterr().out
    return run


# -- what is printed, beside the guide's samples ------------------------------------------------------------------------------------


def pattern_of(sample):
    """What a line like this sample looks like: its words and widths, any figures with as many decimals, and seconds that three would show as 0.000
    in a unit of their own."""
    def figure(match):
        decimals = match.group(3)
        if match.group(4):
            return rf"(?:\d+\.\d{{3}}s|{SMALL})"
        return ("[+-]" if match.group(1) else "") + r"\d+" + (rf"\.\d{{{len(decimals)}}}" if decimals else "")
    parts = re.finditer(r"([+-])?(\d+)(?:\.(\d+)((?<=\.\d{3})s)?)?|\D", sample)
    return re.compile("".join(figure(part) if part.group(2) else re.escape(part.group(0)) for part in parts))


SMALL = r"\d+(?:\.\d+)? [mµn]s"


def same_form(line, sample, without_gpu=False, count=True):
    """Whether a table's row has the columns of a sample's row where the sample has them; the count of another one ends elsewhere."""
    def columns(text):
        return [(part.end(), part.group(0)) for part in re.finditer(rf"{SMALL}|\S+", text[31:])][0 if count else 1:]
    reported, wanted = columns(line), columns(sample)
    assert [end for end, _ in reported] == [end for end, _ in wanted], (line, sample)
    for number, ((_, figure), (_, like)) in enumerate(zip(reported, wanted)):
        if without_gpu and number >= len(wanted) - 2:
            assert figure == "–", line
        else:
            assert pattern_of(like).fullmatch(figure) or re.fullmatch(SMALL, figure), (line, sample)


def has_table(out, sample, names, without_gpu=True, count=True):
    """Whether what was printed is the sample's table, with these operations."""
    lines, samples = out.splitlines(), kept(sample).splitlines()
    rows = len(names)
    assert lines[:5] == samples[:5]
    assert [line[:30].rstrip() for line in lines[5:5 + rows]] == names
    for line in lines[5:5 + rows]:
        same_form(line, samples[5], without_gpu, count)
    for line, like in zip(lines[5 + rows:], [line for line in samples[5:] if line.startswith(("-", "=", "TOTAL"))]):
        assert line == like if line[0] in "-=" else pattern_of(like).fullmatch(line)
    assert lines[-1] == samples[-1] and len(lines) == len(samples) - sum(line[0].islower() for line in samples) + rows


WITHOUT_GPU = (re.compile(r", GPU [-+.\d]+MB|, \d+MB reserved, peak \d+MB|\n +GPU peak.*"), "")


def test_performance_monitor(run_block):
    space, out = run_block("01_performancemonitor")
    names = ["data loading", "preprocessing", "model forward"]
    has_table(out, "03_performancemonitor.txt", names)
    has_table(out, "02_example_output.txt", names)
    assert [metric.operation for metric in space["monitor"].get_metrics()] == names
    assert [line[30:41].strip() for line in out.splitlines()[5:8]] == ["0.450", "0.120", "0.850"]
    assert "\nTOTAL                               1.420s\n" in out


def test_aggregated_operations(run_block):
    space, out = run_block("02_aggregated_operations")
    has_table(out, "04_aggregated_operations.txt", ["batch_forward", "batch_backward"], without_gpu=False)
    assert [line.split()[1:] for line in out.splitlines()[5:7]] == [
        ["150", "15.000", "0.100", "0.100", "0.100"], ["150", "7.500", "0.050", "0.050", "0.050"],
    ]
    assert space["monitor"].get_metrics() == []


def test_context_manager(run_block):
    space, out = run_block("03_context_manager")
    assert space["result"] == 7
    assert pattern_of(WITHOUT_GPU[0].sub(WITHOUT_GPU[1], kept("05_context_manager.txt"))).fullmatch(out), out
    assert out.startswith("[Performance] critical_operation: 1.234s, CPU ")


def test_function_decorator(run_block):
    space, out = run_block("04_function_decorator")
    assert space["result"] == 8 and space["process_batch"].__name__ == "process_batch"
    assert re.fullmatch(r"\[Performance\] data processing: 0\.\d{3}s, CPU [+-]\d+\.\dMB\n", out)


def test_epoch_performance_monitor(run_block):
    space, out = run_block("05_epochperformancemonitor")
    batch, _, _, end, timing = (WITHOUT_GPU[0].sub(WITHOUT_GPU[1], line) for line in kept("01_example_output.txt").splitlines())
    expected = [batch] * 5 + [end + ", CPU 1648.9MB", timing]
    lines = out.splitlines()
    assert len(lines) == 2 * len(expected)
    for line, like in zip(lines, expected * 2):
        assert pattern_of(like).fullmatch(line), (line, like)
    for number in range(5):
        assert lines[number].startswith(f"  Batch {number}: ") and lines[number].endswith(", loss=0.009458")
    statistics = space["monitor"].get_statistics()
    assert (statistics["num_batches"], statistics["num_epochs"]) == (30, 2)


def test_strategy_1(run_block):
    _, out = run_block("06_strategy_1_compare_operation_times")
    assert out.endswith("=\n⚡ Consider optimizing: preprocessing (31.6%)\n⚠️  BOTTLENECK: model_forward (52.6%)\n")


def test_strategy_2(run_block):
    _, out = run_block("07_strategy_2_analyze_batch_timing_variance")
    assert out.endswith("""\
Average batch time: 0.273s
Min batch time: 0.185s
Max batch time: 0.538s
⚠️  High variance (2.9x) - investigate outliers!
""")


def test_strategy_3(run_block):
    space, out = run_block("08_strategy_3_profile_different_configurations")
    assert list(space["results"]) == [8, 16, 32, 64] and space["optimal"] == 32
    assert out == "Optimal batch size: 32 (0.250s)\n"


def test_data_loading_is_slow(run_block):
    space, _ = run_block("09_data_loading_is_slow")
    assert space["dataloader"].batch_size == 32 and space["dataloader"].prefetch_factor == 2


def test_first_batch_is_slow(run_block):
    space, _ = run_block("10_first_batch_is_slow")
    assert space["dummy_batch"].shape == (8, 4)


def test_forward_pass_is_slow(run_block):
    space, _ = run_block("11_forward_pass_is_slow")
    space["output"].backward()
    assert space["model"].layer.weight.grad is not None


def test_backward_pass_is_slow(run_block):
    space, _ = run_block("12_backward_pass_is_slow")
    assert space["model"].layer.weight.grad is not None


def test_high_variance_between_batches(run_block):
    assert run_block("13_high_variance_between_batches")[1] == ""


def test_research_phase(run_block, monkeypatch):
    if importlib.util.find_spec("pandas") is None:
        monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=Frame))
    run_block("14_research_analysis_phase")
    with open("performance_metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["operation"] for row in rows] == ["load", "train"]
    assert all(float(row["time"]) == 0.25 and row["cpu_mb"] and row["gpu_mb"] == "" for row in rows)


def test_reference_of_performance_monitor(run_block):
    space, out = run_block("15_performancemonitor")
    has_table(out, "03_performancemonitor.txt", ["operation_name"])
    assert space["monitor"].get_metrics() == [] and space["monitor"].get_total_time() is None


def test_reference_of_epoch_performance_monitor(run_block):
    space, out = run_block("16_epochperformancemonitor")
    kinds = dict(re.findall(r"'(\w+)': (\w+)", kept("16_epochperformancemonitor.py")))
    assert {key: type(value).__name__ for key, value in space["stats"].items()} == kinds and len(kinds) == 8
    assert space["stats"]["num_batches"] == space["stats"]["num_epochs"] == 1
    assert "loss" not in out and out.count("\n") == 3


def test_reference_of_context_managers_and_decorators(run_block, capsys):
    space, out = run_block("17_context_managers_decorators")
    assert out.startswith("[Performance] operation: ")
    space["my_function"]()
    assert capsys.readouterr().out.startswith("[Performance] operation: ")


def test_timing_seems_wrong(run_block):
    space, _ = run_block("18_my_timing_seems_wrong")
    assert space["end"] >= space["start"]


def test_every_block_has_its_test():
    blocks = sorted(path.stem for path in GUIDE.glob("*.py"))
    assert blocks == sorted(STANDINS) and len(blocks) == 18
    asked = re.findall(r'run_block\("(\w+)"\)', pathlib.Path(__file__).read_text(encoding="utf-8"))
    assert sorted(set(asked)) == blocks


@pytest.mark.parametrize("name", [path.stem for path in sorted(GUIDE.glob("*.py")) if "from pmtop import" in kept(path.name)])
def test_runs_as_written_where_their_module_is_pmtop(name, run_block, monkeypatch):
    parts = THEIR_MODULE.split(".")
    for end in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), types.ModuleType(parts[end - 1]))
    monkeypatch.setitem(sys.modules, THEIR_MODULE, pmtop)
    text = kept(name + ".py").replace("from pmtop import", f"from {THEIR_MODULE} import")
    assert THEIR_MODULE in text
    assert run_block(name, text)[1]


# What each configuration asks for: (enabled, lines for how many batches).
SETTINGS = {
    "01_enable_in_training_config": (True, 5), "02_development_phase": (True, 10), "03_production_phase": (False, 5),
    "04_synthetic_trainer": (True, 5), "05_physical_trainer": (True, 5),
}


@pytest.mark.parametrize("name", sorted(path.stem for path in GUIDE.glob("*.yaml")))
def test_configuration(name):
    config = yaml.safe_load(kept(name + ".yaml"))
    for monitor in (pmtop.monitor_from_config(config), pmtop.monitor_from_config(config["trainer_params"])):
        assert (monitor.enabled, monitor.verbose_batches) == SETTINGS[name]
    assert pmtop.PerformanceMonitor.from_config(config).enabled == SETTINGS[name][0]


# -- the examples -------------------------------------------------------------------------------------------------------------------

EXAMPLES = watching.ROOT / "src" / "python" / "examples"


def test_the_guides_examples_run_and_are_seen():
    seen = watching.watch(EXAMPLES / "performance_monitoring_examples.py")
    assert seen.err == ""
    assert re.findall(r"^(\d)\. .*\.$", seen.out, re.M) == list("123456")
    tables = [table for table in seen.out.split("\n\n") if table.startswith("=")]
    has_table(tables[0], "03_performancemonitor.txt", ["data loading", "preprocessing", "model forward"])
    has_table(tables[1], "04_aggregated_operations.txt", ["batch_forward", "batch_backward"], without_gpu=False, count=False)
    assert re.search(r"^\[Performance\] critical_operation: \d\.\d{3}s, CPU [+-]\d+\.\dMB$", seen.out, re.M)
    assert re.search(r"^BOTTLENECK|^Consider", seen.out, re.M)
    counts = {row["name"]: row["count"] for row in seen.last["operations"]}
    assert counts["batch_forward"] == counts["batch_backward"] == 30 and counts["data loading"] == counts["data processing"] == 1
    assert seen.last["batch"]["count"] == 20 and seen.last["epoch"]["ordinal"] == 2


def test_epochs_and_batches_are_seen():
    seen = watching.watch(EXAMPLES / "epochs_and_batches.py", 3, 25)
    assert seen.err == "" and re.fullmatch(r"y = 3\.0\d x -0\.\d\d\n75 batches in 3 epochs, \d+\.\d ms each\n", seen.out)
    last = seen.last
    assert (last["batch"]["count"], last["epoch"]["ordinal"], last["epoch"]["total"]) == (75, 3, 3)
    assert 0 < last["batch"]["loss"] < 0.1
    for name, seconds in (("data", 0.002), ("forward", 0.002), ("backward", 0.004), ("optimizer", 0)):
        row = watching.operation(last, name, 0)
        assert row["count"] == 75 and row["mean_s"] >= seconds
