"""What a model is, and the models that ship."""
