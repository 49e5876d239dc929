"""The architecture, as a test: imports point downwards, and the core needs no extra."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "ostraka"

# From the ground up. A module may import from its own layer and from those before it.
LAYERS = [
    {"errors", "progress"},
    {"files", "tensors"},
    {"signing"},
    {"sealing"},
    {"exchange"},
    {"public"},
    {"release", "solve"},
    {"party"},
    {"tally", "mechanism", "ledger"},
    {"methods"},
    {"poll"},
    {"publishing", "releasing", "verifying", "site"},
    {"trustee"},
    {"expect"},
    {"client", "service"},
    {"given", "public_side", "rows_seen", "collecting", "estimators"},
    {"datasets"},
    {"answering"},
    {"flower"},
    {"figures"},
    {"experiments"},
    {"cli"},
]
EXTRAS = [
    "pandas",
    "polars",
    "typer",
    "onnx",
    "onnxruntime",
    "skops",
    "numba",
    "matplotlib",
    "cryptography",
    "rich",
    "httpx",
    "sqlalchemy",
    "fastapi",
    "jwt",
    "hypothesis",
    "mpmath",
    "dp_accounting",
    "flwr",
    "pytest",
]


def part_of(module: str) -> str:
    return module.split(".")[1]


def imported_parts(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {part_of(module) for module in modules if module.startswith("ostraka.")}


def layer_of(part: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if part in layer)


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_imports_point_downwards(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return  # the public names come from everywhere
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for part in imported_parts(path):
        assert layer_of(part) <= layer_of(own), f"{own} imports {part}, which stands above it"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )


def blocked(names: list[str]) -> str:
    return f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
"""


BEYOND_THE_CORE = (".cli.", ".client", ".service", ".flower", ".kernels")


def test_every_module_of_the_core_imports_without_the_extras() -> None:
    modules = [
        ".".join(p.relative_to(SOURCE.parent).with_suffix("").parts) for p in SOURCE.rglob("*.py")
    ]
    modules = [
        name.removesuffix(".__init__")
        for name in modules
        if not any(part in name for part in BEYOND_THE_CORE) or name == "ostraka.errors.service"
    ]
    done = run(
        blocked(EXTRAS)
        + "import importlib\n"
        + "\n".join(f"importlib.import_module({m!r})" for m in modules)
    )
    assert done.returncode == 0, done.stderr


def test_blocking_works() -> None:
    assert "scipy is blocked" in run(blocked(["scipy"]) + "import ostraka.solve.losses").stderr


def test_without_flower_it_is_said_what_to_install() -> None:
    done = run("import sys\nsys.modules['flwr'] = None\nimport ostraka.flower")
    assert "Install it with: pip install 'ostraka[flower]'" in done.stderr


def test_a_release_predicts_with_numpy_alone(tmp_path: Path) -> None:
    from tests.release.test_release import a_release

    a_release().save(tmp_path / "model.ostraka")
    code = f"""
from ostraka import Release
import numpy as np
model = Release.load({str(tmp_path / "model.ostraka")!r})
print(model.predict(np.array([[0.5, 0.1], [-0.5, 0.2]])))
assert not any(name.split(".")[0] in ("scipy", "sklearn", "flint") for name in sys.modules)
"""
    done = run(blocked(["scipy", "sklearn", "flint", "pandas"]) + code)
    assert done.returncode == 0, done.stderr


HELPED = ["--help", "--version", "learn --help", "plan --help", "poll create --help"]


@pytest.mark.parametrize("words", HELPED)
def test_help_needs_no_numpy(words: str) -> None:
    """What takes half a second to import is imported when a command has work to do."""
    code = f"""
sys.argv = ["ostraka", *{words.split()!r}]
from ostraka.cli.app import main
main()
"""
    done = run(blocked(["numpy", "scipy", "sklearn", "pandas", "flint"]) + code)
    assert done.returncode == 0, done.stderr
    assert "ostraka" in done.stdout


def test_the_library_is_imported_without_numpy() -> None:
    code = """
import ostraka
assert set(ostraka.__all__) == set(ostraka._HOMES) <= set(dir(ostraka))
assert "numpy" not in sys.modules
"""
    done = run("import sys\n" + code)
    assert done.returncode == 0, done.stderr


def test_source_uses_no_global_randomness_and_no_pickle() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        for banned in (
            "import pickle",
            "pickle.load",
            "np.random.seed",
            "np.random.normal",
            "np.random.rand",
            "random.random(",
        ):
            assert banned not in text, path
