"""Experiments: the demonstration on embedded data."""
