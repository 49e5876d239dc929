"""From what was released to a model: free of budget, because nothing private is left in it."""
