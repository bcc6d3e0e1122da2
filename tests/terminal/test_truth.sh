#!/bin/sh
# What is planted in a real training run is what pmtop says of it: truth.py.
exec python3 "$(dirname "$0")/truth.py"
