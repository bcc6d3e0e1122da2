#!/bin/sh
# The walk-throughs of .github/CONTRIBUTING.md work: contributing.py.
exec python3 "$(dirname "$0")/../contributing.py"
