"""From what was released to a model: costs no budget, because nothing private is left in it."""
