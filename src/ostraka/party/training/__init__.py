"""Local training: every party's own classifier, from its own rows or from a file, and its votes."""
