"""What a run says: report.json, console, JUnit."""
