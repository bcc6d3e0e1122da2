"""Reads pmtop's JSON object from standard input: strict JSON, one line, no key that pmtop(1) does not name, every value of its type.

Each argument is a Python expression over the object `o` that must hold. Says what does not and exits 1."""
import json
import sys

FIGURES = dict.fromkeys(("last_s", "mean_s", "min_s", "max_s", "p50_s", "p95_s"), float)
OPERATION = {"name": str, "depth": int, "count": int} | dict.fromkeys(
    ("total_s", "self_s", "cpu_s", "mean_s", "min_s", "max_s", "p95_s", "share_ratio"), float)
KIND = {"kind": str, "count": int, "median_s": float, "p95_s": float}
LATE = {"*": {"count": int, "last": float, "median": float, "mean": float}}
MODE = {"count": int, "is_at_least": bool, "samples_per_s": float, "operations": [OPERATION], "operations_left_out": int, "kinds": [KIND], "figures": LATE} | FIGURES
CAUSE = {"what": str, "kind": str, "phase": str, "share_ratio": float, "excess_s": float, "next": str, "evidence": {"*": float}}
TIMES = dict.fromkeys(("mean", "p50", "p95", "min", "max"), float)
SPAN = {"name": str, "count": int, "total_s": float, "mean_s": float, "share_ratio": float}
WORK = {"fetches": int, "failed": int, "items": float, "fetch_s": TIMES, "item_s": TIMES, "spans": [SPAN]}
WORKER = {"pid": int, "id": int, "state": str, "ended": str} | WORK | dict.fromkeys(
    ("fetches_per_s", "items_per_s", "busy_ratio", "idle_ratio", "cpu_ratio", "rss_bytes", "read_bytes_per_s", "state_since_s"), float)
WHOLE = {"mean": float, "max": float}
CGROUP = ("memory_bytes", "memory_limit_bytes", "memory_ratio", "anonymous_bytes", "file_bytes", "shared_bytes", "members_outside",
          "oom_kills", "cpu_ratio", "cpu_limit", "throttled_ratio")
DISK = ("busy_ratio", "read_bytes_per_s", "write_bytes_per_s", "reads_per_s", "writes_per_s", "read_latency_s", "write_latency_s")
SYSTEM = {
    "cpu": dict.fromkeys(("count", "busy_ratio", "io_wait_ratio", "stolen_ratio", "running", "blocked", "load"), float),
    "pressure": dict.fromkeys(("cpu_ratio", "memory_ratio", "io_ratio"), float),
    "memory": dict.fromkeys(("total_bytes", "available_bytes", "used_ratio", "cached_bytes", "dirty_bytes"), float),
    "swap": dict.fromkeys(("total_bytes", "used_bytes", "in_bytes_per_s", "out_bytes_per_s"), float),
    "shm": dict.fromkeys(("total_bytes", "used_bytes", "used_ratio", "own_bytes"), float),
    "space": dict.fromkeys(("total_bytes", "free_bytes", "used_ratio"), float),
    "disks": [{"name": str} | dict.fromkeys(DISK, float)],
    "networks": [{"name": str, "received_bytes_per_s": float, "sent_bytes_per_s": float}],
    "cgroup": dict.fromkeys(CGROUP, float), "clock_step_s": float, "suspend_s": float,
}
MACHINE = {"disks": [{"name": str, "busy_ratio": WHOLE, "bytes_per_s": WHOLE}], "networks": [{"name": str, "bytes_per_s": WHOLE}],
           "gpus": [{"name": str, "utilisation_ratio": WHOLE, "memory_used_bytes": WHOLE}]} | dict.fromkeys(
    ("cpu_ratio", "io_wait_ratio", "memory_ratio", "swap_bytes_per_s"), WHOLE)
COUNTERS = {
    "events": [{"name": str, "role": str, "per_s": float, "total": float, "counted_ratio": float}],
    "processes": [{"pid": int, "total": {"*": float}}], "processes_left_out": int,
} | dict.fromkeys(("cpus", "ipc", "clock_hz", "cache_miss_ratio", "branch_miss_ratio", "stalled_front_ratio", "stalled_back_ratio", "flops_per_s",
                   "flops_per_batch", "flops_per_sample", "memory_bytes_per_s", "flops_per_byte", "mfu_ratio"), float)
MEMORY = {"verdict": str, "grower": str, "grower_kind": str, "grower_pid": int, "limit": str, "spikes": int, "spike_ns": int,
          "gpu_allocator": dict.fromkeys(("allocated_bytes", "reserved_bytes", "peak_bytes"), float)} | dict.fromkeys(
    ("rss_bytes", "peak_rss_bytes", "tree_rss_bytes", "tree_anonymous_bytes", "tree_file_bytes", "tree_shared_bytes",
     "anonymous_bytes", "file_bytes", "shared_bytes", "swap_bytes", "growth_bytes",
     "slope_bytes_per_s", "slope_low_bytes_per_s", "slope_high_bytes_per_s",
     "slope_bytes_per_batch", "slope_low_bytes_per_batch", "slope_high_bytes_per_batch", "growth_per_epoch_bytes",
     "grower_share_ratio", "limit_bytes", "limit_room_bytes", "limit_in_s", "spike_bytes"), float)
GPU_WHOLES = ("utilisation_ratio", "sm_active_ratio", "memory_used_bytes", "process_memory_bytes", "power_w", "temperature_c")
GPU = {"index": int, "part_of": int, "is_ours": bool, "is_ours_by_place": bool, "throttle": [str],
       "pcie": dict.fromkeys(("received_bytes_per_s", "sent_bytes_per_s", "replays", "generation", "generation_max", "width", "width_max"), float),
       "nvlink": {"received_bytes_per_s": float, "sent_bytes_per_s": float}, "ecc": {"corrected": float, "uncorrected": float},
       "processes": [{"pid": int, "command": str, "is_ours": bool, "kinds": [str], "memory_bytes": float, "utilisation_ratio": float}],
       "runs": [{"pid": int, "rank": int, "process_memory_bytes": float, "allocated_bytes": float, "reserved_bytes": float, "peak_bytes": float}],
       "memory": {"verdict": str} | dict.fromkeys(("slope_bytes_per_s", "slope_low_bytes_per_s", "slope_high_bytes_per_s", "slope_bytes_per_batch", "full_in_s"), float),
       "totals": dict.fromkeys(GPU_WHOLES, WHOLE) | {"reasons": {"*": float}} | dict.fromkeys(
           ("seconds", "energy_j", "pcie_received_bytes", "pcie_sent_bytes", "throttled_ratio", "throttled_power_s", "throttled_thermal_s"), float),
       "events": [{"time_ns": int, "code": int, "text": str}]} | dict.fromkeys(("vendor", "name", "uuid", "pci", "driver", "lost"), str) | dict.fromkeys(
    ("utilisation_ratio", "memory_controller_ratio", "sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_active_ratio",
     "memory_used_bytes", "memory_total_bytes", "memory_reserved_bytes", "process_memory_bytes", "process_utilisation_ratio", "others_memory_bytes",
     "power_w", "power_limit_w", "energy_j", "temperature_c", "memory_temperature_c", "temperature_limit_c", "clock_hz", "clock_max_hz",
     "memory_clock_hz", "memory_clock_max_hz", "throttled_power_ratio", "throttled_thermal_ratio", "reading_ratio"), float)
PATTERN = dict.fromkeys(("kind", "unit", "counted_by", "what", "phase", "candidate"), str) | dict.fromkeys(
    ("count", "of", "first", "first_epoch", "first_batch", "since_ns"), int) | dict.fromkeys(("period", "before_s", "after_s"), float) | {
    "is_planned": bool}
ENERGY = {"since_ns": int, "epochs_left_out": int, "meters": [{"name": str, "power_w": float, "energy_j": float}],
          "temperatures": [{"name": str, "temperature_c": float, "limit_c": float}],
          "epochs": [{"index": int, "ordinal": int, "is_whole": bool, "energy_j": float, "cpu_energy_j": float, "gpu_energy_j": float, "co2_g": float}],
          } | dict.fromkeys(
    ("power_w", "cpu_power_w", "gpu_power_w", "energy_j", "cpu_energy_j", "gpu_energy_j", "per_batch_j", "cpu_per_batch_j", "gpu_per_batch_j",
     "per_sample_j", "grid_g_per_kwh", "co2_g", "co2_per_epoch_g", "cpu_temperature_c", "cpu_clock_hz", "cpu_throttles_per_s"), float)
OBJECT = {
    "time_ns": int, "pid": int, "ended": {"cause": str, "message": str, "signal": int, "exit_status": int}, "damaged_blocks": int, "damaged_bytes": int, "run": str, "rank": int, "mode": str, "run_done_ratio": float, "run_eta_s": float,
    "epoch": {"index": int, "ordinal": int, "total": int, "done_ratio": float, "eta_s": float},
    "meta": {"*": str},
    "step": {"last_s": float, "mean_s": float, "p50_s": float, "p95_s": float, "rate_per_s": float, "accumulation": int, "optimizer_steps_per_s": float},
    "batch": {"count": int, "total": int, "index": int, "loss": float, "samples_per_s": float} | FIGURES,
    "recent": {"count": int} | FIGURES,
    "epochs": [{"index": int, "batches": int, "is_at_least": bool, "total_s": float, "mean_s": float, "min_s": float, "max_s": float}],
    "epochs_left_out": int,
    "operations": [OPERATION], "operations_left_out": int,
    "kinds": [KIND], "figures": LATE,
    "modes": {"*": MODE}, "gauges": {"*": float},
    "flagged_total": int, "flagged_left_out": int,
    "flagged": [{"epoch": int, "batch": int, "seconds": float, "ratio": float, "mode": str, "kind": str, "samples": float, "usual_samples": float,
                 "causes": [CAUSE]}],
    "patterns": [PATTERN],
    "lost_events": int, "before_attach_events": int, "refused_events": int,
    "refused": {key: int for key in ("no_lane", "too_deep", "signal", "full", "order", "busy", "unknown")},
    "memory": MEMORY,
    "cpu": {"state": str} | dict.fromkeys(
        ("ratio", "tree_ratio", "user_s", "system_s", "run_queue_wait_ratio", "major_faults_per_s", "read_bytes_per_s",
         "write_bytes_per_s", "threads"), float),
    "system": SYSTEM, "machine": MACHINE,
    "counters": COUNTERS,
    "gpu": [GPU],
    "energy": ENERGY,
    "workers": [WORKER], "workers_left_out": int, "workers_total": {"seen": int, "died": int} | WORK,
    "warnings": [{"rule": str, "severity": str, "message": str, "evidence": {"*": float}, "advice": [str], "since_ns": int}],
    "self": {"cpu_ratio": float, "memory_bytes": float, "missing": [{"figure": str, "reason": str, "remedy": str}]},
}


def check(value, shape, path):
    if isinstance(shape, dict):
        assert isinstance(value, dict), f"{path} is no object"
        for key, member in value.items():
            assert key in shape or "*" in shape, f"{path}.{key} is not documented"
            check(member, shape.get(key, shape.get("*")), f"{path}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), f"{path} is no array"
        for i, member in enumerate(value):
            assert shape, f"{path} is not empty"
            check(member, shape[0], f"{path}[{i}]")
    elif shape is float:
        assert type(value) in (int, float), f"{path} is no number: {value!r}"
    else:
        assert type(value) is shape, f"{path} is no {shape.__name__}: {value!r}"


def without_repeats(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice in {keys}"
    return dict(pairs)


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


try:
    line = sys.stdin.read()
    assert line.count("\n") == 1 and line.endswith("\n"), "not one line"
    o = json.loads(line, parse_constant=refuse, object_pairs_hook=without_repeats)
    check(o, OBJECT, "o")
    for expression in sys.argv[1:]:
        assert eval(expression, {"o": o}), f"does not hold: {expression}"
except (AssertionError, ValueError, LookupError) as problem:
    print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
    sys.exit(1)
