"""What a reader is served of a model's draft."""
