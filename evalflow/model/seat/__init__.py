"""A remote model behind an OpenAI-compatible HTTP endpoint."""
