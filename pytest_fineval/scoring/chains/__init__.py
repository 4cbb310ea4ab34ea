"""Reasoning chains: steps read from text, step metrics, the step rubric, causes of errors."""
