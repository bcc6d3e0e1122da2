#!/bin/sh
# Rows 9, 14 and 17 of the faults in tests/README.md: what of a running Python cannot be read, or does not return, or is not known, is named, and the rest goes on.
exec python3 "$(dirname "$0")/python_reads.py"
