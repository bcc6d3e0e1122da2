"""Every Python block of the guide "Performance Profiler", as guide/001 keeps them."""
import contextlib
import datetime
import json
import pathlib
import re
import time
import types

import pmtop.profiler
import pytest
import torch
from guide_blocks import blocks_of
from guide_folders import CHANGES, SEED_OF, SEEDS, blocks, kept
from pmtop._profiling import figures as _figures
from pmtop._profiling import machine as _machine

SEED = SEEDS / SEED_OF["001"]

if SEED.exists():
    def test_the_kept_blocks_are_the_guides():
        for name, text in blocks_of(SEED.read_text(encoding="utf-8"), CHANGES["001"]).items():
            assert kept("001", name) == text, name


def wait(seconds, result=None):
    def call(*arguments, **options):
        time.sleep(seconds)
        return result
    return call


def mlp(width=64):
    return torch.nn.Sequential(torch.nn.Linear(784, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))


def train(model, loader, **options):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for batch in loader:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def loader(count=4, size=8):
    return torch.utils.data.DataLoader(torch.randn(count * size, 784), batch_size=size)


class Leak(list):
    """Each epoch keeps 16 MB more."""

    def __call__(self):
        self.append(bytearray(b"1") * 16_000_000)


def slow_function():
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        sum(range(1000))


class App:
    """The little of Flask that the guide uses."""

    @staticmethod
    def route(path):
        return lambda function: function


def gpu_training():
    return {"MyModel": mlp, "dataloader": loader(), "criterion": lambda output, target: (output - target).mean(), "target": torch.zeros(8, 10)}


def pipeline():
    return {"load_data": wait(0.05), "preprocess": wait(0.02), "train_model": wait(0.1), "evaluate": wait(0.03)}


STANDINS = {
    "01_simple_profiling": lambda: {"model": types.SimpleNamespace(fit=wait(0.05)), "X_train": 1, "y_train": 1},
    "02_advanced_configuration": dict,
    "03_memory_leak_detection": lambda: {"train_epoch": Leak()},
    "04_gpu_memory_tracking": gpu_training,
    "05_detailed_timing_breakdown": pipeline,
    "06_performance_bottleneck_detection": lambda: {"slow_function": slow_function},
    "07_model_complexity_analysis": dict,
    "08_throughput_analysis": lambda: {"model": mlp()},
    "09_model_architecture_comparison": lambda: {
        "SimpleMLPModel": mlp, "DeepMLPModel": lambda: mlp(256), "CNNModel": lambda: mlp(128), "train_model": train, "train_data": loader()},
    "10_hyperparameter_impact_analysis": lambda: {
        "model": mlp(), "train_with_optimizer": lambda model, optimizer: time.sleep(0.02), "get_final_accuracy": lambda: 0.9},
    "11_resource_utilization_tracking": lambda: {"train_epoch": wait(0.03)},
    "12_automated_performance_regression_detection": lambda: {"pmtop": pmtop, "contextlib": contextlib, "train_model": wait(0.05)},
    "13_production_monitoring_dashboard": lambda: {
        "pmtop": pmtop, "app": App, "time": time, "generate_request_id": lambda: 17, "request": types.SimpleNamespace(json={}),
        "model": types.SimpleNamespace(predict=wait(0.01, 3))},
    "14_profile_representative_workloads": lambda: {"load_production_sample": lambda: torch.randn(8, 784), "model": mlp()},
    "15_use_warm_up_runs": lambda: {"model": mlp(), "sample_input": torch.randn(8, 784)},
    "16_profile_both_training_and_inference": lambda: {
        "model": mlp(), "train_one_epoch": train, "train_loader": loader(), "test_loader": loader(8),
        "evaluate_model": lambda model, loader: [model(batch) for batch in loader]},
    "17_common_performance_issues": lambda: {"profiler": measured()},
}


def measured():
    profiler = pmtop.PerformanceProfiler()
    with profiler.profile("training"):
        time.sleep(0.05)
    return profiler


@pytest.fixture
def run_block(monkeypatch, tmp_path, capsys):
    """Runs a block of guide/001 on a machine with a GPU, which is made up: its namespace and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
    monkeypatch.setattr(torch.nn.Module, "cuda", lambda module: module)
    monkeypatch.setattr(_figures, "gpu_memory", lambda device=None: _figures.GpuMemory(2 * 10**9, 3 * 10**9, 5 * 10**9))
    monkeypatch.setattr(_machine, "gpu_memory_ratio", lambda device=None: 0.95)
    monkeypatch.setattr(_machine.Gpu, "read", lambda gpu: _machine.GpuReading(42.0, 61.0))

    def run(name):
        space = {"torch": torch, "nn": torch.nn, "PerformanceProfiler": pmtop.PerformanceProfiler, **STANDINS[name]()}
        capsys.readouterr()
        exec(compile(kept("001", name + ".py"), name, "exec"), space)
        return space, capsys.readouterr()
    return run


def test_simple_profiling(run_block):
    space, said = run_block("01_simple_profiling")
    assert re.fullmatch(r"Peak RAM: [1-9]\d*\.\d MB\nWall Time: 0\.0\d\ds\n", said.out)


def test_advanced_configuration(run_block):
    space, _ = run_block("02_advanced_configuration")
    with space["profiler"].profile("block"):
        time.sleep(0.25)
    assert space["profiler"].get_metrics().system.network_sent_mb_per_s is None


def test_memory_leak_detection(run_block):
    space, said = run_block("03_memory_leak_detection")
    assert re.fullmatch(r"⚠️ Potential memory leak: 1[34]\d\.\dMB growth\n", said.out)
    assert space["profiler"].get_metrics().memory.growth_mb > 140


def test_gpu_memory_tracking(run_block):
    _, said = run_block("04_gpu_memory_tracking")
    assert said.out == "⚠️ High GPU memory usage, consider reducing batch size\n" * 4 + "Peak GPU Memory: 2000.0 MB\nGPU Utilization: 42.0%\n"


def test_detailed_timing_breakdown(run_block):
    space, said = run_block("05_detailed_timing_breakdown")
    rows = {name: (float(seconds), float(percent)) for name, seconds, percent in re.findall(r"(\w+): (\d+\.\d+)s \((\d+\.\d)%\)", said.out)}
    assert list(rows) == ["data_loading", "preprocessing", "training", "evaluation", "complete_pipeline"]
    assert 0.1 <= rows["training"][0] < 0.2 and 40 < rows["training"][1] < 60
    assert 99.7 < sum(percent for _, percent in rows.values()) < 100.3
    assert 0.2 <= space["profiler"].get_timing_breakdown(include_inner=True)["complete_pipeline"]


def test_performance_bottleneck_detection(run_block):
    _, said = run_block("06_performance_bottleneck_detection")
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    found = [(int(line), float(percent)) for line, percent in re.findall(r"Bottleneck at line (\d+): (\d+\.\d)% of time\n", said.out)]
    assert "sum(range(1000))" in lines[found[0][0] - 1] and found[0][1] > 50


def test_model_complexity_analysis(run_block):
    _, said = run_block("07_model_complexity_analysis")
    assert said.out == "Estimated FLOPs: 26,017,792.0\nFLOPs per parameter: 63.92\n"


def test_throughput_analysis(run_block):
    space, said = run_block("08_throughput_analysis")
    assert re.fullmatch(r"Optimal batch size: \d+ \(\d+\.\d samples/s\)\n", said.out)
    assert list(space["throughput_results"]) == [16, 32, 64, 128]


def test_model_architecture_comparison(run_block):
    pytest.importorskip("pandas")
    space, said = run_block("09_model_architecture_comparison")
    flops = {name: row["flops"] for name, row in space["results"].items()}
    assert flops["simple_mlp"] < flops["cnn"] < flops["deep_mlp"]
    # Per step: forward, and the gradients of both weights and of the hidden layer; two per multiply-add; four steps.
    assert flops["simple_mlp"] == 4 * 2 * 8 * (2 * 784 * 64 + 3 * 64 * 10)
    assert "deep_mlp" in said.out and "memory" in said.out


def test_hyperparameter_impact_analysis(run_block):
    _, said = run_block("10_hyperparameter_impact_analysis")
    assert re.fullmatch(r"(LR 0\.\d+: Efficiency = \d+\.\d{4} acc/second\n){3}", said.out)


def test_resource_utilization_tracking(run_block):
    _, said = run_block("11_resource_utilization_tracking")
    assert re.search(r"^Average CPU usage: \d+\.\d%\nPeak memory usage: \d+\.\d%\n\Z", said.out, re.M)


def test_automated_performance_regression_detection(run_block, tmp_path):
    (tmp_path / "baseline_metrics.json").write_text(json.dumps({"model_training": {"wall_time_s": 0.01}}))
    space, said = run_block("12_automated_performance_regression_detection")
    assert [row["operation"] for row in space["detector"].regressions] == ["model_training"]
    assert re.fullmatch(r"pmtop: model_training took 0\.\d+ s, \d+\.\d\d times its baseline of 0\.010 s\n", said.err)


def test_production_monitoring_dashboard(run_block, capsys):
    space, _ = run_block("13_production_monitoring_dashboard")
    assert space["predict"]() == {"prediction": 3}
    production = space["prod_profiler"]
    (entry,) = production.metrics_log
    assert entry["request_id"] == 17 and 0.01 <= entry["internal_latency"] <= entry["user_facing_latency"] and entry["memory_mb"] > 1
    production.log_metrics(18, 2.1)
    assert capsys.readouterr().err == "pmtop: request 18 took 2.100 s, above the limit\n"
    production.metrics_log.append({**entry, "timestamp": (datetime.datetime.now() - datetime.timedelta(hours=2)).isoformat()})
    report = production.generate_hourly_report()
    assert (report["requests_processed"], report["sla_violations"], report["p95_latency"]) == (2, 1, 2.1)


def test_representative_workloads(run_block):
    space, _ = run_block("14_profile_representative_workloads")
    assert space["profiler"].get_metrics("realistic_workload").timing.wall_time_s > 0


def test_warm_up_runs(run_block):
    space, _ = run_block("15_use_warm_up_runs")
    assert space["profiler"].get_metrics("warmed_up_inference").compute.estimated_flops is None


def test_training_and_inference(run_block):
    space, said = run_block("16_profile_both_training_and_inference")
    training, inference = space["training_metrics"], space["inference_metrics"]
    assert (training.samples, inference.samples) == (32, 64)
    assert f"Training throughput: {training.throughput} samples/s\nInference throughput: {inference.throughput} samples/s\n" == said.out


def test_common_performance_issues(run_block):
    space, said = run_block("17_common_performance_issues")
    assert "⚠️ GPU underutilized - increase batch size or improve data loading\n" in said.out
    assert pmtop.diagnose_performance_issues(space["metrics"]) == space["issues"] == space["profiler"].diagnose()


def test_every_block_has_its_test():
    asked = re.findall(r'run_block\("(\w+)"\)', pathlib.Path(__file__).read_text(encoding="utf-8"))
    assert sorted(set(asked)) == blocks("001") == sorted(STANDINS)
    assert len(blocks("001")) == 17
