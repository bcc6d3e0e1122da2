"""Profile: when torch.profiler runs, what it records and where the traces go."""
import os
from collections.abc import Mapping
from typing import Any, Dict, Optional, Tuple, Union

OUTPUT_DIR = "outputs/profiler_logs"
"""Guide 004's."""
SECTION = "profiling"
"""The section of guides 002 and 004 in a configuration."""

_COUNTS = {"wait": 0, "warmup": 0, "active": 1, "repeat": 0, "every_n_steps": 0}
"""The least value of each."""
_SWITCHES = ("epochs", "record_shapes", "profile_memory", "with_stack", "with_flops", "enabled")
_OTHER_NAMES = {
    "schedule_every_n_steps": "every_n_steps", "wait_steps": "wait", "warmup_steps": "warmup", "active_steps": "active", "repeat_cycles": "repeat",
}  # fmt: skip
"""Guide 004's names."""


class Profile:
    """A schedule for torch.profiler: `wait` steps without it, `warmup` steps in which it runs and records nothing, `active` steps in a trace; all of
    this `repeat` times, 0 without end. The very first step is never profiled.

    every_n_steps: a cycle begins so many steps after the one before; 0: at once. epochs: counts epochs instead of steps, which makes large traces.
    record_shapes, profile_memory, with_stack, with_flops: as torch.profiler.profile takes them. output_dir: the traces are in its folder `run`
    (default: the run's name). enabled: False does nothing.
    Raises TypeError or ValueError with the argument, the error and the expected value."""

    def __init__(self, *, wait: int = 1, warmup: int = 1, active: int = 3, repeat: int = 1, every_n_steps: int = 0, epochs: bool = False,
                 record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 output_dir: Union[str, "os.PathLike[str]"] = OUTPUT_DIR, run: Optional[str] = None, enabled: bool = True) -> None:
        self.wait, self.warmup, self.active, self.repeat, self.every_n_steps = wait, warmup, active, repeat, every_n_steps
        self.epochs, self.enabled = epochs, enabled
        self.record_shapes, self.profile_memory, self.with_stack, self.with_flops = record_shapes, profile_memory, with_stack, with_flops
        self.output_dir, self.run = output_dir, run
        for name, least in _COUNTS.items():
            _check_count(name, getattr(self, name), least)
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"profile.{name}: {getattr(self, name)!r} is neither True nor False")
        if not isinstance(output_dir, (str, os.PathLike)):
            raise TypeError(f"profile.output_dir: {output_dir!r} is no path")

    @classmethod
    def of(cls, value: "Union[None, bool, Profile, Mapping[str, Any]]") -> "Optional[Profile]":
        """The argument `profile` of instrument(): True for the defaults, or a mapping with the keys of Profile or of guide 004; of a whole
        configuration, its section "profiling". None if there is nothing to do."""
        if value is None or value is False:
            return None
        found = value if isinstance(value, cls) else cls() if value is True else cls.from_config(value)
        return found if found.enabled else None

    @classmethod
    def from_config(cls, config: Any) -> "Profile":
        """A Profile from a mapping, such as {"wait_steps": 1, "active_steps": 3}."""
        section = config.get(SECTION, config) if isinstance(config, Mapping) else config
        if not isinstance(section, Mapping):
            raise TypeError(f"profile: {section!r} is not a mapping; pass pmtop.torch.Profile(...) or a mapping of its arguments")
        options: Dict[str, Any] = {}
        for key, value in section.items():
            name = _OTHER_NAMES.get(key, key)
            if name not in cls.keys():
                raise ValueError(f"profile: unknown key {key!r}; valid keys: {', '.join(sorted((*cls.keys(), *_OTHER_NAMES)))}")
            if name in options:
                raise ValueError(f"profile: {key!r} and {name!r} mean the same; give one of them")
            options[name] = value
        return cls(**options)

    @staticmethod
    def keys() -> Tuple[str, ...]:
        """The arguments of Profile."""
        return (*_COUNTS, *_SWITCHES, "output_dir", "run")

    def actions(self, step: int) -> Tuple[bool, bool]:
        """(whether torch.profiler runs in this step, whether this step is the last of a trace). Steps count from 0."""
        begin = step - (self.wait == 0)
        length = max(self.every_n_steps, self.wait + self.warmup + self.active)
        cycle, position = divmod(begin, length)
        position -= self.wait
        if begin < 0 or position < 0 or (self.repeat and cycle >= self.repeat):
            return False, False
        count = self.warmup + self.active
        return position < count, position == count - 1

    def is_over(self, step: int) -> bool:
        """Whether no step from this one on is profiled."""
        length = max(self.every_n_steps, self.wait + self.warmup + self.active)
        return bool(self.repeat) and step - (self.wait == 0) >= (self.repeat - 1) * length + self.wait + self.warmup + self.active


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"profile.{name}: {value!r} is not a whole number; write a number of steps, such as {max(1, least)}")
    if value < least:
        raise ValueError(f"profile.{name}: {value} is below {least}")
