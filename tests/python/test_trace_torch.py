"""`pmtop trace` against PyTorch itself: the operators of CPU profiles equal key_averages(), those of a GPU profile its printed tables."""
import ast
import collections
import json
import pathlib
import re
import subprocess

import pytest

import watching

torch = pytest.importorskip("torch")
from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "traces"
PMTOP = str(watching.BUILD / "pmtop")
RESNET = FIXTURES / "h100-resnet18.pt.trace.json.gz"


def trace(*arguments, code=0):
    done = subprocess.run([PMTOP, "trace", "--json", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


# -- models ----


def linear():
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    return model, lambda: model(torch.randn(16, 32)).sum()


def convolution():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                torch.nn.Conv2d(8, 8, 3, groups=2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10))
    target = torch.randint(0, 10, (4,))
    return model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 32, 32)), target)


def recurrent():
    model = torch.nn.LSTM(8, 16, num_layers=2, batch_first=True)
    return model, lambda: model(torch.randn(4, 10, 8))[0].mean()


def transformer():
    model = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return model, lambda: model(torch.randn(2, 6, 16)).pow(2).mean()


def embedding():
    model = torch.nn.Sequential(torch.nn.EmbeddingBag(100, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    return model, lambda: model(torch.randint(0, 100, (8, 5))).mean()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        return value * value

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


def annotated():
    model = torch.nn.Bilinear(8, 8, 4)

    def loss():
        with record_function("outer"):
            with record_function("outer"):
                value = Square.apply(model(torch.randn(3, 8), torch.randn(3, 8)))
            torch.bmm(torch.randn(2, 3, 4), torch.randn(2, 4, 5))
        value = value.mean()
        value.item()
        return value

    return model, loss


MODELS = [linear, convolution, recurrent, transformer, embedding, annotated]


def run(make, path, optimizer=torch.optim.SGD, steps=3, **options):
    torch.manual_seed(0)
    model, loss = make()
    steps_of = optimizer(model.parameters(), 0.01)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=steps, repeat=1), **options) as profiler:
        for _ in range(steps + 1):
            steps_of.zero_grad()
            value = loss()
            value.backward()
            steps_of.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return profiler


def averages(profiler, **groups):
    """(name, shapes) → count, self and total CPU time in µs, FLOPs."""
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
    functions = getattr(profiler.profiler, "function_events", None) or profiler.events()
    for event in functions.key_averages(**groups):
        shapes = str(event.input_shapes) if groups else ""
        row = sums[event.key, shapes]
        row[0] += event.count
        row[1] += event.self_cpu_time_total
        row[2] += event.cpu_time_total
        row[3] += event.flops or 0
    return sums


def rows(answer, key=None):
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
    for operator in answer["operators"] + answer["runtime"]:
        row = sums[operator["name"], operator.get(key, "") if key else ""]
        row[0] += operator["count"]
        row[1] += operator["self_cpu_s"] * 1e6
        row[2] += operator["total_cpu_s"] * 1e6
        row[3] += operator.get("flops", 0)
    return sums


def assert_equal(ours, theirs, functions=()):
    theirs = {key: row for key, row in theirs.items() if key[0] != "[memory]" and key[0] not in functions}
    assert set(ours) == set(theirs)
    for key, row in theirs.items():
        assert ours[key][0] == row[0], key
        # Three decimals of a microsecond an event.
        # What two children share, key_averages subtracts twice.
        assert ours[key][1] == pytest.approx(row[1], abs=0.002 * row[0] + 1e-3) or row[1] < 0 <= ours[key][1], key
        assert ours[key][2] == pytest.approx(row[2], abs=0.002 * row[0] + 1e-3), key


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("options", [{}, {"record_shapes": True, "profile_memory": True, "with_flops": True}, {"with_stack": True, "with_modules": True}],
                         ids=["plain", "shapes", "stacks"])
def test_operators_equal_key_averages(make, options, tmp_path):
    profiler = run(make, tmp_path / "run.pt.trace.json", **options)
    answer = trace(tmp_path / "run.pt.trace.json")
    assert_equal(rows(answer), averages(profiler), {function["name"] for function in answer["functions"]})


def union(spans):
    total, end = 0, float("-inf")
    for start, duration in sorted(spans):
        total += max(0, start + duration - max(start, end))
        end = max(end, start + duration)
    return total


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_functions_count_each_call_and_their_time_once(make, tmp_path):
    run(make, tmp_path / "run.pt.trace.json", with_stack=True, with_modules=True)
    spans = collections.defaultdict(lambda: collections.defaultdict(list))
    for event in json.loads((tmp_path / "run.pt.trace.json").read_text())["traceEvents"]:
        if event.get("cat") == "python_function":
            spans[event["name"]][event["tid"]].append((event["ts"], event["dur"]))
    ours = {function["name"]: function for function in trace(tmp_path / "run.pt.trace.json")["functions"]}
    assert set(ours) == set(spans)
    for name, threads in spans.items():
        count = sum(map(len, threads.values()))
        assert ours[name]["count"] == count, name
        assert ours[name]["total_cpu_s"] * 1e6 == pytest.approx(sum(map(union, threads.values())), abs=0.002 * count + 1e-3), name
        assert 0 <= ours[name]["self_cpu_s"] <= ours[name]["total_cpu_s"] + 1e-9, name


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_flops_equal_key_averages(make, tmp_path):
    profiler = run(make, tmp_path / "run.pt.trace.json", record_shapes=True, with_flops=True)
    ours, theirs = rows(trace(tmp_path / "run.pt.trace.json")), averages(profiler)
    assert {key: row[3] for key, row in ours.items() if row[3]} == {key: row[3] for key, row in theirs.items() if row[3]}


def plain_shapes(text):
    """As key_averages has them: a list of tensors ([[[2], [3]]]) has no shape of its own there."""
    if not text:
        return "[]"
    return str([[] if one and isinstance(one[0], list) else one for one in ast.literal_eval(text.replace("null", "None"))])


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_operators_by_shape_equal_key_averages(make, tmp_path):
    profiler = run(make, tmp_path / "run.pt.trace.json", record_shapes=True)
    ours = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
    for (name, shapes), row in rows(trace("--by=shape", tmp_path / "run.pt.trace.json"), "input_shapes").items():
        for i, value in enumerate(row):
            ours[name, plain_shapes(shapes)][i] += value
    theirs = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
    for (name, shapes), row in averages(profiler, group_by_input_shapes=True).items():
        for i, value in enumerate(row):
            theirs[name, plain_shapes(shapes)][i] += value
    assert_equal(ours, theirs)


def test_compressed_equals_plain(tmp_path):
    run(linear, tmp_path / "run.pt.trace.json")
    subprocess.run(["gzip", "-k", str(tmp_path / "run.pt.trace.json")], check=True)
    plain, packed = trace(tmp_path / "run.pt.trace.json"), trace(tmp_path / "run.pt.trace.json.gz")
    assert plain.pop("file") != packed.pop("file")
    assert plain == packed


def test_steps_are_those_of_the_profiler(tmp_path):
    run(linear, tmp_path / "run.pt.trace.json", steps=4)
    answer = trace(tmp_path / "run.pt.trace.json")
    assert [step["number"] for step in answer["steps"]] == [1, 2, 3, 4]
    assert answer["gpu"] == [] and not any("self_gpu_s" in operator for operator in answer["operators"])


def test_a_stack_names_the_line_of_the_program(tmp_path):
    run(annotated, tmp_path / "run.pt.trace.json", with_stack=True)
    answer = trace("--by=stack", tmp_path / "run.pt.trace.json")
    lines = {operator.get("stack") for operator in answer["operators"] if operator["name"] == "aten::_local_scalar_dense"}
    assert any(line and re.search(r"test_trace_torch\.py\(\d+\): loss", line) for line in lines), lines


def test_modules_are_named(tmp_path):
    run(linear, tmp_path / "run.pt.trace.json", with_stack=True, with_modules=True)
    answer = trace("--by=module", tmp_path / "run.pt.trace.json")
    modules = {operator.get("module") for operator in answer["operators"] if operator["name"] == "aten::addmm"}
    assert modules and all(module and module.startswith("nn.Module: Linear") for module in modules)
    tree = answer["modules"]
    assert tree and all(module["depth"] == 0 or module["parent"] in {above["name"] for above in tree[:i]} for i, module in enumerate(tree))


def test_a_folder_is_a_run_of_ranks(tmp_path):
    for rank in range(2):
        run(linear, tmp_path / f"rank{rank}.pt.trace.json")
    assert len(trace(tmp_path)["ranks"]) == 2


# -- a GPU profile: what PyTorch's own table printed ----


def table(name):
    lines = (FIXTURES / name).read_text().splitlines()
    edges = [match.span() for match in re.finditer("-+", lines[0])]
    cells = lambda line: [line[begin:end].strip() for begin, end in edges]
    heads = re.split(r"\s{2,}", lines[1].strip())
    return [dict(zip(heads, cells(line))) for line in lines[3:] if not line.startswith(("-", "Self "))]


def microseconds(text):
    number, unit = re.fullmatch(r"(-?[\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def is_row(answer_name, printed):
    return answer_name == printed or (printed.endswith("...") and answer_name.startswith(printed[:-3]))


def close(seconds, text):
    return abs(seconds * 1e6 - microseconds(text)) <= (0.51 if text.endswith("ms") else 0.0011)


def test_tables_of_a_gpu_profile():
    answer = trace(RESNET)
    compared = 0
    for row in table("h100-resnet18.key_averages.txt"):
        if row["CPU total"] == "0.000us":
            found = [kernel for kernel in answer["kernels"] + answer["copies"] if is_row(kernel["name"], row["Name"]) and
                     kernel["count"] == int(row["# of Calls"]) and close(kernel["total_s"], row["Self CUDA"])]
            assert found or row["Name"] == "ProfilerStep*", row
        else:
            found = [operator for operator in answer["operators"] if is_row(operator["name"], row["Name"]) and
                     operator["count"] == int(row["# of Calls"])]
            assert any(close(one["self_cpu_s"], row["Self CPU"]) and close(one["total_cpu_s"], row["CPU total"]) and
                       close(one["self_gpu_s"], row["Self CUDA"]) and close(one["total_gpu_s"], row["CUDA total"]) for one in found), row
            flops = row["Total MFLOPs"]
            assert flops == "--" or any(abs(one.get("flops", 0) / 1e6 - float(flops)) < 1e-3 * float(flops) for one in found), row
        compared += 1
    assert compared >= 40


def test_shapes_of_a_gpu_profile():
    answer = trace("--by=shape", RESNET)
    for row in table("h100-resnet18.key_averages_by_shape.txt"):
        if row["CPU total"] == "0.000us":
            continue
        assert any(is_row(one["name"], row["Name"]) and one["count"] == int(row["# of Calls"]) and
                   one.get("input_shapes", "[]").startswith(row["Input Shapes"].rstrip(",. ")[:60]) and
                   close(one["self_cpu_s"], row["Self CPU"]) and close(one["self_gpu_s"], row["Self CUDA"])
                   for one in answer["operators"]), row


def test_what_a_gpu_profile_says():
    answer = trace(RESNET)
    assert answer["gpu"][0]["name"] == "NVIDIA H100 80GB HBM3"
    assert answer["gpu"][0]["busy_s"] == pytest.approx(21.0356e-3, abs=1e-6)
    assert sum(value for key, value in answer["gpu"][0]["idle"].items() if key != "total_s") == pytest.approx(answer["gpu"][0]["idle"]["total_s"])
    copy = next(copy for copy in answer["copies"] if copy["direction"] == "HtoD")
    assert (copy["is_pinned"], copy["count"], copy["bytes"]) == (False, 4, 38535680)
    rules = [advice["rule"] for advice in answer["recommendations"]]
    assert {"launch_bound", "pageable_copies", "item_in_loop", "layout_conversions"} <= set(rules)
    assert answer["memory"]["devices"][0]["peak_bytes"] > 8e8
