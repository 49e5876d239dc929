"""Results as people and programs read them: tables on the screen and in Markdown, and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from rich.table import Table

__all__ = ["RESULTS", "Rows", "draw_table", "write_results"]

RESULTS = Path(__file__).parent / "results"
Rows: TypeAlias = list[dict[str, Any]]


def draw_table(title: str, rows: Rows) -> Table:
    """For the screen."""
    shown = Table(title=title, title_justify="left")
    for name in rows[0]:
        shown.add_column(
            name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right"
        )
    for row in rows:
        shown.add_row(*map(_cell, row.values()))
    return shown


def write_results(out: Path, name: str, sections: dict[str, Rows], **facts: Any) -> None:
    """NAME.json, with facts about where it was measured, and NAME.md, in this folder."""
    out.mkdir(parents=True, exist_ok=True)
    content = {**facts, "sections": sections}
    (out / f"{name}.json").write_text(
        json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    lines = ["# Speed, measured side by side", ""]
    for title, rows in sections.items():
        names = list(rows[0])
        lines += [f"## {title}", "", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(map(_cell, row.values())) + " |" for row in rows] + [""]
    (out / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
