#!/bin/sh
# Batches of DataLoaders, counted from outside: what the loops themselves have got, with torch and with each CPython there is.
exec python3 "$(dirname "$0")/counter.py"
