"""Public benchmarks brought in under a declared protocol, one module each."""
