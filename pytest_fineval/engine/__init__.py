"""Running the calls: look-ahead, limits, retries, the spend cap."""
