"""What a script itself has counted: a line for each step with the clock's time, the step's number and the epoch's, and, if it calls lap(), the
seconds that it has spent in each phase."""
import json
import os
import sys
import time

_log = open(sys.argv[1], 'w', buffering=1)
with open(sys.argv[1] + '.pid', 'w') as file:
    file.write(str(os.getpid()))
_spent = {}
_lap_s = time.monotonic()


def lap(phase):
    """The time since the lap before was spent in this phase."""
    global _lap_s
    now_s = time.monotonic()
    _spent[phase] = _spent.get(phase, 0) + now_s - _lap_s
    _lap_s = now_s


def step(number, epoch=None):
    """Call at the end of step `number`, counted from 1; `epoch` from 1 on."""
    _log.write(json.dumps([time.monotonic(), number, epoch] + ([list(_spent.items())] if _spent else [])) + '\n')
