"""What a script itself has counted: a line for each step with the clock's time, the step's number, the epoch's, the seconds that it has spent in
each phase if it calls lap(), and its loss.

PMTOP_LOOPS_LINE is the line that instruments the script: "torch" or "jax" (instrument()), "keras", "lightning" or "transformers" (PmtopCallback)."""
import importlib
import json
import os
import sys
import time

_log = open(sys.argv[1], 'w', buffering=1)
with open(sys.argv[1] + '.pid', 'w') as file:
    file.write(str(os.getpid()))
_spent = {}
_lap_s = time.monotonic()
_line = os.environ.get('PMTOP_LOOPS_LINE')
_adapter = importlib.import_module('pmtop.' + _line) if _line else None
if _line in ('torch', 'jax'):
    _adapter.instrument()


def lap(phase):
    """The time since the lap before was spent in this phase; "outside" is in no step."""
    global _lap_s
    now_s = time.monotonic()
    _spent[phase] = _spent.get(phase, 0) + now_s - _lap_s
    _lap_s = now_s


def step(number, epoch=None, loss=None):
    """Call at the end of step `number`, counted from 1; `epoch` from 1 on. loss: a number, or a tensor of one, or a list of equally right numbers."""
    value = loss.item() if hasattr(loss, 'item') else loss
    _log.write(json.dumps([time.monotonic(), number, epoch, list(_spent.items()), value]) + '\n')


def own_callbacks():
    """pmtop's callback, in a run that is instrumented by one."""
    return [_adapter.PmtopCallback()] if _line in ('keras', 'lightning', 'transformers') else []


def own_step(function, loss):
    """A step of JAX, wrapped in a run that pmtop.jax instruments."""
    return _adapter.step(function, loss=loss) if _line == 'jax' else function
