#!/bin/sh
# The cause of slow steps in a real process is the line of its script in which the time passes.
exec python3 "$(dirname "$0")/cause_lines.py"
