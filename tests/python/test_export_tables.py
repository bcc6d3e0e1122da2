"""What `pmtop export` writes, read back by the programs that it is written for, against `pmtop report --format=json` of the same recording."""
import collections
import contextlib
import functools
import http.server
import io
import json
import math
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request

import pytest

import watching

pandas = pytest.importorskip("pandas")
numpy = pytest.importorskip("numpy")

TRAINER = str(watching.BUILD / "tests" / "workloads" / "trainer")
ODD_RUN = 'a, "b" of 学習'
ODD_SPAN = 'read, "x" ü'

# Figures that are not always there, names that need quoting, two modes, a figure that is known only later.
ODD = """
import pmtop, time
pmtop.init(%r)
time.sleep(0.5)         # until it is found
pmtop.plan(epochs=2, batches_per_epoch=20)
for epoch in range(2):
    for mode, batches in (("train", 20), ("validation, all", 5)):
        pmtop.mode(mode)
        if mode == "train":
            pmtop.epoch_begin(epoch + 3)
        for index in range(batches):
            pmtop.batch_begin(index)
            with pmtop.span(%r):
                time.sleep(0.004)
            if index > 10:
                with pmtop.span("late"):
                    with pmtop.span("within, it"):
                        time.sleep(0.002)
            if index %% 2:
                pmtop.batch_samples(8)
            number = pmtop.batch_number()
            pmtop.batch_end(*([0.5 + index] if index %% 3 else []))
            pmtop.gauge("queue, depth", index)
            if mode == "train":
                pmtop.batch_figure(number, "gpu.forward_s", 0.25 + index)
        if mode == "train":
            pmtop.epoch_end()
    pmtop.mark('half, "way"')
time.sleep(0.3)
""" % (ODD_RUN, ODD_SPAN)


class Recording:
    """A run that was recorded, and what pmtop itself reports about it."""

    def __init__(self, path):
        self.path = path

    @functools.cached_property
    def report(self):
        return json.loads(watching.pmtop("report", "--format=json", self.path))

    def export(self, to, *options):
        return watching.pmtop("export", f"--to={to}", *options, self.path)

    def table(self, to, *options):
        """As pandas reads it without options."""
        return pandas.read_csv(io.StringIO(self.export(to, *options)))

    @functools.cached_property
    def csv(self):
        return self.table("csv")

    @functools.cached_property
    def lines(self):
        return [json.loads(line) for line in self.export("jsonl").splitlines()]

    def of_type(self, kind):
        return [line for line in self.lines if line["type"] == kind]


def commands(folder):
    (folder / "odd.py").write_text(ODD, encoding="utf-8")
    return {
        # The real trainer: two epochs, workers, slow data now and then.
        "trained": ["--", TRAINER, "--name", "digits, two", "--epochs", "2", "--batches", "120", "--step-ms", "3", "--slow-every", "40", "--slow-ms", "40"],
        "odd": ["--", watching.PYTHON, str(folder / "odd.py")],
        "synthetic": ["-n", "60", "--demo=slow-fetch:3"],
    }


class Prometheus:
    """A real one, which asks this process every second: for nothing until `text` is there."""
    text = None

    def __init__(self, folder):
        self.source = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Answers, self))
        threading.Thread(target=self.source.serve_forever, daemon=True).start()
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        config = {"scrape_configs": [{"job_name": "pmtop", "scrape_interval": "1s",
                                      "static_configs": [{"targets": [f"127.0.0.1:{self.source.server_address[1]}"]}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query):
        """The samples that a query gives; None: it does not answer yet."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with contextlib.suppress(OSError, ValueError):
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]["result"]

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.source.shutdown()
        self.source.server_close()


class Answers(http.server.BaseHTTPRequestHandler):
    def __init__(self, prometheus, *arguments):
        self.prometheus = prometheus
        super().__init__(*arguments)

    def do_GET(self):
        self.send_response(200 if self.prometheus.text else 503)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write((self.prometheus.text or "").encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """None where it is not installed. It takes seconds to begin, so it begins before the recordings are made."""
    one = Prometheus(tmp_path_factory.mktemp("prometheus")) if shutil.which("prometheus") else None
    yield one
    if one:
        one.close()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory, prometheus):
    """All at once: they mostly wait."""
    folder = tmp_path_factory.mktemp("recordings")
    running = {name: subprocess.Popen([watching.PMTOP, "-b", "-d", "0.1", "--format=json", "-w", str(folder / f"{name}.pmtop"), *command],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=watching.environment())
               for name, command in commands(folder).items()}
    for name, process in running.items():
        assert process.wait(60) == 0, name
    return {name: Recording(folder / f"{name}.pmtop") for name in running}


@pytest.fixture
def trained(recordings):
    return recordings["trained"]


@pytest.fixture
def odd(recordings):
    return recordings["odd"]


@pytest.fixture
def synthetic(recordings):
    return recordings["synthetic"]


@pytest.fixture(params=["trained", "odd", "synthetic"])
def recording(request, recordings):
    return recordings[request.param]


def is_near(reported, truth):
    """Equal but for the last of 12 digits, and for what a sum of rounded ones adds."""
    return math.isclose(reported, truth, rel_tol=1e-9, abs_tol=1e-9)


def main_mode(report):
    """The mode at the top of a report."""
    return next(mode for mode, row in report["modes"].items() if row["count"] == report["batch"]["count"])


# -- csv -----------------------------------------------------------------------------------------------------------------------------------


def test_batches_are_those_of_the_report(recording):
    table, report = recording.csv, recording.report
    assert set(table["mode"]) == {mode for mode, row in report["modes"].items() if row["count"]}
    for mode, truth in report["modes"].items():
        times = table[table["mode"] == mode]["batch_s"]
        assert len(times) == truth["count"]
        if truth["count"]:
            for reported, key in ((times.mean(), "mean_s"), (times.min(), "min_s"), (times.max(), "max_s"), (times.iloc[-1], "last_s")):
                assert is_near(reported, truth[key]), (mode, key)
    train = table[table["mode"] == main_mode(report)]
    assert is_near(train["step_s"].mean(), report["step"]["mean_s"])
    assert is_near(train["loss"].dropna().iloc[-1], report["batch"]["loss"])
    assert list(train["ordinal"]) == list(range(len(train)))
    assert table["begin_ns"].dtype == numpy.int64 and table["begin_ns"].is_monotonic_increasing
    assert (pandas.to_datetime(table["begin"]).astype("datetime64[ns, UTC]").astype("int64") == table["begin_ns"]).all()
    assert set(table["run"]) == {report["run"]}


def test_phases_are_columns_that_sum_to_the_operations(recording):
    train = recording.csv[recording.csv["mode"] == main_mode(recording.report)]
    outermost = [name for name in train.columns if name.startswith("phase.") and "/" not in name]
    for operation in recording.report["operations"]:
        if operation["depth"] == 0 and "share_ratio" in operation:       # else it lies in no step
            reported = train[f"phase.{operation['name']}_s"].dropna()
            # The demo ends within a step, which has no row yet: what ended in it is one operation more.
            of_no_row = operation["last_s"] if operation["count"] == len(reported) + 1 else 0
            assert math.isclose(reported.sum() + of_no_row, operation["total_s"], rel_tol=1e-5, abs_tol=1e-6), operation["name"]
    whole = train[train["step_s"].notna()]
    assert numpy.allclose(whole[outermost].sum(axis=1), whole["step_s"], rtol=1e-5, atol=1e-6)


def test_flagged_batches_have_the_causes_of_the_report(recording):
    flagged = recording.csv[recording.csv["flagged"] == 1].sort_values("begin_ns")
    truth = recording.report["flagged"]
    assert [(row.epoch, row.index, row.cause) for row in flagged[["epoch", "index", "cause"]].itertuples(index=False)] == \
        [(row["epoch"], row["batch"], row["causes"][0]["what"]) for row in truth]
    for reported, row in zip(flagged["cause_share_ratio"], truth):
        assert is_near(reported, row["causes"][0]["share_ratio"])


def test_the_trainer_had_slow_batches_and_the_demo_too(trained, synthetic):
    """So that the test before has something to compare."""
    assert len(trained.report["flagged"]) >= 3 and len(synthetic.report["flagged"]) >= 1


def test_what_was_not_published_is_missing(odd):
    table = odd.csv
    train = table[table["mode"] == "train"]
    assert set(table["mode"]) == {"train", "validation, all"} and set(table["run"]) == {ODD_RUN}
    assert list(train["loss"].isna()) == [index % 3 == 0 for index in train["index"]]
    assert list(train["samples"].isna()) == [index % 2 == 0 for index in train["index"]]
    assert (train["loss"].dropna() == (train["index"] + 0.5)[train["loss"].notna()]).all()
    assert (train["figure.gpu.forward_s"] == train["index"] + 0.25).all()
    assert table[table["mode"] != "train"]["figure.gpu.forward_s"].isna().all()
    assert list(train["phase.late_s"].isna()) == [index <= 10 for index in train["index"]]
    assert train["phase.late/within, it_s"].notna().sum() == train["phase.late_s"].notna().sum() == 18
    assert train[f"phase.{ODD_SPAN}_s"].notna().all()
    assert set(train["epoch"]) == {3, 4}
    assert table["rank"].isna().all()


def test_operations_are_those_of_the_report(recording):
    table = recording.table("csv-operations")
    rows = table[table["mode"] == main_mode(recording.report)].to_dict("records")
    truth = recording.report["operations"]
    assert [row["operation"] for row in rows] == [row["name"] for row in truth]
    for reported, row in zip(rows, truth):
        for key in ("depth", "count", "total_s", "self_s", "mean_s", "min_s", "max_s", "p95_s", "cpu_s", "share_ratio"):
            assert pandas.isna(reported[key]) if key not in row else is_near(reported[key], row[key]), (row["name"], key)


def test_series_end_where_the_report_stands(recording):
    table, report = recording.table("csv-series"), recording.report
    assert table["time_ns"].dtype == numpy.int64 and table["time_ns"].is_monotonic_increasing and len(table) > 5
    figures = {"resident_bytes": report["memory"]["rss_bytes"], "tree_resident_bytes": report["memory"]["tree_rss_bytes"],
               "system_memory_bytes": report["system"]["memory"]["total_bytes"]}
    for name, truth in figures.items():
        assert table[name].dropna().iloc[-1] == truth, name
    # The kernel counts the resident set in parts of each CPU's own: its peak may be a few pages too small.
    assert table["resident_bytes"].max() <= report["memory"]["peak_rss_bytes"] + (1 << 19)


def test_gpus_and_meters_are_series(synthetic):
    table, report = synthetic.table("csv-series"), synthetic.report
    assert [row["index"] for row in report["gpu"]] == [0, 1]
    for row in report["gpu"]:
        for key in ("utilisation_ratio", "power_w", "memory_used_bytes", "process_memory_bytes", "temperature_c", "sm_active_ratio"):
            assert is_near(table[f"gpu{row['index']}.{key}"].dropna().iloc[-1], row[key]), key
    for row in report["energy"]["meters"]:
        assert is_near(table[f"energy.{row['name']}.joules"].dropna().iloc[-1], row["energy_j"])
    busy = synthetic.csv["gpu.utilisation_ratio"].dropna()
    assert len(busy) and busy.between(0, 1).all()
    most_w = sum(row["totals"]["power_w"]["max"] for row in report["gpu"])
    assert synthetic.csv["gpu.power_w"].max() <= most_w * (1 + 1e-9)


def test_gauges_are_series(odd):
    assert odd.table("csv-series")["gauge.queue, depth"].dropna().iloc[-1] == 4


def test_processes_are_rows(trained):
    table = trained.table("csv-processes")
    target = table[table["is_target"] == 1]
    assert set(target["pid"]) == {trained.report["pid"]} and set(target["command"]) == {"trainer"}
    assert target["resident_bytes"].dropna().iloc[-1] == trained.report["memory"]["rss_bytes"]
    assert {row["pid"] for row in trained.report["workers"]} <= set(table["pid"])


def test_since_and_until_leave_out_the_rest(trained):
    whole = trained.csv
    some = trained.table("csv", "--since=#30", "--until=#59")
    assert list(some["ordinal"]) == list(range(30, 60))
    second = trained.table("csv", "--since=@2")
    assert list(second["begin_ns"]) == list(whole[whole["epoch"] == 1]["begin_ns"])


# -- jsonl ---------------------------------------------------------------------------------------------------------------------------------


def test_json_lines_have_the_figures_of_the_table(recording):
    batches = sorted(recording.of_type("batch"), key=lambda line: line["time_ns"])
    assert len(batches) == len(recording.csv)
    for reported, row in zip(batches, recording.csv.to_dict("records")):
        assert reported["time_ns"] == row["begin_ns"] and reported["time"] == row["begin"] and reported["mode"] == row["mode"]
        for key in ("epoch", "index", "ordinal", "batch_s", "step_s", "samples", "loss", "resident_bytes", "usual_s"):
            assert reported.get(key) == row[key] or (key not in reported and pandas.isna(row[key])), key
        for phase in reported["phases"]:
            name = f"{phase['parent']}/{phase['name']}" if "parent" in phase else phase["name"]
            assert math.isclose(phase["seconds"], row[f"phase.{name}_s"], rel_tol=1e-6)
        for key, value in reported.get("evidence", {}).items():
            assert value == row[key], key


def test_json_lines_have_the_causes_of_the_report(recording):
    reported = [(line["epoch"], line["index"], line["causes"]) for line in recording.of_type("batch") if line["flagged"]]
    assert reported == [(row["epoch"], row["batch"], row["causes"]) for row in recording.report["flagged"]]


def test_json_lines_have_epochs_warnings_patterns_and_marks(recording):
    report = recording.report
    ended = [row for row in report["epochs"] if row["index"] in {line["index"] for line in recording.of_type("epoch")}]
    for reported, row in zip(recording.of_type("epoch"), ended):
        for key, value in row.items():
            assert reported[key] == value
    # Of one rule several operations may be warned of at the same time.
    raised, cleared = collections.Counter(), collections.Counter()
    for line in recording.of_type("warning"):
        assert line["state"] in ("raised", "cleared")
        (raised if line["state"] == "raised" else cleared)[line["rule"], line["since_ns"]] += 1
    assert not cleared - raised
    assert collections.Counter((row["rule"], row["since_ns"]) for row in report["warnings"]) == raised - cleared
    patterns = {(line["kind"], line["since_ns"]) for line in recording.of_type("pattern")}
    assert {(row["kind"], row["since_ns"]) for row in report["patterns"]} <= patterns
    assert [line["type"] for line in recording.lines].count("end") == [line["type"] for line in recording.lines].count("run") == 1
    assert recording.of_type("end")[0]["batches"] == report["batch"]["count"]


def test_marks_are_lines(odd):
    assert [line["text"] for line in odd.of_type("mark")] == ['half, "way"'] * 2
    assert [line["index"] for line in odd.of_type("epoch")] == [3, 4]


# -- tensorboard ---------------------------------------------------------------------------------------------------------------------------


def read_board(path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = accumulator.EventAccumulator(str(path), size_guidance={accumulator.SCALARS: 0})
    board.Reload()
    return board


def test_tensorboard_reads_equal_figures_and_steps(recording, tmp_path):
    for _ in range(2):           # what is exported again is not there twice
        recording.export("tensorboard", "-o", tmp_path / "board")
    board, table = read_board(tmp_path / "board"), recording.csv
    assert len(list((tmp_path / "board").iterdir())) == 1
    expected = {}
    for mode in set(table["mode"]):
        rows = table[table["mode"] == mode].assign(samples_per_s=lambda row: row["samples"] / row["step_s"])
        names = {"step_time_s": "step_s", "batch_time_s": "batch_s", "samples_per_s": "samples_per_s", "loss": "loss", "resident_bytes": "resident_bytes",
                 "allocated_bytes": "allocated_bytes"}
        tags = {f"{mode}/{tag}": column for tag, column in names.items()}
        tags.update({f"{mode}_phases/{column[len('phase.'):]}": column for column in table.columns if column.startswith("phase.")})
        tags.update({f"{mode}_figures/{column[len('figure.'):]}": column for column in table.columns if column.startswith("figure.")})
        for tag, column in tags.items():
            if rows[column].notna().any():
                expected[tag] = rows[rows[column].notna()][["ordinal", column]]
    reported = {tag for tag in board.Tags()["scalars"] if "_epochs/" not in tag}
    assert reported == set(expected)
    for tag, rows in expected.items():
        scalars = board.Scalars(tag)
        assert [scalar.step for scalar in scalars] == list(rows.iloc[:, 0]), tag
        assert numpy.allclose([scalar.value for scalar in scalars], rows.iloc[:, 1], rtol=1e-6, atol=0), tag


def test_tensorboard_has_the_epochs(trained, tmp_path):
    trained.export("tensorboard", "-o", tmp_path)
    board = read_board(tmp_path)
    for tag, key in (("total_s", "total_s"), ("batches", "batches"), ("batch_mean_s", "mean_s")):
        reported = board.Scalars(f"train_epochs/{tag}")
        assert [scalar.step for scalar in reported] == [1, 2]
        assert numpy.allclose([scalar.value for scalar in reported], [row[key] for row in trained.report["epochs"]], rtol=1e-6)


# -- openmetrics ---------------------------------------------------------------------------------------------------------------------------


def truths_of(report):
    """Samples that must be there: (name, labels that are looked at) → value."""
    mode = main_mode(report)
    out = {("pmtop_step_seconds_count", ("mode", mode)): None,
           ("pmtop_step_last_seconds", ("mode", mode)): report["step"]["last_s"],
           ("pmtop_loss", ("mode", mode)): report["batch"]["loss"],
           ("pmtop_tree_resident_bytes",): report["memory"]["tree_rss_bytes"],
           ("pmtop_process_resident_bytes", ("pid", str(report["pid"]))): report["memory"].get("rss_bytes"),
           ("pmtop_lost_events_total", ("run", report["run"])): report["lost_events"]}
    for name, row in report["modes"].items():
        if row["count"]:
            out["pmtop_batch_seconds_count", ("mode", name)] = row["count"]
            out["pmtop_batch_seconds", ("mode", name), ("quantile", "0.95")] = row["p95_s"]
            out["pmtop_batch_seconds", ("mode", name), ("quantile", "0.5")] = row["p50_s"]
    for row in report["operations"]:
        if row["depth"] == 0:
            for family in ("operation", "phase")[:1 if row["name"] in ("unattributed", "between") else 2]:
                out[f"pmtop_{family}_seconds_sum", ("mode", mode), ("phase", row["name"])] = row["total_s"]
                out[f"pmtop_{family}_seconds_count", ("mode", mode), ("phase", row["name"])] = row["count"]
    for row in report.get("gpu", []):
        gpu = ("gpu", str(row["index"]))
        out |= {("pmtop_gpu_power_watts", gpu): row["power_w"], ("pmtop_gpu_memory_used_bytes", gpu): row["memory_used_bytes"],
                ("pmtop_gpu_energy_joules_total", gpu): row["energy_j"], ("pmtop_gpu_info", gpu): 1,
                ("pmtop_gpu_pcie_generation", gpu): row["pcie"]["generation"]}
    for row in report.get("energy", {}).get("meters", []):
        out["pmtop_energy_joules_total", ("meter", row["name"])] = row["energy_j"]
    for row in report["warnings"]:
        out["pmtop_warning", ("rule", row["rule"])] = 1
    return {key: value for key, value in out.items() if value is not None}


def test_openmetrics_parses_and_has_the_figures_of_the_report(recording):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    text = recording.export("openmetrics")
    families = list(parser.text_string_to_metric_families(text))
    assert all(family.documentation for family in families)
    samples = [sample for family in families for sample in family.samples]
    for (name, *labels), truth in truths_of(recording.report).items():
        found = [sample for sample in samples if sample.name == name and all(sample.labels.get(key) == value for key, value in labels)]
        assert found, (name, labels)
        assert any(is_near(sample.value, truth) for sample in found), (name, labels, truth, found)
    assert not [sample for sample in samples if math.isnan(sample.value)]
    assert {sample.labels["run"] for sample in samples if "run" in sample.labels} == {recording.report["run"]}


def test_what_the_exporter_serves_parses_and_has_odd_names(odd):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    process = subprocess.Popen([watching.PMTOP, "exporter", "--listen=127.0.0.1:0", "-n", "1", str(odd.path)], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, env=watching.environment())
    url = process.stderr.readline().split()[-1]
    request = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        families = list(parser.text_string_to_metric_families(answer.read().decode()))
    assert process.wait(20) == 0
    samples = {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}
    [info] = [family.samples[0].labels for family in families if family.name == "pmtop_run"]
    assert info["run"] == ODD_RUN
    run = ("run_id", info["run_id"])
    for name, row in odd.report["modes"].items():
        assert samples["pmtop_batches_total", ("mode", name), run] == row["count"]
    [span] = [row for row in odd.report["operations"] if row["name"] == ODD_SPAN]
    assert samples["pmtop_phase_seconds_count", ("phase", ODD_SPAN), run] == span["count"]


def test_a_real_prometheus_scrapes_it(prometheus, odd):
    if not prometheus:
        pytest.skip("prometheus is not installed")
    prometheus.text = odd.export("openmetrics")
    watching.wait_for(lambda: prometheus.ask('up{job="pmtop"} == 1'), 20, "a scrape that prometheus takes")
    for (name, *labels), truth in truths_of(odd.report).items():
        matches = ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in labels)
        reported = prometheus.ask(f"{name}{{{matches}}}")
        assert reported and any(is_near(float(one["value"][1]), truth) for one in reported), (name, labels, truth, reported)
