#!/usr/bin/env python3
"""Sixty-four ranks, one of them slow, an exporter, and a real Prometheus with pmtop's alert rules and exemplars.

fleet.py        shows them until ^C, and says where Prometheus's page is
fleet.py check  asserts that Prometheus takes the metrics and the rules, that the alert about the slow rank fires and names it, and that queries
                equal what pmtop --json says
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

BUILD = os.path.abspath(os.environ.get("PMTOP_BUILD", "build"))
PMTOP = os.path.join(BUILD, "pmtop")
FOLDER = os.path.join(BUILD, "fleet")
RANKS = int(os.environ.get("FLEET_RANKS", "64"))
SLOW = RANKS * 5 // 8
PROMETHEUS = os.environ.get("FLEET_ADDRESS", "127.0.0.1:9790")
EXPORTER = os.environ.get("FLEET_EXPORTER", "127.0.0.1:9750")
SERIES_MAX = 150
SOON_S = 150
started = []


def start(argv, log, **more):
    with open(os.path.join(FOLDER, log), "w", encoding="utf-8") as out:
        started.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, **more))
    return started[-1]


def end_all():
    for process in reversed(started):
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    for process in started:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def start_ranks():
    """A shell that waits for all ranks stands for the launcher. Steps mostly sleep, so that a laptop carries all of them."""
    trainer = os.path.join(BUILD, "tests/workloads/trainer")
    script = f"""for rank in $(seq 0 {RANKS - 1}); do
        ms=400; [ $rank -ne {SLOW} ] || ms=600
        RANK=$rank LOCAL_RANK=$((rank % 8)) WORLD_SIZE={RANKS} PMTOP_RUN_ID=fleet {trainer} --name digits --workers 0 --step-ms 1 \\
            --batches 100000 --seed $rank --fault sleep,every=1,ms=$ms > /dev/null &
    done; wait"""
    return start(["sh", "-c", script], "ranks.log")


def start_prometheus():
    rules = subprocess.run([PMTOP, "exporter", "--print-rules"], stdout=subprocess.PIPE, check=True).stdout
    with open(os.path.join(FOLDER, "rules.yml"), "wb") as file:
        file.write(rules)
    with open(os.path.join(FOLDER, "prometheus.yml"), "w", encoding="utf-8") as file:
        file.write(f"global: {{scrape_interval: 5s, evaluation_interval: 5s}}\nrule_files: [rules.yml]\n"
                   f"scrape_configs:\n  - job_name: pmtop\n    static_configs: [{{targets: ['{EXPORTER}']}}]\n")
    shutil.rmtree(os.path.join(FOLDER, "data"), ignore_errors=True)
    start(["prometheus", "--config.file=" + os.path.join(FOLDER, "prometheus.yml"), "--storage.tsdb.path=" + os.path.join(FOLDER, "data"),
           "--web.listen-address=" + PROMETHEUS, "--enable-feature=exemplar-storage", "--log.level=warn"], "prometheus.log")


def api(path, **parameters):
    url = f"http://{PROMETHEUS}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]
    except OSError:
        return None


def query(expression):
    """{rank: value}; the rank is "" where the result has none."""
    data = api("query", query=expression)
    return {row["metric"].get("rank", ""): float(row["value"][1]) for row in data["result"]} if data else {}


def wait_for(what, condition):
    end = time.monotonic() + SOON_S
    while time.monotonic() < end:
        found = condition()
        if found:
            print(f"ok: {what}")
            return found
        time.sleep(1)
    sys.exit(f"fleet: not within {SOON_S} s: {what}")


def require(what, is_so):
    if not is_so:
        sys.exit(f"fleet: this does not hold: {what}")
    print(f"ok: {what}")


def promtool(kind, text):
    made = subprocess.run(["promtool", "check", kind, *(["/dev/stdin"] if kind == "rules" else [])], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    require(f"promtool check {kind}", made.returncode == 0 or print(made.stdout.decode()))


def firing(name):
    alerts = (api("alerts") or {"alerts": []})["alerts"]
    return [alert["labels"] for alert in alerts if alert["labels"]["alertname"] == name and alert["state"] == "firing"]


def ranks_of_json(launcher):
    lines = subprocess.run([PMTOP, "-b", "--json", "-n", "3", "-p", str(launcher)], stdout=subprocess.PIPE, check=True).stdout.splitlines()
    return {str(rank["rank"]): rank for rank in json.loads(lines[-1])["ranks"]}


def dashboard_expressions():
    with open(os.path.join(os.path.dirname(__file__), "../../config/grafana/pmtop.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    for panel in panels:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$run_id", ".*")


def check_dashboard():
    """There is no GPU and no collective here: those panels must be valid, the others have results."""
    for title, expression in dashboard_expressions():
        data = api("query", query=expression)
        if data is None or not (data["result"] or "gpu" in expression or "collectives" in expression or "rank_behind" in expression or "waited_for" in expression):
            sys.exit(f"fleet: dashboard, {title}: {'not valid' if data is None else 'no result'}: {expression}")
    print("ok: every panel of the dashboard has a valid query, and a result where there is something to measure")


def check(launcher):
    promtool("rules", subprocess.run([PMTOP, "exporter", "--print-rules"], stdout=subprocess.PIPE, check=True).stdout)
    with urllib.request.urlopen(f"http://{EXPORTER}/metrics", timeout=10) as page:
        promtool("metrics", page.read())
    wait_for(f"Prometheus has {RANKS} ranks", lambda: query("count(pmtop_up == 1)").get("") == RANKS)
    most = max(query('count by (rank) ({rank!=""})').values())
    require(f"{most:.0f} series a rank, of at most {SERIES_MAX}", 50 < most <= SERIES_MAX)
    wait_for("own times of all ranks", lambda: len(query("pmtop_rank_own_step_seconds")) == RANKS)
    before = ranks_of_json(launcher)
    time.sleep(6)
    batches, own = query('pmtop_batches_total{mode="train"}'), query("pmtop_rank_own_step_seconds")
    time.sleep(6)
    after = ranks_of_json(launcher)
    require("batches are between those of pmtop --json before and after",
            all(before[rank]["batches"] <= batches[rank] <= after[rank]["batches"] for rank in before))
    # Medians of the last 200 steps, read at three times: on a busy machine they move.
    times = [(before[rank]["own_s"], own[rank], after[rank]["own_s"]) for rank in after if before[rank]["own_s"] and after[rank]["own_s"]]
    require(f"own times of {len(times)} ranks are those of pmtop --json before or after, within 10 %",
            len(times) > RANKS / 2 and all(0.9 * min(a, b) <= value <= 1.1 * max(a, b) for a, value, b in times))
    middle = query("histogram_quantile(0.5, sum by (le) (rate(pmtop_step_seconds_bucket[1m])))")[""]
    require(f"the histogram's median is {middle:.2f} s, in the bucket of the sleeps", 0.25 < middle <= 0.5)
    labels = wait_for("the alert about the slow rank fires", lambda: firing("PmtopSlowestRankOfAll"))
    require(f"it names rank {SLOW} alone", [alert["rank"] for alert in labels] == [str(SLOW)])
    wait_for("pmtop's own rule slowest_rank fires", lambda: firing("PmtopSlowestRank"))
    check_dashboard()
    exemplars = api("query_exemplars", query="pmtop_step_seconds_bucket", start=time.time() - 120, end=time.time())
    require("exemplars have the number of a batch", exemplars and "batch" in exemplars[0]["exemplars"][0]["labels"])


def main():
    for tool in ("prometheus", "promtool"):
        if not shutil.which(tool):
            sys.exit(f"fleet: {tool} is missing: Debian and Ubuntu have it in prometheus")
    os.makedirs(FOLDER, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        launcher = start_ranks().pid
        exporter = start([PMTOP, "exporter", "--listen=" + EXPORTER, "-p", str(launcher)], "exporter.log")
        start_prometheus()
        page = urllib.parse.urlencode({"g0.expr": "pmtop_rank_own_step_seconds", "g0.tab": "0", "g0.range_input": "5m"})
        print(f"fleet: {RANKS} ranks (process {launcher}), rank {SLOW} is slow; exporter: http://{EXPORTER}/metrics (process {exporter.pid})\n"
              f"fleet: Prometheus: http://{PROMETHEUS}/graph?{page}\nfleet: alerts:     http://{PROMETHEUS}/alerts", flush=True)
        if sys.argv[1:] == ["check"]:
            wait_for("the exporter answers", lambda: urllib.request.urlopen(f"http://{EXPORTER}/metrics", timeout=10).status == 200
                     if "serving" in open(os.path.join(FOLDER, "exporter.log"), encoding="utf-8").read() else False)
            check(launcher)
            with open(f"/proc/{exporter.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            age_s = float(open("/proc/uptime", encoding="utf-8").read().split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
            print(f"exporter: {100 * cpu_s / age_s:.1f} % of a CPU, {int(fields[21]) * os.sysconf('SC_PAGE_SIZE') / 1e6:.0f} MB resident, {age_s:.0f} s")
        else:
            print("fleet: ^C ends all of it", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        end_all()


main()
