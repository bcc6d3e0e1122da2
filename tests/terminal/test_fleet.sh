#!/bin/sh
# pmtop fleet: eight real pmtop collect as hosts, and hosts that hang, lie, lack pmtop. What it prints is asserted by fleet.py.
exec python3 -B "$(dirname "$0")/fleet.py" "$PMTOP_BUILD"
