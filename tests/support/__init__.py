"""What the tests and benchmarks judge answers with: an extended-precision reference and random problems."""
