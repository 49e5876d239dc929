"""Many small local problems at once: what would take thousands of calls is done as a few matrix products."""
