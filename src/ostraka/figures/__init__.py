"""Plots. Everything here needs the extra `figures`."""
