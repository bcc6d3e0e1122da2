"""The rank in torch.distributed's process group, of a process whose environment does not have it."""
from __future__ import annotations

from typing import Any, Optional

import torch

from .._run import facts


def group_rank() -> Optional[tuple[int, int]]:
    """This process's rank and the number of ranks; None before the group is there."""
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return int(group.get_rank()), int(group.get_world_size())


class RankFacts:
    """Publishes the rank, once it is known. Processes of torch.multiprocessing.spawn pass it to init_process_group."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._is_known = "RANK" in facts()

    def publish(self) -> None:
        rank = None if self._is_known else group_rank()
        if rank is None:
            return
        self._is_known = True
        if rank[1] > 1:
            # The script may also have set MASTER_ADDR, which identifies the job, after pmtop published its first facts.
            for key, value in {**facts(), "RANK": rank[0], "WORLD_SIZE": rank[1]}.items():
                self._loop.publish_fact(key, value)
