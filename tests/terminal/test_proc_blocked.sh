#!/bin/sh
# Files of /proc that do not answer: pmtop names them, goes on without them, and can be ended.
exec python3 "$(dirname "$0")/proc_blocked.py"
