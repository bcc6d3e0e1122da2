#!/bin/sh
# Phases of inferred steps, by stack samples, beside the clocks of the scripts themselves.
exec python3 "$(dirname "$0")/step_phases.py"
