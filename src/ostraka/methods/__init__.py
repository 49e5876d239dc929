"""From parties to a model.

`soft`, `vote` and `avg` are private and can release; `batch` and `indiv` are references for
experiments.
"""
