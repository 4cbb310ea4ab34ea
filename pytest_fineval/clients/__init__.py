"""What answers: a recording, a live provider, a local model, a user's own pipeline."""
