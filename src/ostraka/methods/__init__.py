"""From parties to a model.

`batch` and `indiv` are references for experiments; all other methods are private and can release.
"""
