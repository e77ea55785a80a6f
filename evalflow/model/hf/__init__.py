"""Causal language models of Hugging Face's format, computed here."""
