"""Hostile bytes for every reader of ours: whatever comes in, out comes a value or an error of ours.

module      what
judge       what a reader owes to whatever it is given, and who breaks that
targets     the readers
seeds       valid things of every kind, from which the hostile ones are made
mutate      bytes and texts, changed
trees       JSON, changed; also where it is text within JSON
files       files of ours, changed so that what is behind their own checks is reached
hunt        one reader in a process of its own, guided by what its code has not done yet
"""
