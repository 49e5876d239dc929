"""Build step: the front page is the README, and every proof beside the code becomes a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "ostraka"


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    files.append(
        File.generated(
            config,
            "index.md",
            content=(ROOT / "README.md").read_text("utf-8").replace("](docs/", "]("),
        )
    )
    proofs = sorted(SOURCE.rglob("*.proof.md"))
    lines = [
        "# Proofs",
        "",
        "Each stands beside the code it covers; a test notices when that code changes.",
        "",
    ]
    for proof in proofs:
        name = str(proof.relative_to(SOURCE)).removesuffix(".proof.md")
        text = proof.read_text("utf-8")
        title = next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
        files.append(File.generated(config, f"proofs/{name}.md", content=text))
        lines.append(f"- [{title}]({name}.md) — `{name}.py`")
    files.append(File.generated(config, "proofs/index.md", content="\n".join(lines) + "\n"))
    return files
