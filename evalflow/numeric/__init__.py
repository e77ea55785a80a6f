"""Arrays in, numbers out: intervals, tests and resampling that know nothing of experiments."""
