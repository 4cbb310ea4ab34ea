"""The published scorers of public benchmarks, each reproduced with its oddities, one a module."""
