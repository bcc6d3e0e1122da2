"""Identifies this process for pmtop: the run's name, its rank, the run's id, as far as they are known."""
import os
import sys
from collections.abc import Mapping
from typing import Optional

# The first variable that is set counts: those that frameworks read come before the launchers' own.
_SOURCES = {
    "RANK": ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    "LOCAL_RANK": ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "WORLD_SIZE": ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"),
}
# The visible GPUs, in the order in which the drivers read them. Published because pmtop reads no environment of other ranks' processes.
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
_VALUE_BYTES_MAX = 192  # of a value
_NO_SCRIPTS = {"": "python", "-": "python", "-c": "python", "-m": "python"}
_NO_SCRIPTS.update(dict.fromkeys(("ipykernel_launcher", "colab_kernel_launcher"), "notebook"))


def run_name(environment: Mapping[str, str] = os.environ) -> str:
    """PMTOP_RUN, else the module or the script that was started, without ".py"; "python" where there is none."""
    if environment.get("PMTOP_RUN"):
        return environment["PMTOP_RUN"]
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name != "__main__":
        name = spec.name[: -len(".__main__")] if spec.name.endswith(".__main__") else spec.name
    else:
        script = sys.argv[0] if getattr(sys, "argv", None) else ""
        name = os.path.basename(script)
        name = name[:-3] if name.endswith(".py") else name
        if name == "__main__":
            name = os.path.basename(os.path.dirname(os.path.abspath(script)))
    return _NO_SCRIPTS.get(name, name)


def _is_one_of_several(environment: Mapping[str, str]) -> bool:
    """Whether the job has several processes: Slurm sets its variables for a single process, too."""
    return environment.get("SLURM_NTASKS", "1") != "1" or "WORLD_SIZE" in environment


def _address(environment: Mapping[str, str]) -> str:
    """The address of rank 0. "localhost" differs between network namespaces, so the namespace is added: two containers may use the same."""
    address = environment["MASTER_ADDR"]
    if address == "localhost" or address.startswith("127.") or address == "::1":
        try:
            address += " net %d" % os.stat("/proc/self/ns/net").st_ino
        except OSError:
            pass
    return address


def run_id(environment: Mapping[str, str] = os.environ) -> Optional[str]:
    """An id that all ranks of a run share and, as far as the launcher allows, no other run has; None if nothing identifies the run."""
    parts = []
    if environment.get("TORCHELASTIC_RUN_ID", "none") != "none":
        parts.append(environment["TORCHELASTIC_RUN_ID"])
    if environment.get("MASTER_ADDR") and environment.get("MASTER_PORT"):
        parts.append(_address(environment) + ":" + environment["MASTER_PORT"])
    if environment.get("SLURM_JOB_ID") and _is_one_of_several(environment):
        step = environment.get("SLURM_STEP_ID")
        parts.append("slurm " + environment["SLURM_JOB_ID"] + ("." + step if step else ""))
    elif environment.get("OMPI_COMM_WORLD_RANK") and environment.get("PMIX_NAMESPACE"):
        parts.append(environment["PMIX_NAMESPACE"])
    return " ".join(parts) or None


def _whole_names(names: str) -> str:
    """As many names of a list as fit: a name that is cut could be another's."""
    return names if len(names.encode(errors="replace")) <= _VALUE_BYTES_MAX else names[:_VALUE_BYTES_MAX].rpartition(",")[0]


def facts(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The facts that are published as meta when the region is created."""
    found = {"python": "%d.%d.%d" % sys.version_info[:3], "host": os.uname().nodename}
    for key, sources in _SOURCES.items():
        for source in sources:
            if environment.get(source):
                found[key] = environment[source]
                break
    for key in _VISIBLE:
        if environment.get(key):
            found[key] = _whole_names(environment[key])
            break
    identity = run_id(environment)
    if identity:
        found["run_id"] = identity
    return found
