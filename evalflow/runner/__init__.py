"""From a composed config to a report: plan, walk, execute, journal, score."""
