"""Answers read against an article: pure functions of text, shared by serving, metrics, dataset and baseline."""
