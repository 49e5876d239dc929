"""What a comparison says in words and tables: what each method promises, and how good each one is.

methods.md    guarantee, trust and tuning of every method
table.md      a table for each measure, the best private number at each ε in bold
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from ostraka.experiments.peers import PEERS
from ostraka.experiments.results import Row

if TYPE_CHECKING:
    from ostraka.experiments.compare import CompareSettings

__all__ = ["MEASURES", "Described", "as_markdown", "describe_methods", "tabulate"]

MEASURES: Final[dict[str, str]] = {
    "mean": "Accuracy",
    "balanced": "Balanced accuracy, the mean over classes of how many of each are found",
    "area": "AUC, how often a sample of the second class gets a higher score than one of the first",
    "told_off": "How far a model's own estimate of its accuracy is from it, on average",
    "doubtful": "Expected calibration error, how far probabilities are from how often they are "
    "right, on average",
}
"""What a row may hold, and what to call it."""


@final
@dataclass(frozen=True, slots=True)
class Described:
    """What has to be said about a method besides its curve."""

    method: str
    guarantee: str
    trust: str
    tuning: str


def describe_methods(settings: CompareSettings) -> list[Described]:
    """Guarantee, trust and tuning of every method of a comparison."""
    known = {
        "auto": Described(
            "auto",
            "ε, pure; or (ε, δ)",
            "coordinator, one upload",
            "none: chosen by a rehearsal on the auxiliary set",
        ),
        "moments": Described(
            "moments", "ε, pure; or (ε, δ)", "coordinator, one upload", "none: from public numbers"
        ),
        "cells": Described(
            "cells", "ε, pure", "coordinator, one upload", "none: from public numbers"
        ),
        "commonest": Described(
            "commonest",
            "ε, pure",
            "coordinator, one upload",
            "none; a single cell of `cells`: the commonest class, found privately",
        ),
        "consensus": Described(
            "consensus",
            "ε, pure; or (ε, δ)",
            "coordinator, one upload",
            "none: from public numbers",
        ),
        "batch": Described(
            "batch", "none: not private", "whoever holds all data", "λ = 1e-4, as in the paper"
        ),
        "consensus-paper": Described(
            "consensus-paper",
            "ε, pure",
            "coordinator, one upload",
            "none; votes of the same local classifiers as `soft`",
        ),
        "refine": Described(
            "refine",
            "ε, pure; or (ε, δ)",
            "coordinator, two uploads",
            "none: half of ε for auto, half for the second round",
        ),
        "soft": Described(
            "soft", "ε, pure", "coordinator, one upload", "λ = 1e-4, as in the paper"
        ),
        "avg": Described("avg", "ε, pure", "coordinator, one upload", "λ = 1e-4, as in the paper"),
    }
    known |= {
        name: Described(name, peer.guarantee, peer.trust, peer.tuning)
        for name, peer in PEERS.items()
    }
    return [known[name] for name in settings.methods]


def as_markdown(rows: Sequence[Described]) -> str:
    """A line per method."""
    lines = [
        "| method | guarantee, for a whole party | who is trusted | tuning |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{row.method}` | {row.guarantee} | {row.trust} | {row.tuning} |" for row in rows]
    return "\n".join(lines) + "\n"


def tabulate(rows: Sequence[Row], settings: CompareSettings) -> str:
    """A table for each measure, a line per method and promise."""
    private = [row for row in rows if row.calibration != "none" and row.inv_epsilon > 0.0]
    tables = []
    for measure, title in MEASURES.items():
        held = [row for row in private if getattr(row, measure) is not None]
        if held:
            caption = "" if measure == "mean" else f"{title}:\n\n"
            tables.append(caption + _table_of(held, settings, measure))
    references = [f"`{row.method}` {row.mean:.3f}" for row in rows if row.calibration == "none"]
    return "\n\n".join(tables) + f"\n\nNot private: {', '.join(references) or 'none'}.\n"


def _table_of(rows: Sequence[Row], settings: CompareSettings, measure: str) -> str:
    """The best private number at each ε in bold."""
    best_of = min if measure in ("told_off", "doubtful") else max
    inverses = [
        each for each in settings.inverse_epsilons if any(r.inv_epsilon == each for r in rows)
    ]
    best = {
        inverse: best_of(getattr(row, measure) for row in rows if row.inv_epsilon == inverse)
        for inverse in inverses
    }
    lines = ["| 1/ε | | " + " | ".join(f"{inverse:g}" for inverse in inverses) + " |"]
    lines.append("|---|---|" + "---|" * len(inverses))
    promises = {"pure": "ε", "delta": "(ε, δ)"}
    for method, calibration in dict.fromkeys((row.method, row.calibration) for row in rows):
        means = {
            row.inv_epsilon: getattr(row, measure)
            for row in rows
            if (row.method, row.calibration) == (method, calibration)
        }
        cells = (_cell(means.get(inverse), best[inverse]) for inverse in inverses)
        lines.append(f"| `{method}` | {promises[calibration]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(mean: float | None, best: float) -> str:
    """Empty where nothing was measured."""
    if mean is None:
        return ""
    return f"**{mean:.3f}**" if abs(mean - best) <= 0.0005 else f"{mean:.3f}"
