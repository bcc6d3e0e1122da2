#!/bin/sh
# pmtop -- COMMAND instruments PyTorch without a change to the script: launch.py.
exec python3 "$(dirname "$0")/launch.py"
