#!/bin/sh
# Loops, read from outside: what their iterators and ints really were at that moment, with each CPython there is.
exec python3 "$(dirname "$0")/loops.py"
