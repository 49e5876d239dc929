"""The options that several commands share: what each is for is said once, here.

A command keeps the type, the name and the default: `epsilon: Annotated[float, EPSILON]`. Where
commands add to the words, or need another panel, the words alone stand here: `option(DATA,
CLASSES)`.
"""

from __future__ import annotations

from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, option

__all__ = [
    "CALIBRATION",
    "CLASSES",
    "COLUMNS",
    "DATA_DIR",
    "DELTA",
    "DROP",
    "EPSILON",
    "FORCE",
    "INV_EPSILON",
    "LABEL_COLUMN",
    "LAMBDA",
    "LEAST_PARTIES",
    "LEDGER",
    "METHODS",
    "MODEL_OUT",
    "NOISE",
    "PENALTY",
    "RADIUS",
    "REDRAW",
    "ROLL",
    "SAMPLES_EACH",
    "SEED",
    "SHIFT",
    "START",
    "SVMLIGHT_COLUMNS",
    "TRUST",
]

# Data: what is known of it, and how it is read.
LABEL_COLUMN = option(DATA, "The column that holds the class of each sample.", of="column")
CLASSES = "The public list of classes, with commas between, such as ill,well."
ROLL = option(
    DATA,
    "A text file with the name of every party that is asked, one per line. Who has no rows "
    "counts all the same; others are refused.",
    of="file",
)
SAMPLES_EACH = option(
    DATA,
    "How many rows a party (or person) typically has. Only accuracy depends on it. Default 10.",
    of="number",
)
DROP = option(DATA, "A column that is no feature; may be repeated.", of="column")
COLUMNS = option(
    DATA,
    "What the columns are, where the public table does not say enough: a small .yaml or .json "
    "file.",
    of="file",
)
SVMLIGHT_COLUMNS = option(
    DATA, "How many columns svmlight files have, counted from 1.", of="number"
)
RADIUS = option(
    DATA,
    "A public bound for the length of samples, instead of a scale from the public ones; for "
    "soft, vote, avg.",
    of="number",
)
DATA_DIR = option(
    DATA,
    "Where the data sets are, or go; otherwise OSTRAKA_DATA, otherwise ./data.",
    of="folder",
)

# Promise: what is promised, and to whom.
EPSILON = option(
    PROMISE,
    "Privacy loss for whoever is protected. Smaller is more private, and noisier; 1 is a "
    "common choice.",
    of="number",
)
DELTA = option(
    PROMISE,
    "0 for pure ε. With a small δ, such as 1e-6, moments and consensus need less noise.",
    of="number",
)
INV_EPSILON = "Values of 1/ε, with commas between."
LEDGER = option(
    PROMISE,
    "The account of what parties have spent (ostraka ledger init). Every party is charged before "
    "noise is drawn, or nothing happens.",
    of="file",
)
LEAST_PARTIES = option(PROMISE, "Refuse to release for fewer parties (persons).", of="number")

# Method: how the model is made.
METHODS = (
    "auto takes moments or cells, whichever does better on made-up labels of the public samples. "
    "Or choose: moments, cells, consensus (votes), refine (a second round, with --start), and "
    "the paper's soft, vote, avg."
)
NOISE = option(
    METHOD, "The law of the noise, for our own methods: auto, l2 or gaussian.", of="noise"
)
SHIFT = option(
    METHOD,
    "Private samples may be distributed otherwise than the public ones; for auto, moments, "
    "cells, refine.",
    "--shift",
)
PENALTY = option(
    METHOD,
    "Of the fits after the noise, for our own methods; by default from the noise. Costs no budget.",
    of="number",
)
START = option(
    METHOD,
    "For refine: the earlier release to start from. It keeps its own price.",
    of="file",
)
LAMBDA = option(
    METHOD,
    "Strength of the regulariser, where classifiers are trained. Larger means less noise and a "
    "simpler model. Choose it before looking at the data. Default 1e-4.",
    "--lambda",
    of="number",
)
CALIBRATION = option(
    METHOD,
    "For soft, vote, avg: tight, the least noise that we can prove to be enough (default), or "
    "paper, that of the paper.",
    of="rule",
)
TRUST = "A type that .skops files may hold besides the harmless ones; may be repeated."
SEED = option(METHOD, "The same seed gives the same numbers.", of="number")

# Output: what is written.
MODEL_OUT = option(OUTPUT, "Where to write the model with its certificate.", of="file")
REDRAW = option(
    OUTPUT, "Only draw the figure again, from results.csv in --out; measure nothing.", "--redraw"
)
FORCE = option(OUTPUT, "Replace a file that is there already.", "--force")
