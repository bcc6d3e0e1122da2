#!/bin/sh
# Losses inferred from the loops of scripts, beside the scripts' own.
exec python3 "$(dirname "$0")/loop_losses.py"
