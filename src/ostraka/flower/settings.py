"""What people say to Flower: a coordinator in the run config, a node in its own.

    run config         what                                                   default
    poll               the poll's file, at the coordinator                    must be there
    out                where the release goes; of a poll with a trustee, a
                       folder for what came, for `ostraka release`            must be there
    ledger             the accounts; "" keeps none                            ""
    deadline           how many seconds nodes have to answer                  600
    least-nodes        with fewer nodes nothing is released                   2
    wait-for-nodes     how many nodes are waited for, until the deadline      0
    parties-per-node   how many contributions one node may send               1
    again, recover     as with `ostraka release`: once more; a lost one       false
    force              replace what is at `out`                               false

    node config        what
    data, label-column, person-column, local, model, trust, party, site:
                       as the options of `ostraka contribute`

Paths are absolute: where a SuperLink or a SuperNode was started is nobody's business. A run config
is sent to every node, so it should hold nothing that nodes may not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias, final

from ostraka.answering import Given
from ostraka.errors import ParameterError, count, number
from ostraka.public.promise import MOST_PARTIES

__all__ = ["Config", "Order", "find_party", "read_given", "read_path"]

Config: TypeAlias = Mapping[str, str | int | float | bool]
DEADLINE: Final = 600.0
LONGEST: Final = 30 * 86_400.0
LEAST_NODES: Final = 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a coordinator asks for, in the run config."""

    poll: Path
    out: Path
    ledger: Path | None = None
    deadline: float = DEADLINE
    least_nodes: int = LEAST_NODES
    wait_for_nodes: int = 0
    parties_per_node: int = 1
    again: bool = False
    recover: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        allowed = f"more than 0 seconds, up to {LONGEST:g}"
        if not number("deadline", self.deadline, 0.0, LONGEST, allowed) > 0.0:
            raise ParameterError("deadline", got=self.deadline, allowed=allowed)
        count("least-nodes", self.least_nodes, 1, MOST_PARTIES)
        count("wait-for-nodes", self.wait_for_nodes, 0, MOST_PARTIES)
        count("parties-per-node", self.parties_per_node, 1, MOST_PARTIES)
        for name in ("again", "recover", "force"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(name, got=getattr(self, name), allowed="true or false")
        if self.recover and (self.ledger is None or self.again):
            raise ParameterError("recover", got=True, allowed="with a ledger, and without again")

    @classmethod
    def read(cls, config: Config) -> Self:
        """What the run config says; keys that are not ours are left to the app that has them."""
        poll, out = (read_path(config, name) for name in ("poll", "out"))
        for name, path, what in (
            ("poll", poll, "the poll's file, by `ostraka poll create`"),
            ("out", out, "a file to write the release to"),
        ):
            if path is None:
                raise ParameterError(name, got=None, allowed=what)
        assert poll is not None
        assert out is not None
        return cls(
            poll=poll,
            out=out,
            ledger=read_path(config, "ledger"),
            deadline=config.get("deadline", DEADLINE),  # type: ignore[arg-type]
            least_nodes=config.get("least-nodes", LEAST_NODES),  # type: ignore[arg-type]
            wait_for_nodes=config.get("wait-for-nodes", 0),  # type: ignore[arg-type]
            parties_per_node=config.get("parties-per-node", 1),  # type: ignore[arg-type]
            **{name: config.get(name, False) for name in ("again", "recover", "force")},  # type: ignore[arg-type]
        )


def read_path(config: Config, name: str) -> Path | None:
    """An absolute path; None if there is none, or an empty one."""
    given = config.get(name, "")
    if given == "":
        return None
    if not isinstance(given, str) or not Path(given).is_absolute():
        raise ParameterError(name, got=given, allowed="an absolute path")
    return Path(given)


def read_given(config: Config) -> Given:
    """What a node's contribution is made of."""
    return Given(
        data=read_path(config, "data"),
        label_column=_read_text(config, "label-column"),
        person_column=_read_text(config, "person-column"),
        local=_read_text(config, "local") or "linear",
        model=read_path(config, "model"),
        trust=tuple((_read_text(config, "trust") or "").split()),
        jobs=1,
    )


def find_party(config: Config) -> str | None:
    """How a node's party is called in the poll, if its config says so."""
    given = config.get("party", "")
    if isinstance(given, bool | float):
        raise ParameterError("party", got=given, allowed="your name in the poll")
    return str(given) or None


def _read_text(config: Config, name: str) -> str | None:
    given = config.get(name, "")
    if not isinstance(given, str):
        raise ParameterError(name, got=given, allowed="a text, in quotes")
    return given or None
