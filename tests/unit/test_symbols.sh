#!/bin/sh
# Nothing is defined above where it is declared, and no object uses what its layer may not see: symbols.py.
exec python3 "$(dirname "$0")/../symbols.py" "$PMTOP_BUILD"
