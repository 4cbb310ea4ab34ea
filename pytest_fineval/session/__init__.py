"""One run inside pytest: what was planned, what came back, what it amounts to."""
