"""Tables of samples from files, and the public data sets of the experiments.

    name     rows (train / test)   columns     classes   natural parties
    har      7,352 / 2,947         561         6         21 people
    kdd99    494,021 / 311,029     123         2         none
    url      days 0-9 / 10-19      3,231,961   2         days
    urls     200,000 / 142,548     262,144     2         5 collections
    digits   1,400 / 397           64          10        none

`load` looks for a data set's files in a folder and downloads what is missing from its public home.
The folder is the one it is given, else the one that the environment variable OSTRAKA_DATA names,
else `data` in the working folder.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.errors import ParameterError

if TYPE_CHECKING:
    from ostraka.datasets.dataset import Dataset

__all__ = ["NAMES", "load"]

NAMES = ("har", "kdd99", "url", "urls", "digits")


def load(name: str, data_dir: str | Path | None = None, *, progress: bool = False) -> Dataset:
    """Read a public data set, after downloading its files if they are missing.

    Args:
        name: one of `NAMES`.
        data_dir: the folder with the files. None: what OSTRAKA_DATA names, else `data` in the
            working folder.
        progress: show bars where it takes long.

    """
    if name not in NAMES:
        raise ParameterError("data set", got=name, allowed=", ".join(NAMES))
    from ostraka.datasets.download import data_folder

    # Each loader is imported only when needed: they use pandas, scipy and scikit-learn, which take
    # longer to import than some data sets take to load.
    loaded: Dataset = import_module(f"ostraka.datasets.{name}").load(
        data_folder(data_dir), progress=progress
    )
    return loaded
