"""The figures are whole files with words in them, drawn without a window."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

matplotlib = pytest.importorskip(
    "matplotlib", reason="matplotlib is not installed (pip install 'ostraka[figures]')"
)

# Imported after the check that matplotlib is there.
from ostraka.expect.forecast import Forecast  # noqa: E402
from ostraka.expect.planner import METHODS, Setting  # noqa: E402
from ostraka.experiments.results import Row  # noqa: E402
from ostraka.figures.accuracy import draw_accuracy  # noqa: E402
from ostraka.figures.comparison import FIRST, MOST, draw_comparison  # noqa: E402
from ostraka.figures.forecasting import draw_forecast  # noqa: E402
from ostraka.figures.labels import spread  # noqa: E402
from ostraka.figures.planning import draw_noise_to_signal  # noqa: E402
from ostraka.figures.reproduction import draw_reproduction  # noqa: E402
from ostraka.figures.style import COLOURS, MARKERS, plain_number  # noqa: E402

EPSILONS = [1000.0, 100.0, 10.0, 1.0]
PRIVACY = "← more private     ε for a whole party     less private →"
CURVES = {
    (method, calibration): ([0.9, 0.8 - shift, 0.4, 0.1], [0.01, 0.02, 0.05, 0.0])
    for shift, method in enumerate(("soft", "vote", "avg"))
    for calibration in ("paper", "tight")
}


def accuracy(path: Path) -> None:
    references = {"batch": 0.95, "indiv": 0.5, "guessing": 0.1}
    draw_accuracy(CURVES, references, EPSILONS, path, "Digits: 200 parties")


def planning(path: Path) -> None:
    sizes = {"n_parties": 5000, "n_samples": 1000, "n_features": 50, "n_classes": 6}
    settings = [Setting(method=method, epsilon=1.0, lambda_=0.01, **sizes) for method in METHODS]
    draw_noise_to_signal(settings, path)


def row(method: str, calibration: str, inverse: float, mean: float, parties: int = 200) -> Row:
    return Row("digits", method, calibration, parties, inverse, mean, 0.01, 3)


def compared() -> list[Row]:
    lines = [
        row(method, kind, inverse, 0.9 - 0.05 * place - 0.02 * inverse)
        for kind, methods in FIRST.items()
        for place, method in enumerate(methods)
        for inverse in (0.1, 1.0, 10.0)
    ]
    return [*lines, row("batch", "none", 0.0, 0.95), row("pooled", "none", 0.0, 0.97)]


def comparison(path: Path) -> None:
    draw_comparison(compared(), "Digits: 200 parties", [path], 0.1)


def reproduction(path: Path) -> None:
    rows = [
        row(method, kind, inverse, 0.9 - 0.1 * place - 0.02 * inverse)
        for kind in ("paper", "tight", "exp-radius")
        for place, method in enumerate(METHODS)
        for inverse in (*((0.0,) if kind != "exp-radius" else ()), 0.1, 1.0, 10.0)
    ]
    rows += [row("batch", "none", 0.0, 0.95), row("indiv", "none", 0.0, 0.4)]
    draw_reproduction(rows, "Digits", [path], 0.1)


def forecast(path: Path) -> None:
    found = [
        [
            Forecast(
                method=method,
                epsilon=epsilon,
                dimension=9 * len(ratios),
                directions=len(ratios),
                noise="l2",
                noise_to_signal=ratios,
                right=0.3 + 0.2 * place,
                kept=0.3 + 0.2 * place,
            )
            for method, ratios in (("moments", (0.5, 0.7)), ("cells", (0.1,)))
        ]
        for place, epsilon in enumerate((0.1, 1.0, 10.0))
    ]
    draw_forecast(found, 1.0, path, "200 parties, 10 classes")


DRAWN = {
    "accuracy": accuracy,
    "planning": planning,
    "comparison": comparison,
    "reproduction": reproduction,
    "forecast": forecast,
}
WORDS = {
    "accuracy": (
        *(f"{method}, {calibration}" for method in METHODS for calibration in ("paper", "tight")),
        "batch (no privacy)",
        "indiv (a party alone)",
        "guessing",
        PRIVACY,
        "Share of unseen samples classified right",
        "Digits: 200 parties",
    ),
    "planning": (
        *METHODS,
        PRIVACY,
        "Noise-to-signal",
        "little is lost",
        "little is left",
        "5,000 parties, 50 features, 6 classes, λ = 0.01",
    ),
    "comparison": (
        *FIRST["pure"],
        *FIRST["delta"][:MOST],
        "batch (no privacy)",
        "pooled (no privacy)",
        "guessing",
        "With pure ε",
        "With (ε, δ)",
        PRIVACY,
        "Digits: 200 parties",
    ),
    "reproduction": (
        *METHODS,
        "batch (no privacy)",
        "indiv (a party alone)",
        "guessing",
        "Our tight noise, 200 parties",
        "Noise as in the paper, 200 parties",
        "A hypothesis, NOT private, 200 parties",
        "no noise",
    ),
    "forecast": (
        "moments: 2 directions",
        "cells: 1 cell",
        "noise = signal",
        "Kept of what can be learnt without privacy",
        "At ε = 1",
        PRIVACY,
    ),
}
SHOWN = {"forecast": ("moments", "cells")}
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
    assert '<g id="legend' not in text, "names stand at the ends of the lines"
    for method in SHOWN.get(name, METHODS if name != "comparison" else COLOURS):
        assert COLOURS[method] in text or method in ("vote", "batch", "pooled", "indiv")


@pytest.mark.parametrize("name", DRAWN)
def test_epsilon_grows_to_the_right_with_plain_numbers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for axes in captured(name, tmp_path, monkeypatch):
        low, high = axes.get_xlim()
        assert low < high
        labels = [tick.get_text() for tick in axes.get_xticklabels()]
        assert labels == [] or all(re.fullmatch(r"[\d.,]+|no\nnoise", label) for label in labels)


@pytest.mark.parametrize("name", DRAWN)
def test_no_panel_has_more_lines_than_can_be_told_apart_and_no_names_overlap(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for axes in captured(name, tmp_path, monkeypatch):
        thick = [line for line in axes.lines if line.get_linewidth() > 1.0]
        assert len({line.get_color() for line in thick}) <= MOST
        names = [text.get_window_extent() for text in axes.texts if text.get_position()[0] > 1.0]
        assert names or name == "planning"
        for one, other in itertools.combinations(names, 2):
            assert not one.padded(-1.0).overlaps(other.padded(-1.0))


def captured(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    from matplotlib.figure import Figure

    figures = []
    drawn = Figure.savefig

    def kept(figure: Figure, *args: Any, **options: Any) -> None:
        figures.append(figure)
        drawn(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    DRAWN[name](tmp_path / "figure.png")
    (figure,) = figures
    return list(figure.axes)


def test_names_keep_their_order_and_their_distance() -> None:
    for heights in ([0.5], [0.5, 0.5, 0.5], [0.9, 0.1, 0.99, 1.0, 0.98], [0.0, 0.0, 0.01, 0.5]):
        places = spread(heights, gap=0.1)
        ordered = sorted(places)
        assert all(b - a >= 0.1 - 1e-9 for a, b in itertools.pairwise(ordered))
        assert ordered[0] >= 0.0
        assert ordered[-1] <= 1.0 + 1e-9
        assert [h for _, h in sorted(zip(places, heights))] == sorted(heights)
    assert spread([0.2, 0.8], gap=0.1) == pytest.approx([0.2, 0.8]), "what is apart stays"


def test_numbers_on_an_axis_are_never_powers() -> None:
    numbers = {0.001: "0.001", 0.3: "0.3", 1.0: "1", 10.0: "10", 1000.0: "1,000", 1e-7: "0.0000001"}
    assert {value: plain_number(value) for value in numbers} == numbers


def test_a_method_has_one_colour_and_no_two_have_the_same() -> None:
    methods = {name: each for name, each in COLOURS.items() if each != COLOURS["batch"]}
    assert len(set(methods.values())) == len(methods)
    assert set(MARKERS) < set(methods)


@ALL
def test_without_a_suffix_it_is_a_png(draw: Callable[[Path], None], tmp_path: Path) -> None:
    draw(tmp_path / "figure")
    assert (tmp_path / "figure").read_bytes().startswith(b"\x89PNG")


@ALL
def test_no_window_is_needed(draw: Callable[[Path], None], tmp_path: Path) -> None:
    """The figure is drawn without pyplot.

    It would look for a display, keep every figure and change global settings.
    """
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
