"""From the text of an answer to a value, and from a value to a score in [0, 1]."""
