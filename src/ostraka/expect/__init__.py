"""What to expect, before anything is collected."""
