"""Who this process is, for pmtop to show: the run's name, its place among the ranks, the run's id. Only what is known."""
import os
import sys
from collections.abc import Mapping
from typing import Optional

# The first that is set is it; what the launchers say stands behind what the frameworks read.
_PLACES = {
    "RANK": ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    "LOCAL_RANK": ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "WORLD_SIZE": ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"),
}
# Which GPUs it may see, in the order in which the drivers look: beside other ranks it is not read from its process.
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
_MOST_BYTES = 192  # of a value
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
    """A launcher's own variables are also set in a batch job around one process."""
    return environment.get("SLURM_NTASKS", "1") != "1" or "WORLD_SIZE" in environment


def _address(environment: Mapping[str, str]) -> str:
    """Of a run's first rank. "localhost" is another one in each network namespace, so that two containers may have the same."""
    address = environment["MASTER_ADDR"]
    if address == "localhost" or address.startswith("127.") or address == "::1":
        try:
            address += " net %d" % os.stat("/proc/self/ns/net").st_ino
        except OSError:
            pass
    return address


def run_id(environment: Mapping[str, str] = os.environ) -> Optional[str]:
    """The same in all ranks of one run and, as far as the launcher lets, in no other; None where there is nothing to tell it by."""
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
    """As many of a list's as have room: half of one could be another's."""
    return names if len(names.encode(errors="replace")) <= _MOST_BYTES else names[:_MOST_BYTES].rpartition(",")[0]


def facts(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What is published as meta when the region is made."""
    found = {"python": "%d.%d.%d" % sys.version_info[:3], "host": os.uname().nodename}
    for key, sources in _PLACES.items():
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
