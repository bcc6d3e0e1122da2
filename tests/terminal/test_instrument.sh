#!/bin/sh
# pmtop instrument PID: what it does to a running Python, and what it refuses: instrument.py.
exec python3 "$(dirname "$0")/instrument.py"
