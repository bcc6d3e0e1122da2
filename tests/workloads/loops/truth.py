"""What a script itself has counted: a line for each step with the clock's time, the step's number and the epoch's."""
import json
import os
import sys
import time

_log = open(sys.argv[1], 'w', buffering=1)
with open(sys.argv[1] + '.pid', 'w') as file:
    file.write(str(os.getpid()))


def step(number, epoch=None):
    """Call at the end of step `number`, counted from 1; `epoch` from 1 on."""
    _log.write(json.dumps([time.monotonic(), number, epoch]) + '\n')
