"""One tree after another, stage by stage: each near the last, or the whole sequence at once."""
