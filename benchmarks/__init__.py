"""The benchmarks behind the figures in the documentation: `make bench`."""
