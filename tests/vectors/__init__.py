"""Reference vectors, and `python -m tests.vectors FILE...` which checks files of them."""
