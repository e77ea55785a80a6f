"""What is computed from rows."""
