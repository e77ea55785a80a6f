"""Answers that other tools recorded: lm-evaluation-harness and Inspect, read without either."""
