"""Every proof names the functions it covers; if one of them changes, the proof must be re-read.

After re-reading: `python tests/test_proofs.py avg soft` writes the new digests of these proofs.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "ostraka"
PROOFS = sorted(SOURCE.rglob("*.proof.md"))
COVERS = re.compile(r"<!-- covers: (?P<names>[^>]+?) -->")
DIGEST = re.compile(r"<!-- digest: (?P<digest>[0-9a-f]{64}) -->")
SECTIONS = ["Promise", "Preconditions", "Proof", "Not covered"]


def code_of(proof: Path) -> Path:
    return proof.with_name(proof.name.removesuffix(".proof.md") + ".py")


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{item.name}": item
                for item in node.body
                if isinstance(item, ast.FunctionDef)
            }
    return found


def definition(name: str, beside: Path) -> ast.stmt:
    """`name` in the file beside the proof, or `file.py:name` in another file of that folder, or of
    a folder in it.
    """
    file, _, name = name.rpartition(":")
    path = beside.parent / file if file else beside
    return definitions(ast.parse(path.read_text("utf-8")))[name]


def without_docstrings(node: ast.AST) -> ast.AST:
    for item in ast.walk(node):
        body = getattr(item, "body", None)
        if isinstance(body, list):
            item.body = [line for line in body if not _is_text(line)] or [ast.Pass()]
    return node


def _is_text(line: ast.AST) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def digest_of(proof: Path) -> str:
    names = [name.strip() for name in COVERS.search(proof.read_text("utf-8"))["names"].split(",")]
    text = "\n".join(
        ast.unparse(without_docstrings(definition(name, code_of(proof)))) for name in names
    )
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_proof_covers_the_code_as_it_is(proof: Path) -> None:
    written = DIGEST.search(proof.read_text("utf-8"))
    assert written, (
        f"{proof.name} has no digest; read it again, then run python {Path(__file__).name}"
    )
    assert written["digest"] == digest_of(proof), (
        f"the code under {proof.name} changed: read the proof again"
    )


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_proof_has_its_sections(proof: Path) -> None:
    assert re.findall(r"^## (.+)$", proof.read_text("utf-8"), re.MULTILINE) == SECTIONS


def test_a_changed_function_is_noticed(tmp_path: Path) -> None:
    proof = tmp_path / "bound.proof.md"
    proof.write_text("<!-- covers: bound -->")
    code_of(proof).write_text('def bound(m):\n    """S."""\n    return 2 / m\n')
    before = digest_of(proof)
    code_of(proof).write_text("def bound(m):\n    return 2 / m  # the same\n")
    assert digest_of(proof) == before
    code_of(proof).write_text("def bound(m):\n    return 1 / m\n")
    assert digest_of(proof) != before


def stamp(names: list[str]) -> None:
    """Only those that were read: a digest renewed without reading proves nothing."""
    for proof in (proof for proof in PROOFS if proof.name.removesuffix(".proof.md") in names):
        text = DIGEST.sub("", proof.read_text("utf-8"))
        first, _, rest = text.partition("\n")
        proof.write_text(
            f"{first}\n<!-- digest: {digest_of(proof)} -->\n"
            f"{rest.lstrip(chr(10)) and chr(10) + rest.lstrip(chr(10))}",
            "utf-8",
        )
        print(proof.relative_to(SOURCE))


if __name__ == "__main__":
    stamp(sys.argv[1:])
