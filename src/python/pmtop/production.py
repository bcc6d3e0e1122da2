"""The two classes of guide 001, "Production Integration": a regression detector for named operations, and a log of requests."""
import contextlib
import json
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Deque, Dict, Optional, Tuple

import pmtop
from pmtop._request import Request
from pmtop.profiler import PerformanceProfiler

__all__ = ["PerformanceRegressionDetector", "ProductionProfiler"]

THRESHOLD_RATIO = 0.2
"""Guide 001: 20 % above the baseline is a regression."""
SLA_S = 2.0
"""Guide 001: the limit of the latency that a user sees."""
LOG_MAX = 100_000
PERCENTILE = 0.95


class PerformanceRegressionDetector:
    """Compares operations with a baseline: a JSON file {"model_training": {"wall_time_s": 12.3}, ...}.

    Raises OSError if the file cannot be read, ValueError if it is not such an object."""

    regressions: Tuple[Dict[str, Any], ...] = ()
    """What was found, oldest first: operation, baseline_s, wall_time_s."""

    def __init__(self, baseline_metrics_path: Any, profiler: Optional[PerformanceProfiler] = None) -> None:
        self.baseline = self.load_baseline(baseline_metrics_path)
        self.profiler = profiler or PerformanceProfiler()

    def load_baseline(self, path: Any) -> Dict[str, Dict[str, float]]:
        """The baseline in a file."""
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        for name, row in found.items() if isinstance(found, Mapping) else [("the file", None)]:
            if not isinstance(row, Mapping) or not isinstance(row.get("wall_time_s"), (int, float)):
                raise ValueError(f'{path}: {name}: no number "wall_time_s"; write {{"NAME": {{"wall_time_s": SECONDS}}}}')
        return found  # type: ignore[no-any-return]

    def save_baseline(self, path: Any) -> None:
        """Writes the wall times of all finished operations as a baseline."""
        rows = {row.name: {"wall_time_s": row.wall_time_s} for row in self.profiler.compare()}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)

    @contextlib.contextmanager
    def check_regression(self, operation_name: str, threshold: float = THRESHOLD_RATIO) -> Iterator[None]:
        """`with detector.check_regression("model_training"):` profiles the block, and alerts if it took more than its baseline by this ratio.
        Without a baseline for the name it only profiles. A block that raises is not compared."""
        with self.profiler.profile(operation_name) as block:
            yield
        baseline = self.baseline.get(operation_name)
        if baseline is not None and block.metrics is not None:
            seconds = block.metrics.timing.wall_time_s
            if seconds > baseline["wall_time_s"] * (1 + threshold):
                self.alert_regression(operation_name, baseline["wall_time_s"], seconds)

    def alert_regression(self, operation_name: str, baseline_time: float, current_time: float) -> None:
        """Notes the regression, prints a line on standard error, and publishes a mark. Override it to do something else."""
        text = f"{operation_name} took {current_time:.3f} s, {current_time / baseline_time:.2f} times its baseline of {baseline_time:.3f} s"
        self.regressions += ({"operation": operation_name, "baseline_s": baseline_time, "wall_time_s": current_time},)
        pmtop.mark(f"regression: {text}")
        print(f"pmtop: {text}", file=sys.stderr)


class ProductionProfiler:
    """Logs requests with their id, the latency that the user saw, memory and CPU, and alerts at each violation of the limit `sla_s` (s).

    Each request is also pmtop.request("request *"), so pmtop shows rates and percentiles of all ids in one row. The log has the newest 100,000
    requests."""

    def __init__(self, sla_s: float = SLA_S, profiler: Optional[PerformanceProfiler] = None) -> None:
        self.sla_s = sla_s
        self.profiler = profiler or PerformanceProfiler(estimate_flops=False)
        self.metrics_log: Deque[Dict[str, Any]] = deque(maxlen=LOG_MAX)

    @contextlib.contextmanager
    def profile_request(self, request_id: Any) -> Iterator[Any]:
        """`with profiler.profile_request(request_id):` profiles a request."""
        with Request("request *"), self.profiler.profile("request") as block:
            yield block

    def log_metrics(self, request_id: Any, user_facing_latency: float) -> Dict[str, Any]:
        """Call after the request, in its thread. Returns its log entry: timestamp, request_id, internal_latency and user_facing_latency (s),
        memory_mb, cpu_percent (of the process; 200 is two processors). Raises LookupError before the first request."""
        metrics = self.profiler.get_metrics()
        entry = {
            "timestamp": datetime.now().isoformat(), "request_id": request_id, "internal_latency": metrics.timing.wall_time_s,
            "user_facing_latency": user_facing_latency, "memory_mb": metrics.memory.peak_ram_mb, "cpu_percent": metrics.system.process_cpu_percent,
        }  # fmt: skip
        self.metrics_log.append(entry)
        if user_facing_latency > self.sla_s:
            self.alert_sla_violation(entry)
        return entry

    def alert_sla_violation(self, log_entry: Mapping) -> None:
        """Prints a line on standard error and publishes a mark. Override it to do something else."""
        text = f"request {log_entry['request_id']} took {log_entry['user_facing_latency']:.3f} s, above the limit"
        pmtop.mark(text)
        print(f"pmtop: {text}", file=sys.stderr)

    def generate_hourly_report(self) -> Optional[Dict[str, Any]]:
        """The last hour: requests_processed, average_latency and p95_latency (s), sla_violations. None without a request."""
        cutoff = datetime.now() - timedelta(hours=1)
        latencies = sorted(entry["user_facing_latency"] for entry in list(self.metrics_log) if datetime.fromisoformat(entry["timestamp"]) > cutoff)
        if not latencies:
            return None
        return {
            "requests_processed": len(latencies), "average_latency": sum(latencies) / len(latencies),
            "p95_latency": latencies[int(PERCENTILE * len(latencies))], "sla_violations": sum(latency > self.sla_s for latency in latencies),
        }  # fmt: skip
