"""From parties to a model. `soft`, `vote`, `avg` are private and release; `batch` and `indiv` are references for experiments."""
