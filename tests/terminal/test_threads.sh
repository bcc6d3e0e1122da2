#!/bin/sh
# Which threads run beside the main one, who holds the GIL, and where a hang is, seen from outside, is what the programs do.
exec python3 "$(dirname "$0")/threads.py"
