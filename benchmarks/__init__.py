"""What is a time or takes long: run as `python -m benchmarks.NAME`, results committed under results/."""
