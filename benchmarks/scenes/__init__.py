"""Systems to step, defined once for tests and benchmarks."""
