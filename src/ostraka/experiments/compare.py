"""Our methods, the paper's, and others that people might choose: accuracy against ε.

All are compared on the same splits, for the same neighbours.

Every method sees the same parties and the same public auxiliary set. Ours and the peers see
half-whitened features; the paper's methods see the paper's features. ε is for a whole party
throughout; methods that need a δ all get the same one. The table says how each method was tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from ostraka.datasets.dataset import Dataset
from ostraka.errors import InputError, ParameterError, count, number
from ostraka.experiments.comparison_tables import as_markdown, describe_methods, tabulate
from ostraka.experiments.engine import Backend, run_trials
from ostraka.experiments.noise_trials import Quality, judge_scores
from ostraka.experiments.peers import PEERS
from ostraka.experiments.peers.data import PeerData
from ostraka.experiments.results import Row, read_rows, rows_of, write_rows
from ostraka.experiments.settings import Settings, digest, stream, versions
from ostraka.experiments.tasks import (
    TASKS,
    PaperTask,
    Split,
    half_whiten_features,
    own_task,
    score_guessing,
    split,
)
from ostraka.experiments.trial import Measured, run_trial
from ostraka.files import write_atomically
from ostraka.mechanism.laws import Exact
from ostraka.methods.base import Options, Work
from ostraka.methods.choose import create
from ostraka.party.training.votes import count_linear_votes
from ostraka.poll import Poll
from ostraka.public.catalogue import CATALOGUE
from ostraka.release import Rehearsed
from ostraka.release.certificate import FROM_A_SEED
from ostraka.tally import Tally
from ostraka.tally.domain import Units

__all__ = [
    "OURS",
    "PAPERS",
    "CompareSettings",
    "compare",
    "compare_trial",
    "draw",
    "draw_split",
]

OURS = ("auto", "moments", "cells", "commonest", "consensus", "consensus-paper", "refine")
PURE_ONLY = ("cells", "commonest", "consensus-paper")
"""Cells have no use for a δ; `consensus-paper` is there for comparison with `soft`."""
NO_NOISE = 1e12
"""The ε that stands for 1/ε = 0."""
PAPERS = ("batch", "soft", "avg")
INVERSE_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSettings:
    """The settings of a comparison."""

    task: str
    methods: tuple[str, ...] = ()
    """Some of ours, the paper's and the peers; all if empty."""
    inverse_epsilons: tuple[float, ...] = INVERSE_EPSILONS
    delta: float = 1e-6
    """For methods that need one; ours are also run with δ = 0."""
    trials: int = 3
    draws: int = 10
    """Draws of noise per trial."""
    rare: float = 1.0
    """Below 1, the auxiliary set keeps only this share of every second class.

    Then it is not like the private data (docs/how-to/shift.md).
    """
    shift: bool = False
    """Whether our methods are told that it may differ."""
    natural: bool = False
    """Parties as they are in the data, instead of random ones of equal size."""
    samples_each: int = 0
    """How many rows a party has (natural ones: typically), for a table of the user's own."""
    n_auxiliary: int = 0
    """How many rows are public, for a table of the user's own."""
    seed: int = 0

    def __post_init__(self) -> None:
        number("rare", self.rare, 0.0, 1.0)
        known = (*OURS, *(PAPERS if self.rare == 1.0 else ()), *PEERS)
        if self.is_own:  # there is no paper with its features
            known = (*(name for name in OURS if name != "consensus-paper"), *PEERS)
            count("samples_each", self.samples_each, 1)
            count("n_auxiliary", self.n_auxiliary, 2)
        unknown = [name for name in self.methods if name not in known]
        if unknown:
            allowed = "some of " + ", ".join(known)
            if self.is_own and set(unknown) & {*PAPERS, "consensus-paper"}:
                allowed += ". Those of the paper need its own features: they run on its data sets"
            raise ParameterError("methods", got=", ".join(unknown), allowed=allowed)
        object.__setattr__(self, "methods", self.methods or known)
        values = tuple(
            sorted({number("inv-epsilon", value, 1e-6, 1e6) for value in self.inverse_epsilons})
        )
        object.__setattr__(self, "inverse_epsilons", values)
        number("delta", self.delta, 1e-30, 0.1)
        count("trials", self.trials, 1)
        count("draws", self.draws, 1)
        count("seed", self.seed, 0)

    @property
    def is_own(self) -> bool:
        """Whether it is about a table of the user's own, whose sizes are settings."""
        return bool(self.samples_each or self.n_auxiliary)

    @property
    def paper_task(self) -> PaperTask:
        """Sizes, and the way to features."""
        if self.is_own:
            return own_task(self.task, self.samples_each, self.n_auxiliary)
        return TASKS[self.task]

    @property
    def digest(self) -> str:
        """A name for the settings and versions."""
        later = ("natural", "samples_each", "n_auxiliary")  # earlier runs did not know them
        said = {name: value for name, value in asdict(self).items() if name not in later or value}
        return digest({"experiment": "compare", **said})


def compare(
    data: Dataset,
    settings: CompareSettings,
    n_parties: int,
    out: Path,
    *,
    n_jobs: int = -1,
    backend: Backend = "loky",
    watch: Callable[[str], Callable[[Iterable[Any], int], Iterable[Any]]] | None = None,
) -> list[Row]:
    """Run what is missing, by method, then write the results into `out`.

    These are results.json, results.csv, run.json, table.md, methods.md and the figures. Methods
    that a run with otherwise the same settings has measured there before stay as they are.
    """
    import json

    earlier = _earlier_rows(out, settings, n_parties)
    trials = []
    # One method at a time, so that methods can be added to a finished run.
    for alone in (replace(settings, methods=(method,)) for method in settings.methods):
        show = None if watch is None else watch(alone.methods[0])
        trials += run_trials(
            data,
            alone,
            (n_parties,),
            out / "trials",
            measure=compare_trial,
            n_jobs=n_jobs,
            backend=backend,
            watch=show,
        )
    measured = rows_of(settings.task, trials)
    there = {row.method for row in (*measured, *earlier)}
    settings = replace(
        settings, methods=tuple(name for name in (*OURS, *PAPERS, *PEERS) if name in there)
    )
    rows = sorted((*measured, *earlier), key=lambda row: settings.methods.index(row.method))
    write_rows(rows, out)
    run = {"settings": asdict(settings), "parties": n_parties, "versions": versions()}
    write_atomically(out / "run.json", (json.dumps(run, indent=1) + "\n").encode())
    write_atomically(out / "methods.md", as_markdown(describe_methods(settings)).encode())
    write_atomically(out / "table.md", tabulate(rows, settings).encode())
    draw(data, rows, out)
    return rows


def _earlier_rows(out: Path, settings: CompareSettings, n_parties: int) -> list[Row]:
    """What an earlier run has measured by other methods; other settings are not overwritten."""
    import json

    from ostraka.errors import OstrakaError

    try:
        run = json.loads((out / "run.json").read_bytes())
        said: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in run["settings"].items()
        }
        alike = replace(CompareSettings(**said), methods=settings.methods) == settings
        alike = alike and run["parties"] == n_parties
        rows = read_rows(out, settings.task) if alike else []
    except (OSError, ValueError, TypeError, KeyError, OstrakaError):
        return []  # there is none, or nobody can read it
    if not alike:
        raise InputError(
            f"The folder {out} holds another comparison, with other settings: it would be lost.",
            "Name another folder with --out, or delete this one.",
        )
    return [row for row in rows if row.method not in settings.methods]


def draw(data: Dataset, rows: Sequence[Row], out: Path) -> None:
    """`figure.png` and `figure.svg`, from rows that were measured now or earlier; and `all.png`
    and `all.svg`, with every line.
    """
    from ostraka.figures.comparison import draw_comparison

    name = rows[0].task
    title = f"{TASKS[name].title if name in TASKS else name}: {rows[0].parties:,} parties"
    guessing = score_guessing(data)
    draw_comparison(rows, title, [out / "figure.png", out / "figure.svg"], guessing)
    draw_comparison(rows, title, [out / "all.png", out / "all.svg"], guessing, most=None)


def compare_trial(
    data: Dataset, settings: CompareSettings, n_parties: int, trial: int
) -> list[Measured]:
    """Everything that one split measures."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        of_paper = any(method in PAPERS for method in settings.methods)
        others = any(method not in PAPERS for method in settings.methods)
        measured = _papers(data, settings, n_parties, trial) if of_paper else []
        return [*measured, *(_others(data, settings, n_parties, trial) if others else ())]


def _papers(data: Dataset, settings: CompareSettings, n_parties: int, trial: int) -> list[Measured]:
    """The paper's methods with tight calibration, on the paper's features."""
    asked = tuple(method for method in PAPERS if method in settings.methods)
    as_paper = Settings(
        task=settings.task,
        methods=asked,
        calibrations=("tight",),
        inverse_epsilons=settings.inverse_epsilons,
        trials=settings.trials,
        private_trials=settings.trials * settings.draws,
        seed=settings.seed,
    )
    measured = run_trial(data, as_paper, n_parties, trial)
    return [
        replace(each, calibration="pure") if each.calibration == "tight" else each
        for each in measured
    ]


def draw_split(data: Dataset, settings: CompareSettings, n_parties: int, trial: int) -> Split:
    """The parties, the auxiliary set and the test set of one trial, in half-whitened features."""
    ours = replace(
        settings.paper_task, prepare=partial(half_whiten_features, n_classes=len(data.classes))
    )
    return split(
        data,
        ours,
        n_parties,
        stream(settings.seed, settings.task, n_parties, trial, "split"),
        natural=settings.natural,
        rare=settings.rare,
    )


def _others(
    data: Dataset, settings: CompareSettings, n_parties: int, trial: int
) -> Iterator[Measured]:
    task, n_classes = settings.paper_task, len(data.classes)
    own = partial(stream, settings.seed, settings.task, n_parties, trial)
    drawn = draw_split(data, settings, n_parties, trial)
    given = PeerData(
        drawn.auxiliary.features, drawn.parties, drawn.test, n_classes, task.samples_each
    )

    @cache
    def votes(of_paper: bool) -> Units:
        """The votes of classifiers on our features, or on the paper's.

        The rows are the same either way, because the random stream is the same.
        """
        voters = drawn
        if of_paper:
            voters = split(data, task, n_parties, own("split"), rare=settings.rare)
        blocks = count_linear_votes(
            voters.parties, voters.auxiliary.features, n_classes, 1e-4, "logistic", n_jobs=1
        )
        total: Units = np.sum([counts for _, counts in blocks], axis=0)
        return total

    yield from _ours(drawn, settings, task.samples_each, own, votes)
    for name in settings.methods:
        if name not in PEERS:
            continue
        if not PEERS[name].private:
            found = PEERS[name].accuracies(given, 1.0, settings.delta, own(name), 1)
            yield _measured(name, "none", 0.0, found)
            continue
        for inverse in settings.inverse_epsilons:
            found = PEERS[name].accuracies(
                given, 1.0 / inverse, settings.delta, own(name, str(inverse)), settings.draws
            )
            yield _measured(name, "delta", inverse, found)


def _ours(
    drawn: Split,
    settings: CompareSettings,
    samples_each: int,
    own: Callable[..., np.random.Generator],
    votes: Callable[[bool], Units],
) -> Iterator[Measured]:
    for name in (name for name in OURS if name in settings.methods):
        for delta in (0.0, settings.delta):
            if name in PURE_ONLY and delta:
                continue
            for inverse in (
                *((0.0,) if name == "consensus-paper" else ()),
                *settings.inverse_epsilons,
            ):
                epsilon = 1.0 / inverse if inverse else NO_NOISE
                generator = own(name, str(delta), str(inverse))
                make = partial(
                    _poll,
                    drawn,
                    delta=delta,
                    samples_each=samples_each,
                    natural=settings.natural,
                    shift=settings.shift,
                )
                if name == "refine":
                    drawn_models = _refine(drawn, make, epsilon, generator, settings.draws)
                elif name.startswith("consensus"):
                    poll = make("consensus", epsilon)
                    total = votes(name == "consensus-paper")
                    drawn_models = _shake(poll, total, generator, settings.draws)
                else:
                    poll = make(name, epsilon)
                    drawn_models = _shake(poll, _sum_up(poll, drawn), generator, settings.draws)
                test = drawn.test
                found = [
                    judge_scores(each.model.score_features(test.features), test)
                    for each in drawn_models
                ]
                told = tuple(each.outlook.accuracy for each in drawn_models)
                promise = "delta" if delta else "pure"
                yield replace(_measured(name, promise, inverse, found), told=told)


def _measured(method: str, calibration: str, inverse: float, found: Sequence[float]) -> Measured:
    """With all that is known about each accuracy."""
    known = [each for each in found if isinstance(each, Quality)]
    return Measured(
        method=method,
        calibration=calibration,
        inverse_epsilon=inverse,
        accuracies=tuple(float(each) for each in found),
        balanced=tuple(each.balanced for each in known),
        areas=tuple(each.area for each in known if each.area is not None),
        doubtful=tuple(each.doubtful for each in known),
    )


def _poll(
    drawn: Split,
    method: str,
    epsilon: float,
    *,
    delta: float,
    samples_each: int,
    natural: bool,
    shift: bool,
    start: Any = None,
) -> Poll:
    known = "cells" if method == "commonest" else method
    heeded = CATALOGUE[known].options
    options = {
        "samples_each": samples_each,
        "natural": natural,
        "shift": shift or None,
        "start": start,
    }
    given = {name: value for name, value in options.items() if name in heeded}
    poll = Poll.create(
        drawn.auxiliary,
        epsilon=epsilon,
        delta=delta,
        method=known,
        parties=len(drawn.parties),
        **given,
    )
    if method != "commonest":
        return poll
    asked = Options(samples_each=samples_each)
    alone = create("one cell", drawn.auxiliary, len(drawn.parties), poll.promise, asked)
    return replace(poll, method=alone)


def _sum_up(poll: Poll, drawn: Split) -> Units:
    tally = Tally(poll)
    for names, block in poll.blocks(drawn.parties, Work()):
        tally.add_block(names, block)
    return tally.total


def _shake(
    poll: Poll, total: Units, generator: np.random.Generator, n_draws: int
) -> list[Rehearsed]:
    """One outcome for each draw of noise."""
    mechanism = poll.mechanism(poll.expected_units)
    vector: Exact = poll.method.statistic(total, mechanism)
    drawn = mechanism.law.rehearse(generator, n_draws)
    means = (mechanism.mean([q + int(z) for q, z in zip(vector, row)]) for row in drawn)
    certificate = replace(poll.certificate(poll.expected_units), randomness=FROM_A_SEED)
    found = (poll.conclude(mean, mechanism) for mean in means)
    return [
        Rehearsed(model=model, certificate=certificate, outlook=outlook) for model, outlook in found
    ]


def _refine(
    drawn: Split,
    make: Callable[..., Poll],
    epsilon: float,
    generator: np.random.Generator,
    n_draws: int,
) -> list[Rehearsed]:
    """Two rounds, with half of ε and δ each."""
    half = partial(
        make,
        epsilon=epsilon / 2.0,
        delta=make.keywords["delta"] / 2.0,  # type: ignore[attr-defined]
    )
    first = half("auto")
    outcomes = []
    for start in _shake(first, _sum_up(first, drawn), generator, n_draws):
        second = half("refine", start=start)
        outcomes += _shake(second, _sum_up(second, drawn), generator, 1)
    return outcomes
