"""The methods that do the work, by name: the classes behind `public.catalogue`."""

from __future__ import annotations

from typing import Any, Final

from ostraka.methods.avg import Avg
from ostraka.methods.cells import Cells
from ostraka.methods.consensus import Consensus
from ostraka.methods.evaluation import Judging
from ostraka.methods.minimiser import Soft, Vote
from ostraka.methods.moments import Moments
from ostraka.methods.refine import Refine

__all__ = ["METHODS"]

METHODS: Final[dict[str, type[Any]]] = {
    each.name: each for each in (Moments, Cells, Consensus, Refine, Soft, Vote, Avg, Judging)
}
