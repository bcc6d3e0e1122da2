#!/bin/sh
# The ranks of a real run, each a process that no other started: ranks.py.
exec python3 "$(dirname "$0")/ranks.py"
