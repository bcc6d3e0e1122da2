#!/usr/bin/env python3
"""exporter.py PMTOP RECORDING: the program `pmtop exporter` itself. Its page equals the JSON object, its manual names what it serves, its file is one
that node_exporter takes. The server and the families: tests/unit/test_http.c, tests/unit/test_scrape.c. With a real Prometheus: make check-prometheus."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request

PMTOP, RECORDING = sys.argv[1:3]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def run(*arguments, **more):
    return subprocess.run([PMTOP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=30, text=True, check=False,
                          **more)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def page_of(*arguments):
    made = run("exporter", "--textfile=page.prom", "-n", "1", *arguments)
    assert made.returncode == 0 and not made.stderr, made.stderr
    return read("page.prom")


def value(page, name, labels=""):
    """The one sample of that name that has these labels."""
    found = re.findall(rf"^{name}(?:{{[^\n]*?{labels}[^\n]*}})? (\S+)$", page, re.M)
    assert len(found) == 1, (name, labels, found)
    return float(found[0])


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def check_figures():
    page, reported = page_of(RECORDING), json.loads(run("-b", "--json", "-r", RECORDING).stdout.splitlines()[-1])
    assert value(page, "pmtop_batches_total", 'mode="train"') == reported["batch"]["count"] > 5
    assert value(page, "pmtop_step_seconds_count") == value(page, "pmtop_step_seconds_bucket", r'le="\+Inf"') > 5
    assert close(value(page, "pmtop_step_seconds_sum") / value(page, "pmtop_step_seconds_count"), reported["step"]["mean_s"])
    assert close(value(page, "pmtop_loss"), reported["batch"]["loss"])
    assert close(value(page, "pmtop_memory_tree_rss_bytes"), reported["memory"]["tree_rss_bytes"])
    assert close(value(page, "pmtop_system_cpu_ratio"), reported["system"]["cpu"]["busy_ratio"])


def check_kinds():
    """A family that pmtop export has too is of one kind in both, with the same buckets."""
    page, exported = page_of(RECORDING), run("export", "--to=openmetrics", RECORDING).stdout
    kinds = [dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.M)) for text in (page, exported)]
    # The file for node_exporter names a counter as its samples, OpenMetrics without "_total".
    kinds[1] = {name + "_total" * (kind == "counter"): kind for name, kind in kinds[1].items()}
    both = set(kinds[0]) & set(kinds[1])
    assert {"pmtop_step_seconds", "pmtop_phase_seconds", "pmtop_loss"} <= both, both
    assert not [(name, kinds[0][name], kinds[1][name]) for name in both if kinds[0][name] != kinds[1][name]]
    for bound in ("0.1", r"\+Inf"):
        assert value(page, "pmtop_step_seconds_bucket", f'le="{bound}"') == value(exported, "pmtop_step_seconds_bucket", f'mode="train".*le="{bound}"')


def check_file():
    page = page_of(RECORDING)
    assert stat.S_IMODE(os.stat("page.prom").st_mode) == 0o644
    assert not [name for name in os.listdir(".") if name.endswith(".tmp")]
    for line in page.splitlines():
        # A value and no timestamp; no exemplar.
        assert re.fullmatch(r"# (TYPE|HELP) pmtop_\w+ .+|pmtop_\w+({[^{}]*})? [-+.e\w]+", line), line
    refused = run("exporter", "--textfile=nowhere/page.prom", "-n", "1", RECORDING)
    assert refused.returncode == 1 and "cannot write nowhere/page.prom: No such file" in refused.stderr, refused
    os.mkfifo("fifo.prom")
    unread = run("exporter", "--textfile=fifo.prom", "-n", "1", RECORDING)
    assert unread.returncode == 1 and "cannot write fifo.prom: it is a FIFO" in unread.stderr, unread
    piped = subprocess.run(f"{PMTOP} collect --demo -d 0.1 --for=0.5s | {PMTOP} exporter -r - --textfile=piped.prom", shell=True, timeout=30, check=True)
    assert piped.returncode == 0 and 'pmtop_up{run_id="' in read("piped.prom")


def check_manual():
    """Each name that is served, or that the dashboard shows, is in the manual, and the manual has no other."""
    manual = read(os.path.join(ROOT, "man/pmtop-exporter.1"))
    listed = set(re.findall(r"pmtop_\w+", manual[manual.index(".Bl -tag", manual.index(".Sh METRICS")):manual.index(".Sh EXIT")]))
    served = set(re.findall(r"^# TYPE (\w+)", page_of(RECORDING) + page_of("--demo=gpu-leak", "-d", "0.1"), re.M))
    served |= set(re.findall(r"pmtop_\w+(?= [<>=!]| and )", run("exporter", "--print-rules").stdout))
    assert len(served) > 60 and served <= listed, served - listed
    shown = set(re.findall(r"pmtop_\w+", " ".join(re.findall(r'"expr": "(.*)"', read(os.path.join(ROOT, "config/grafana/pmtop.json"))))))
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    assert len(shown) > 15 and shown <= listed, shown - listed
    folder = os.path.join(ROOT, "src/export/scrape")
    source = "".join(read(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".c"))
    for name in listed:
        family = re.sub(r"_(total|info)$", "", name)[len("pmtop_"):]
        figure = re.sub(r"_per_second$", "_per_s", re.sub(r"_seconds$", "_s", family)).replace("_", ".", 1)
        assert re.search(rf"\b({family}|{re.escape(figure)}|{family}\.count)\b", source), name


def start(*arguments):
    process = subprocess.Popen([PMTOP, "exporter", *arguments], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    line = process.stderr.readline()
    assert line.startswith("pmtop: serving http://127.0.0.1:"), line
    return process, line.split()[-1]


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def check_server():
    process, url = start("--listen=localhost:0", "-n", "2", RECORDING)
    kind, text = fetch(url)
    assert kind.startswith("text/plain; version=0.0.4") and "pmtop_exporter_ranks 1\n" in text and "# EOF" not in text
    kind, text = fetch(url, Accept=OPENMETRICS)
    assert kind.startswith("application/openmetrics-text; version=1.0.0") and text.endswith("# EOF\n")
    assert re.search(r'_bucket{.*} \d+ # {batch="\d+",recording_offset_seconds="[\d.]+"} 0\.\d+ \d+\.\d+\n', text)
    assert process.wait(20) == 0


def check_attack():
    """Whoever floods it with connections that say nothing, or halves, keeps no scraper out; it stays small, asleep, and ends when asked."""
    process, url = start("--listen=127.0.0.1:0", "--demo", "-d", "0.2")
    address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
    clients = [socket.create_connection(address, timeout=20) for _ in range(100)]
    for client in clients[::2]:
        try:
            client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 4000)
        except OSError:
            pass
    assert "pmtop_exporter_ranks 1\n" in fetch(url)[1]
    assert len(os.listdir(f"/proc/{process.pid}/fd")) < 80
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        before = file.read().split()
    time.sleep(1)
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        after = file.read().split()
    assert int(after[13]) + int(after[14]) - int(before[13]) - int(before[14]) < 50, "busy while others only wait"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    for client in clients:
        client.close()


def check_refusals():
    process, url = start("--listen=127.0.0.1:0", "--demo", "-d", "0.2")
    again = run("exporter", "--listen=" + url.split("/")[2], "--demo")
    assert again.returncode == 1 and "Address already in use" in again.stderr and again.stderr.count("\n") == 1, again
    fetch(url)
    process.terminate()
    assert process.wait(20) == 0
    wrong = run("exporter", "--listen=9750")
    assert wrong.returncode == 2 and "no numeric address with a port" in wrong.stderr, wrong
    process, url = start("--listen=127.0.0.1:0", "--", "sleep", "60")
    fetch(url)
    process.terminate()
    assert process.wait(20) == 128 + signal.SIGTERM, "the signal reaches the command that was started"
    gone = run("exporter", "-p", "999999999")
    assert gone.returncode == 3, gone


for each in (check_figures, check_kinds, check_file, check_manual, check_server, check_attack, check_refusals):
    each()
