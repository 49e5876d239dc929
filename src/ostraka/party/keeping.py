"""Rows that are kept back: not used for learning, so that a model can be evaluated on them.

    letter  name here   meaning
    m       every       every m-th row of a protected unit is kept back; public
    i       –           the place of a row among its own unit's rows, from 0
    h       –           a number that depends on the unit's canonical name alone (`number_of`)

Row i is kept back if m divides i + h. Without h the first row of every unit would be, and units
with one row would never be learnt from.

Guarantee (keeping.proof.md): which rows of a unit are kept back depends on its name and on their
places among its own rows alone. Rows that are added at the end leave those before them as they
were.

Why not by place in the whole table: another unit with one row more would move all places after it,
and with them what everybody sends. Why not by content: a row that is corrected between learning
and evaluating would change sides.
"""

from __future__ import annotations

import numpy as np

from ostraka.party.rows import Parties, number_of

__all__ = ["leave_kept_back", "take_kept_back"]


def leave_kept_back(parties: Parties, every: int) -> Parties:
    """The same parties with the rows to learn from; one may be left with none."""
    return _choose(parties, every, kept=False)


def take_kept_back(parties: Parties, every: int) -> Parties:
    """The same parties with the rows that were kept back; one may have none."""
    return _choose(parties, every, kept=True)


def _choose(parties: Parties, every: int, *, kept: bool) -> Parties:
    numbers = np.fromiter(map(number_of, parties.names), np.int64, len(parties))
    # i + h: places in the whole table, less where the unit begins.
    moved = np.repeat(numbers - parties.starts[:-1], parties.sizes)
    places = np.arange(len(moved)) + moved
    chosen = (places % every == 0) == kept
    starts = np.concatenate([[0], np.cumsum(chosen)]).astype(np.intp)[parties.starts]
    return Parties(parties.features[chosen], parties.labels[chosen], starts, parties.names)
