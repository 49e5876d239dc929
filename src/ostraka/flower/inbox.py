"""What nodes send to a poll with a trustee: kept as it came, for `ostraka release`.

Nobody in the federation can read it, so no server's key is needed where the SuperLink runs. The
folder is what parties would have mailed to the coordinator, who opens one half, asks the trustee,
and releases.
"""

from __future__ import annotations

from pathlib import Path
from typing import final
from urllib.parse import quote

from ostraka.errors import InputError, ParameterError
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.tally import Tally

__all__ = ["Inbox", "check_folder"]


@final
class Inbox:
    """Checks what a tally would check, and keeps it; each party once."""

    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self._empty = Tally(poll)
        self._kept: dict[str, Contribution] = {}

    @property
    def names(self) -> list[str]:
        """Who is in."""
        return list(self._kept)

    @property
    def n_parties(self) -> int:
        """How many."""
        return len(self._kept)

    @property
    def missing(self) -> list[str]:
        """Who is on the roll and has not come."""
        return [name for name in self.poll.roll or () if name not in self._kept]

    def add(self, given: Contribution) -> None:
        """Keep one party's contribution, or refuse it."""
        self._empty.check(given)
        if given.party in self._kept:
            raise InputError(f"Party {given.party} was counted already.", "It contributes once.")
        self._kept[given.party] = given

    def save(self, folder: Path) -> None:
        """Write what came into a folder, one file each."""
        folder.mkdir(exist_ok=True)
        for name, given in self._kept.items():
            given.save(folder / f"{quote(name, safe=' ')}.contribution")


def check_folder(folder: Path) -> None:
    """Refuse a folder in which something is already: two sets of parties would be mixed up."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        allowed = "a folder that is not there yet, or empty: what came goes into it, sealed"
        raise ParameterError("out", got=str(folder), allowed=allowed)
