"""The options that several commands share: each is explained once, here.

A command keeps the type, the name and the default: `epsilon: Annotated[float, EPSILON]`. Where
commands add to the words, or need another panel, only the words are here: `option(DATA, CLASSES)`.
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
    "KEEP_BACK",
    "LABEL_COLUMN",
    "LAMBDA",
    "LEAST_PARTIES",
    "LEDGER",
    "METHODS",
    "MODEL_OUT",
    "NOISE",
    "OBJECTIVE",
    "PENALTY",
    "RADIUS",
    "REDRAW",
    "ROLL",
    "NATURAL",
    "SAMPLES_EACH",
    "SAMPLES_LARGEST",
    "SEED",
    "SHIFT",
    "SITE",
    "START",
    "STUDENT",
    "SVMLIGHT_COLUMNS",
    "TRUST",
]

# Data: what is known of it, and how it is read.
LABEL_COLUMN = option(DATA, "The column that holds the class of each sample.", of="column")
CLASSES = "The public list of classes, separated by commas, such as ill,well."
ROLL = option(
    DATA,
    "A text file with the name of every party that is asked, one per line. A party without rows "
    "still counts; a party that is not listed is refused.",
    of="file",
)
SAMPLES_EACH = option(
    DATA,
    "How many rows a party (or person) typically has. Only accuracy depends on it. Default 10.",
    of="number",
)
NATURAL = option(
    DATA,
    "Parties are as the world made them, each with its own kind of rows and its own size; or rows "
    "are dealt out at random. For auto; only accuracy depends on it. Default: not known.",
    "--natural/--dealt",
)
SAMPLES_LARGEST = option(
    DATA, "How many rows the largest party has, for auto with --natural.", of="number"
)
KEEP_BACK = option(
    DATA,
    "5 keeps every fifth row of a party (or person) back from learning, for ostraka evaluate to "
    "say how good the model is. Default: none.",
    of="number",
)
DROP = option(DATA, "A column that is not a feature; may be repeated.", of="column")
COLUMNS = option(
    DATA,
    "What the columns are, where the public table does not say enough: a small .yaml or .json "
    "file, or its text, such as '{age: {kind: number}}'.",
    of="file",
)
SVMLIGHT_COLUMNS = option(
    DATA, "How many columns svmlight files have, counted from 1.", of="number"
)
RADIUS = option(
    DATA,
    "A public bound on the length of samples, instead of a scale from the public ones; for soft, "
    "vote, avg.",
    of="number",
)
DATA_DIR = option(
    DATA,
    "Where the data sets are, or are downloaded to. Default: OSTRAKA_DATA, or else ./data.",
    of="folder",
)

# Promise: what is promised, and to whom.
EPSILON = option(
    PROMISE,
    "Privacy loss for whoever is protected. Smaller is more private, but noisier; 1 is a common "
    "choice.",
    of="number",
)
DELTA = option(
    PROMISE,
    "0 for pure ε. With a small δ, such as 1e-6, moments and consensus need less noise.",
    of="number",
)
INV_EPSILON = "Values of 1/ε, separated by commas."
LEDGER = option(
    PROMISE,
    "The account of what parties have spent (ostraka ledger init). Every party is charged before "
    "noise is drawn, or nothing happens.",
    of="file",
)
LEAST_PARTIES = option(
    PROMISE, "Refuse to release for fewer parties (persons) than this.", of="number"
)

# Method: how the model is made.
METHODS = (
    "auto takes moments or cells, whichever does better on labels made of the public samples. "
    "Or choose: moments, cells, consensus (votes), refine (a second round, with --start), or "
    "the paper's soft, vote, avg."
)
NOISE = option(
    METHOD, "Which kind of noise, for our own methods: auto, l2 or gaussian.", of="noise"
)
SHIFT = option(
    METHOD,
    "Private samples may be distributed differently from the public ones; for auto, moments, "
    "cells, refine.",
    "--shift",
)
PENALTY = option(
    METHOD,
    "The penalty of the fit after the noise, for our own methods; by default it depends on the "
    "noise. Costs no budget.",
    of="number",
)
OBJECTIVE = option(
    METHOD,
    "What the model shall be good at, for auto, moments, cells: accuracy, or balanced, where rare "
    "classes count as much as common ones. Costs no budget.",
    of="objective",
)
STUDENT = option(
    METHOD,
    "What learns the fitted model's answers on the public samples, for our own methods: none, "
    "linear, kernel, or auto (default), what usually helps. Costs no budget.",
    of="student",
)
START = option(
    METHOD,
    "For refine: the earlier release to start from. What that one cost still counts.",
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
    "For soft, vote, avg: tight (default), the least noise that we can prove to be enough, or "
    "paper, the noise of the paper.",
    of="rule",
)
TRUST = "A type that .skops files may hold in addition to the harmless ones; may be repeated."
SEED = option(METHOD, "The same seed gives the same numbers.", of="number")

# Output: what is written.
MODEL_OUT = option(OUTPUT, "Where to write the model with its certificate.", of="file")
REDRAW = option(
    OUTPUT, "Only draw the figure again, from results.csv in --out; measure nothing.", "--redraw"
)
TRUSTEE = option(
    PROMISE,
    "The card of a second server, by `ostraka trustee init`: parties seal what they send, so that "
    "neither server alone can read it.",
    of="card",
)
COORDINATOR = option(
    PROMISE,
    "With --trustee: your own card, by `ostraka key card`. With --server, the service has one.",
    of="card",
)
WHOSE_ACCOUNT = option(
    None,
    "Whose loss an account bounds: a whole party's, or each of its persons'.",
    of="party|person",
)
FORCE = option(OUTPUT, "Replace an existing file.", "--force")
SITE = option(
    None,
    "The folder of your keys, receipts and rules. Default: what OSTRAKA_SITE names, or "
    "~/.config/ostraka.",
    of="folder",
)
