"""A federation of Flower on this machine, and how fast it carries a poll."""
