"""How far one party can move what is released: every bound, each with its proof beside it."""
