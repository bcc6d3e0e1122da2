"""The parts of `pmtop.torch`."""
