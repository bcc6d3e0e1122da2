#!/bin/sh
# pmtop stack: what each CPython there is says of itself is what is seen from outside; and a stack is never a mixture of two moments.
exec python3 "$(dirname "$0")/stack.py"
