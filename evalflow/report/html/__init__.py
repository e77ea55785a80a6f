"""The page of a run: one HTML file that holds all it shows and fetches nothing."""
