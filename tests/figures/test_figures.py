"""The figures are whole files with words in them, drawn without a window."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

matplotlib = pytest.importorskip(
    "matplotlib", reason="matplotlib is not installed (pip install 'ostraka[figures]')"
)

from ostraka.expect.planner import METHODS, Setting  # noqa: E402
from ostraka.figures.accuracy import draw_accuracy  # noqa: E402 - after the check that matplotlib is there
from ostraka.figures.planning import draw_noise_to_signal  # noqa: E402
from ostraka.figures.style import COLOURS  # noqa: E402

INVERSE = [0.001, 0.01, 0.1, 1.0]
CURVES = {
    (method, calibration): ([0.9, 0.8 - shift, 0.4, 0.1], [0.01, 0.02, 0.05, 0.0])
    for shift, method in enumerate(("soft", "vote", "avg"))
    for calibration in ("paper", "tight")
}


def accuracy(path: Path) -> None:
    draw_accuracy(CURVES, {"batch": 0.95, "indiv": 0.5}, INVERSE, path, "Digits: 200 parties")


def planning(path: Path) -> None:
    sizes = {"n_parties": 5000, "n_samples": 1000, "n_features": 50, "n_classes": 6}
    settings = [Setting(method=method, epsilon=1.0, lambda_=0.01, **sizes) for method in METHODS]
    draw_noise_to_signal(settings, path)


DRAWN = {"accuracy": accuracy, "planning": planning}
WORDS = {
    "accuracy": (
        *(f"{method}, {calibration}" for method in METHODS for calibration in ("paper", "tight")),
        "batch (not private)",
        "indiv (not private)",
        "1/ε (more private →)",
        "test accuracy",
        "Digits: 200 parties",
    ),
    "planning": (
        *METHODS,
        "ε, privacy loss for a whole party (more private to the left)",
        "noise-to-signal",
        "little is lost",
        "little is left",
        "5,000 parties, 50 features, 6 classes, λ = 0.01",
    ),
}
ALL = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)


@pytest.fixture(autouse=True)
def _texts_as_texts() -> Iterator[None]:
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


@ALL
def test_a_png_is_a_picture(draw: Callable[[Path], None], tmp_path: Path) -> None:
    import numpy as np
    from matplotlib.image import imread

    draw(tmp_path / "figure.png")
    content = (tmp_path / "figure.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(tmp_path / "figure.png")
    assert min(pixels.shape[:2]) > 500
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20, "not an empty page"


@pytest.mark.parametrize("name", DRAWN)
def test_an_svg_holds_the_words(name: str, tmp_path: Path) -> None:
    DRAWN[name](tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text("utf-8")
    assert text.rstrip().endswith("</svg>")
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", text))
    for words in WORDS[name]:
        assert words in shown, words
    for method in METHODS:
        assert COLOURS[method] in text


@ALL
def test_without_a_suffix_it_is_a_png(draw: Callable[[Path], None], tmp_path: Path) -> None:
    draw(tmp_path / "figure")
    assert (tmp_path / "figure").read_bytes().startswith(b"\x89PNG")


@ALL
def test_no_window_is_needed(draw: Callable[[Path], None], tmp_path: Path) -> None:
    """The figure is drawn without pyplot, which would look for a display, keep every figure and change global settings."""
    before = dict(matplotlib.rcParams)
    known = "matplotlib.pyplot" in sys.modules
    draw(tmp_path / "figure.png")
    assert dict(matplotlib.rcParams) == before
    assert known or "matplotlib.pyplot" not in sys.modules
    if known:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@ALL
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_an_interruption_leaves_the_old_figure(
    draw: Callable[[Path], None], suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"figure{suffix}"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        draw(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@ALL
def test_a_format_that_cannot_be_drawn_leaves_nothing(
    draw: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="xyz"):
        draw(tmp_path / "figure.xyz")
    assert not list(tmp_path.iterdir())


@ALL
def test_a_missing_folder_is_named(draw: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        draw(tmp_path / "no" / "figure.png")


def test_settings_of_any_size_can_be_drawn(tmp_path: Path) -> None:
    for n_parties, epsilon, n_classes in ((2, 1e-6, 2), (10**9, 1e6, 2), (300, 0.5, 100)):
        setting = Setting(
            method="soft",
            n_parties=n_parties,
            n_samples=1000,
            n_features=50,
            n_classes=n_classes,
            epsilon=epsilon,
            calibration="paper",
        )
        draw_noise_to_signal([setting], tmp_path / "figure.svg")
        assert f"{n_parties:,} parties" in (tmp_path / "figure.svg").read_text("utf-8")
