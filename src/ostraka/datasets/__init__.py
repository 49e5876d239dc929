"""Tables of samples from files."""
