"""The decision: policy, signed baseline, verdict."""
