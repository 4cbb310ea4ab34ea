"""One view model, several renderers."""
