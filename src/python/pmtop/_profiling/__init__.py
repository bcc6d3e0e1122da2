"""The parts of `pmtop.profiler` and `pmtop.monitor`: what they measure and print."""
