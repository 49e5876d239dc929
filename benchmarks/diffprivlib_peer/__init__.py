"""diffprivlib, in an environment of its own: see README.md."""
