"""A real inference loop, and its figures beside numpy's."""
import numpy
import pytest

import watching

pytest.importorskip("torch")

SCRIPT = """
import json, random, time

import torch

import pmtop

torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)
pmtop.init()
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).eval()
times, failed = [], 0
for i in range(300):
    begin = time.perf_counter()
    try:
        with pmtop.request("GET /user/%d" % i if i % 3 else "request_%032x" % random.getrandbits(128)):
            with torch.no_grad(), pmtop.span("forward"):
                model(torch.randn(16, 64))
            time.sleep(0.002 + 0.006 * random.random() ** 4)
            if i % 100 == 7:
                raise ValueError("bad request")
    except ValueError:
        failed += 1
    times.append(time.perf_counter() - begin)
time.sleep(0.3)
print(json.dumps({"times": times, "failed": failed}))
"""


def test_requests_are_told_as_numpy_tells_them():
    seen = watching.watch(SCRIPT)
    told, times = seen.last["requests"], seen.truth["times"]
    assert told["count"] == len(times) == 300
    assert told["failed"] == seen.truth["failed"] == 3
    for q in (50, 95, 99):
        assert watching.close_to(told[f"p{q}_s"], numpy.percentile(times, q), 0.025, 300e-6), q
    assert watching.close_to(told["max_s"], max(times), slack_s=500e-6)
    assert {row["pattern"]: row["count"] for row in told["patterns"]} == {"GET /user/*": 200, "request_*": 100}
    assert told["over_sla"] == 0 and told["late"] == []
    assert told["last_1h"]["count"] == 300 and sum(hour["count"] for hour in told["hours"]) == 300
