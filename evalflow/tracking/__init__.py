"""Where finished runs are logged."""
