"""A poll: the public agreement on one learning task, one immutable value with a digest.

    what is in it          why
    title, classes, task   what is to be learnt, from which columns, by which public map to features
    method                 how, with its public arrays: nobody recomputes eigenvectors or clusters
    promise                ε, δ, who is protected, the least number of them
    roll                   who is asked, if that is fixed: a party on it without rows still counts
    expected_units         how many are expected; how many come is known when the poll is closed
    keep_back              which rows are not learnt from, but kept for an evaluation
    auxiliary              the public samples; of a private set, only its size

Everything that leaves goes Poll → Contribution → Tally → publish → Release, whatever carries it.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    InputError,
    InputWarning,
    NonFiniteError,
    NotOnRollError,
    ParameterError,
    WrongTypeError,
    naming_file,
    warn_caller,
)
from ostraka.files import read_regular, write_new
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.kernel import take_student
from ostraka.methods.base import Method, Options, Work
from ostraka.methods.choose import choose, create
from ostraka.methods.evaluation import Judging
from ostraka.methods.registry import METHODS
from ostraka.party.asking import ask_votes
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.keeping import leave_kept_back, take_kept_back
from ostraka.party.names import canonical, canonical_list, printable
from ostraka.party.products import row_products
from ostraka.party.quiet import quietly, restart_streams, streams_kept
from ostraka.party.rows import Arranged, Parties, arrange, cut_parties
from ostraka.party.training.files import load_classifier_bytes
from ostraka.party.training.limits import DEFAULT_LIMITS
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE, check_options, entry
from ostraka.public.classes import ClassIndex, ClassName
from ostraka.public.columns import Columns
from ostraka.public.describe import Description
from ostraka.public.prepare import prepare
from ostraka.public.preprocessing import Samples, is_sparse
from ostraka.public.promise import Promise, Unit, check_keep_back, check_parties
from ostraka.public.remarks import remark_label
from ostraka.public.task import Task
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import (
    FROM_A_SEED,
    FROM_THE_SYSTEM,
    Certificate,
    neighbours_of,
    sum_up,
)
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.release.scoring import Model
from ostraka.release.taught_model import teach_classifier
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Ballots, BallSum, Domain
from ostraka.tensors import LARGEST_FILE

__all__ = ["Poll"]

LONGEST_TITLE = 200
ENOUGH = 0.8
"""If at least this share of the expected units came, what was rehearsed for all of them holds."""
DEFAULTS: Final = Options()
ROWS_AT_ONCE = 2**15
"""Of parties in one process, whose features exist at a time."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Poll:
    """The public agreement. `Poll.create` makes one, `Poll.load` reads one."""

    title: str
    task: Task
    method: Method
    promise: Promise
    expected_units: int
    roll: tuple[str, ...] | None = None
    auxiliary: AuxiliarySet | None = field(default=None, repr=False)
    """The samples on which parties vote, or whose geometry was used.

    None for `avg`, and for a private set in a file.
    """
    auxiliary_samples: int | None = None
    auxiliary_digest: str | None = None
    assumed_public: tuple[str, ...] = ()
    keep_back: int | None = None
    """Every so many rows of a protected unit one is kept back for an evaluation; None keeps none.
    """
    forecast: float | None = None
    """How much of what can be learnt without privacy the method learnt in a rehearsal."""
    _digest: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        printable("title", self.title, LONGEST_TITLE)
        object.__setattr__(self, "expected_units", check_parties(self.expected_units))
        if self.roll is not None:
            object.__setattr__(self, "roll", tuple(canonical_list(self.roll)))
        object.__setattr__(self, "keep_back", check_keep_back(self.keep_back))
        if self.keep_back is not None and self.private_auxiliary:
            allowed = "none where parties send classifiers, which may have seen all of their rows"
            raise ParameterError("keep_back", got=self.keep_back, allowed=allowed)
        if self.forecast is not None and not 0.0 <= self.forecast <= 1.0:
            raise ParameterError("forecast", got=self.forecast, allowed="a share, from 0 to 1")
        for name in self.assumed_public:
            printable("assumed_public", name, LONGEST_TITLE)
        start = self.method.start
        if start is not None and start.certificate.protects != self.promise.protects:
            allowed = f"one that protects one {self.promise.protects}, as this poll does"
            got = f"a release that protects one {start.certificate.protects}"
            raise ParameterError("start", got=got, allowed=allowed)
        own = getattr(self.method, "features", None)
        width = getattr(self.method, "n_features", None if own is None else own.shape[1])
        if (self.method.n_classes, width) != (len(self.task.classes), self.task.n_features):
            got = f"{self.method.n_classes} classes, {width} features"
            allowed = f"{len(self.task.classes)} and {self.task.n_features}, as the task has"
            raise ParameterError("method", got=got, allowed=allowed)
        self._check_judged()

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task | Samples,
        *,
        epsilon: float,
        parties: int | None = None,
        classes: Iterable[ClassName] | None = None,
        columns: Columns | Description | None = None,
        method: str = "auto",
        title: str = "",
        delta: float = 0.0,
        noise: str = "auto",
        protects: str = "party",
        persons: int | None = None,
        roll: Iterable[Any] | None = None,
        least_parties: int = 2,
        keep_back: int | None = None,
        assumed_public: tuple[str, ...] = (),
        came: bool = False,
        **options: Any,
    ) -> Poll:
        """Make a poll from public things alone; `auto` is resolved here.

        Args:
            public: the public samples, with `classes`; or an `AuxiliarySet`; or, for "avg", a
                `Task`.
            epsilon: the privacy loss, for one protected unit.
            parties: how many are expected; by default as many as the roll names.
            classes: the public list of classes, where `public` does not have it.
            columns: what the columns of a public table are, or a mapping that says it of some of
                them; None: as `describe_columns` finds them.
            method: its name.
            title: one line, for people.
            delta: 0 for pure ε.
            noise: "l2", "gaussian", or "auto", which takes the kind with the least noise.
            protects: "party", "person" or "row".
            persons: how many persons are expected in all, where persons are protected.
            roll: the public list of the parties that are asked.
            least_parties: refuse to release for fewer protected units than this.
            keep_back: 5 keeps every fifth row of a protected unit back, for an evaluation; None
                keeps none.
            assumed_public: what was read from private data because it is assumed to be public.
            came: whether these parties are already there, and not only expected.
            options: `samples_each`, `shift`, `penalty`, `objective`, `student`, `start` for our own
                methods, `natural` and `samples_largest` for "auto", `lambda_`, `calibration`,
                `loss` for the paper's, `ball` for "avg"; None means the default.

        """
        given = {name: value for name, value in options.items() if value is not None}
        unknown = sorted(set(given) - {each.name for each in fields(Options)})
        if unknown:
            allowed = "nothing: a poll has no such option"
            raise ParameterError(unknown[0], got=given[unknown[0]], allowed=allowed)
        law = None if noise == "auto" else noise
        check_options(method, {**given, "delta": delta or None, "noise": law})
        promise = Promise(
            epsilon=epsilon,
            delta=delta,
            noise=noise,  # type: ignore[arg-type]
            protects=protects,  # type: ignore[arg-type]
            least_parties=least_parties,
        )
        chosen = Options(**given)
        asked = None if roll is None else tuple(canonical_list(roll))
        expected = promise.check_units(
            _count_expected(parties, persons, promise.protects, asked), expected=not came
        )
        source = _public(public, classes, columns, method, chosen)
        forecast = None
        if method == "auto":
            candidate, rehearsed = choose(source, expected, promise, chosen)
            forecast = rehearsed.kept
            made = create(candidate, source, expected, promise, chosen)
        else:
            made = METHODS[method].create(source, expected, promise, chosen)
        name = made.name
        auxiliary = source if isinstance(source, AuxiliarySet) and name != "avg" else None
        if chosen.start is not None:
            # What the start took to be public is so here, too.
            inherited = (*chosen.start.certificate.assumed_public, *assumed_public)
            assumed_public = tuple(dict.fromkeys(inherited))
            keep_back = _inherit_keep_back(chosen.start.keep_back, keep_back)
        poll = cls(
            title=title,
            task=source if isinstance(source, Task) else Task.of(source),
            method=made,
            promise=promise,
            expected_units=expected,
            roll=asked,
            auxiliary=auxiliary,
            auxiliary_samples=None if auxiliary is None else auxiliary.n_samples,
            auxiliary_digest=None if auxiliary is None else auxiliary.public_digest,
            assumed_public=assumed_public,
            keep_back=keep_back,
            forecast=forecast,
        )
        poll.mechanism(expected)  # what cannot be kept is refused before anybody is asked
        # Columns that somebody has described are meant as they are.
        described = isinstance(columns, Columns) or isinstance(public, AuxiliarySet | Task)
        of_labels = None if described else remark_label(poll.task.columns, poll.task.classes)
        if of_labels is not None:
            warn_caller(of_labels, InputWarning)
        return poll

    @classmethod
    def evaluate(
        cls,
        release: Release | Rehearsed,
        *,
        epsilon: float,
        parties: int | None = None,
        title: str = "",
        persons: int | None = None,
        roll: Iterable[Any] | None = None,
        least_parties: int = 2,
        came: bool = False,
    ) -> Poll:
        """Make a poll that asks how good a release is, on the parties' own rows.

        It protects whom the release protects. If rows were kept back from learning, only these are
        used; otherwise all are, and the evaluation says so. `publish` then gives the release as it
        was, with one more of `release.evaluations`. A party gives the table that it learnt from, in
        the same order; rows that came later may follow.

        Args:
            release: what is evaluated.
            epsilon: the privacy loss of the evaluation alone, for one protected unit.
            parties: how many are expected; by default as many as the roll names.
            title: one line, for people.
            persons: how many persons are expected in all, where persons are protected.
            roll: the public list of the parties that are asked.
            least_parties: refuse to evaluate with fewer protected units than this.
            came: whether these parties are already there, and not only expected.

        """
        if not isinstance(release, Release | Rehearsed):
            raise WrongTypeError("The release", release, "a Release: Release.load(path)")
        task, protects = release.model.task, release.certificate.protects
        promise = Promise(epsilon=epsilon, protects=protects, least_parties=least_parties)
        asked = None if roll is None else tuple(canonical_list(roll))
        expected = promise.check_units(
            _count_expected(parties, persons, protects, asked), expected=not came
        )
        poll = cls(
            title=title,
            task=task,
            method=Judging.create(task, expected, promise, Options(start=release)),
            promise=promise,
            expected_units=expected,
            roll=asked,
            assumed_public=release.certificate.assumed_public,
            keep_back=release.keep_back,
        )
        poll.mechanism(expected)
        return poll

    @property
    def domain(self) -> Domain:
        """What one party may send."""
        return self.method.domain

    @property
    def judged(self) -> Release | Rehearsed | None:
        """The release that the poll evaluates; None if it learns."""
        return self.method.release if isinstance(self.method, Judging) else None

    @property
    def votes(self) -> bool:
        """Whether parties vote, with classifiers of their own."""
        return isinstance(self.domain, Ballots)

    @property
    def private_auxiliary(self) -> bool:
        """Whether the auxiliary samples are secret too: parties then send classifiers."""
        return bool(getattr(self.method, "private", False))

    @property
    def digest(self) -> str:
        """Sha256 of the file, by which contributions and certificates name the poll."""
        if self._digest is None:
            object.__setattr__(self, "_digest", hashlib.sha256(self.to_bytes()).hexdigest())
        assert self._digest is not None
        return self._digest

    def contribute(
        self,
        samples: Samples,
        labels: Any,
        party: Any,
        *,
        persons: Any = None,
        local: Any = None,
        n_jobs: int | None = 1,
    ) -> Contribution:
        """One party's contribution, computed only from its own rows and the poll.

        Args:
            samples: the party's rows, with the poll's columns; there may be none.
            labels: their classes.
            party: its name.
            persons: whose rows they are, one name per row, where the poll protects persons.
            local: what the party trains, where it votes; None for a linear classifier.
            n_jobs: workers, for the classifiers of many persons.

        """
        if (persons is not None) is not (self.promise.protects == "person"):
            allowed = f"names of persons, or none: this poll protects one {self.promise.protects}"
            raise ParameterError("persons", got=type(persons).__name__, allowed=allowed)
        if self.private_auxiliary:
            allowed = "a classifier: Poll.enclose(path, party), the auxiliary samples are private"
            raise ParameterError("contribution", got="rows", allowed=allowed)
        name, work = canonical(party), self._work(local, n_jobs)
        if persons is None:
            grouped = self.parties(samples, labels, None, single=name)
            ((_, units),) = self.blocks(grouped, work)
            values = units[0] if isinstance(self.domain, Ball) else units.argmax(axis=1)
            return self._contribution(name, Kind.VECTOR, Kind.BALLOT, values, None)
        grouped = self.parties(samples, labels, persons)
        summed = self.domain.new_sum()
        for names, block in self.blocks(grouped, work):
            if isinstance(summed, BallSum):
                summed.add_rows(block, names)
            else:
                summed.add_sum(block, len(names))
        return self._contribution(name, Kind.VECTORS, Kind.BALLOTS, summed.total, len(grouped))

    def enclose(
        self, path: str | os.PathLike[str], party: Any, trusted: Iterable[str] = ()
    ) -> Contribution:
        """A classifier file (ONNX, skops) as a contribution, where the auxiliary samples are
        private: it votes on the coordinator's machine.
        """
        if not self.private_auxiliary:
            allowed = "votes: Poll.cast(classifier, party), the auxiliary samples are public"
            raise ParameterError("contribution", got="a classifier file", allowed=allowed)
        content = read_regular(path, "classifier file", DEFAULT_LIMITS.file_bytes)
        name = canonical(party)
        self._check_roll(name)
        load_classifier_bytes(content, _file_name(name, content), trusted=trusted).close()
        values = np.frombuffer(content, dtype=np.uint8)
        return Contribution(poll=self.digest, party=name, kind=Kind.CLASSIFIER, values=values)

    def open(self, given: Contribution, trusted: Iterable[str] = ()) -> Contribution:
        """The ballot of a classifier that was sent as a file, cast on the private auxiliary set;
        other contributions as they are.

        The classifier sees one sample at a time, and a sample that it fails on gets the first
        class. So a sample moves only its own vote, and no error reveals anything about it.
        """
        if given.kind is not Kind.CLASSIFIER:
            return given
        if self.auxiliary is None or not self.private_auxiliary:
            allowed = "a poll with its private auxiliary set: Poll.with_auxiliary(...)"
            raise ParameterError("contribution", got="a classifier file", allowed=allowed)
        content = given.values.tobytes()
        classes = ClassIndex(self.task.classes)
        file = _file_name(given.party, content)
        with quietly(), load_classifier_bytes(content, file, trusted=trusted) as classifier:
            votes = ask_votes(
                classifier,
                classes,
                self.auxiliary.rows,
                self.auxiliary.n_samples,
                chunk_rows=1,
                fallback=0,
            )
        return self._contribution(given.party, Kind.VECTOR, Kind.BALLOT, votes, None)

    def cast(
        self, classifier: Any, party: Any, *, fallback: ClassName | None = None
    ) -> Contribution:
        """The ballot of an existing classifier: anything with `predict` or `predict_proba`, or a
        function.

        On a party's own machine its errors are shown. Where many parties' classifiers vote in one
        process, an error would reveal something about one party's data. With `fallback`, samples
        that a classifier fails on get that class, and nothing is printed or drawn from a shared
        stream.
        """
        auxiliary = self._find_ballot_samples()
        if isinstance(classifier, type):
            needed = f"a fitted {classifier.__name__}(...), not the class itself"
            raise WrongTypeError("The classifier", classifier, needed)
        index = ClassIndex(self.task.classes)
        chosen = None if fallback is None else self.task.classes.index(fallback)
        with streams_kept():  # nobody feels what others drew before
            restart_streams()
            votes = ask_votes(
                classifier, index, auxiliary.rows, auxiliary.n_samples, fallback=chosen
            )
        return self._contribution(canonical(party), Kind.VECTOR, Kind.BALLOT, votes, None)

    def parties(
        self, samples: Samples, labels: Any, names: Any, *, single: str | None = None
    ) -> Parties:
        """Rows by party, as features; each party's are made of its own rows alone, to the last bit.

        `names`: one per row. None with `single`: all rows are of one party. None otherwise: every
        row is a party of its own.
        """
        rows, indices = self.task.rows(samples), self.task.indices(labels)
        if rows.shape[0] != len(indices):
            raise InputError(
                f"There are {rows.shape[0]} samples and {len(indices)} labels.",
                "Give one label for each sample.",
            )
        return self.group(rows, indices, names, single=single)

    def group(
        self, rows: Any, indices: NDArray[np.int64], names: Any, *, single: str | None = None
    ) -> Parties:
        """The same from an array and class indices that were checked before."""

        def group(features: Any) -> Parties:
            if single is not None:
                return Parties.single(features, indices, single)
            if names is None:
                return Parties.rows(features, indices)
            return Parties.group(features, indices, names, self._asked)

        with quietly():
            # Products of sparse rows meet each party's rows on their own: see `Parties.each`.
            if self.task.preprocessing.components is not None and is_sparse(rows):
                return group(rows).map(self.task.preprocessing)
            return group(self._map_alone(rows))

    def stream(
        self, rows: Any, indices: NDArray[np.int64], names: list[str] | None, work: Work
    ) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """What many parties send, of `group` and `blocks`, with some parties' features at a time.

        `names`: the canonical one of each row; None: every row is a party of its own.
        """
        together = CATALOGUE[self.method.name].sends != "labels"  # all of them train
        # Products of sparse rows meet each party's rows on their own: see `group`.
        if together or (is_sparse(rows) and self.task.preprocessing.components is not None):
            yield from self.blocks(self.group(rows, indices, names), work)
            return
        every = np.arange(rows.shape[0] + 1)
        found = (
            Arranged(every[:-1], every, list(map(str, every[:-1].tolist())))
            if names is None
            else arrange(names, self._asked)
        )
        starts = found.starts
        for first, stop in cut_parties(np.diff(starts), ROWS_AT_ONCE):
            own = found.order[starts[first] : starts[stop]]
            features = self.group(rows[own], indices[own], None, single="these").features
            part = Parties(
                features,
                indices[own],
                starts[first : stop + 1] - starts[first],
                found.names[first:stop],
            )
            yield from self.blocks(part, work)

    @property
    def _asked(self) -> list[str] | None:
        """Who is on the roll, where parties are protected."""
        if self.roll is None or self.promise.protects != "party":
            return None
        return list(self.roll)

    def _map_alone(self, rows: Any) -> Any:
        """Features, each row's from that row alone, to the last bit; few at a time."""
        public = self.task.preprocessing
        if is_sparse(rows) or rows.shape[0] <= ROWS_AT_ONCE:
            return public(rows, row_products)
        features = np.empty((rows.shape[0], self.task.n_features))
        for start in range(0, rows.shape[0], ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            try:
                features[block] = public(rows[block], row_products)
            except NonFiniteError as error:
                raise NonFiniteError(error.what, row=start + error.row) from None
        return features

    def blocks(self, grouped: Parties, work: Work) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """What many parties send, where all of them are in one process.

        From here on rows that are kept back are left out, or all others where one evaluates.
        """
        if self.keep_back is not None:
            choose_rows = leave_kept_back if self.judged is None else take_kept_back
            grouped = choose_rows(grouped, self.keep_back)
        return self.method.contribute(grouped, work)

    def mechanism(self, n_units: int) -> Mechanism:
        """The noise for this many protected units."""
        return self.method.mechanism(self.promise, n_units)

    def certificate(self, n_parties: int, n_persons: int | None = None) -> Certificate:
        """What a release with this many units will promise, known before anything is added up."""
        n_units = n_parties if self.promise.protects != "person" else n_persons or 0
        mechanism, start = self.mechanism(n_units), self.method.start
        before = (0.0, 0.0)
        if start is not None:
            before = (start.certificate.epsilon, start.certificate.delta)
        return Certificate(
            method=self.method.name,
            epsilon=sum_up(self.promise.epsilon, before[0]),
            delta=sum_up(mechanism.delta, before[1]),
            round_epsilon=self.promise.epsilon,
            round_delta=mechanism.delta,
            neighbours=neighbours_of(
                self.promise.protects, private_auxiliary=self.private_auxiliary
            ),
            parties=n_parties,
            persons=n_persons if self.promise.protects == "person" else None,
            auxiliary_samples=self.auxiliary_samples,
            auxiliary_digest=self.auxiliary_digest,
            sensitivity=mechanism.sensitivity,
            norm=mechanism.norm,
            noise=mechanism.noise,
            noise_scale=mechanism.noise_scale,
            rho=mechanism.rho,
            grid=mechanism.grid,
            dimension=mechanism.dimension,
            coordinates=mechanism.coordinates,
            particular=mechanism.particular,
            poll=self.digest,
            start=None if start is None else start.digest,
            start_epsilon=before[0],
            start_delta=before[1],
            randomness=FROM_A_SEED if self._rests_on_seed else FROM_THE_SYSTEM,
            assumed_public=self.assumed_public,
        )

    def model(self, mean: Array, mechanism: Mechanism) -> Model:
        """The model of what was released, whatever the noise has made of it.

        A failure would lose what was paid for: where numbers leave all doubles, weights are 0, and
        a student that cannot learn leaves its teacher.
        """
        linear = self._fit(mean, mechanism)
        try:
            with np.errstate(all="ignore"):
                return take_student(self.method, mean, mechanism, linear) or linear
        except Exception:  # of whatever kind: too little memory, too, must not cost the release
            return linear

    def _fit(self, mean: Array, mechanism: Mechanism) -> LinearModel:
        """The linear model."""
        try:
            with np.errstate(all="ignore"):
                weights = self.method.weights(mean, mechanism)
        except (ArithmeticError, np.linalg.LinAlgError):
            weights = np.zeros(self.task.weight_shape)
        weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
        return LinearModel(task=self.task, weights=weights)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """How unlike private and auxiliary samples are, from what was released."""
        try:
            with np.errstate(all="ignore"):
                return self.method.surprise(mean, mechanism)
        except (ArithmeticError, np.linalg.LinAlgError):
            return None

    def outlook(self, mean: Array, mechanism: Mechanism, model: Model) -> Outlook:
        """What the poll and what was released say about how good the model is."""
        came = mechanism.divisor >= ENOUGH * self.expected_units
        rehearsed = self.forecast if came else None  # of so many more it says nothing
        count_classes = getattr(self.method, "class_shares", None)
        if count_classes is None:
            return Outlook(kept=rehearsed)
        try:
            with np.errstate(all="ignore"):
                shares, deviation = count_classes(mean, mechanism)
                accuracy = self._expect(mean, mechanism, model)
        except (ArithmeticError, np.linalg.LinAlgError):
            return Outlook(kept=rehearsed)
        if not (np.isfinite(shares).all() and math.isfinite(deviation) and math.isfinite(accuracy)):
            return Outlook(kept=rehearsed)
        return Outlook.of(rehearsed, accuracy, shares, deviation)

    def _expect(self, mean: Array, mechanism: Mechanism, model: Model) -> float:
        """How often the model's choices are right, by the probabilities of what was released."""
        method: Any = self.method
        fair = model
        if method.objective != "accuracy":
            plain = replace(self, method=replace(method, objective="accuracy"))
            fair = plain.model(mean, mechanism)
        chosen = model.probabilities(method.features).argmax(axis=1)
        own = np.take_along_axis(fair.probabilities(method.features), chosen[:, np.newaxis], axis=1)
        return float(own.mean())

    def remake(
        self,
        statistic: Array,
        certificate: Certificate,
        penalty: float | None,
        student: Any,
        objective: str | None,
    ) -> Model:
        """Another model from what was released: see `Release.refit`."""
        if objective is not None and not hasattr(self.method, "objective"):
            allowed = f"none for method {self.method.name!r}, which does not tell class shares"
            raise ParameterError("objective", got=objective, allowed=allowed)
        is_word = student is None or isinstance(student, str)
        wished = Options(
            penalty=penalty,
            objective=objective or "accuracy",
            student=(student or "auto") if is_word else "auto",
        )
        chosen = {
            "penalty": wished.penalty,
            "student": student if is_word else None,
            "objective": None if objective is None else wished.objective,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        method: Method = replace(self.method, **given)  # type: ignore[type-var]
        mechanism = self.mechanism(certificate.n_units)
        model = replace(self, method=method).model(statistic, mechanism)
        if is_word:
            return model
        return teach_classifier(method.features, model, student)  # type: ignore[attr-defined]

    def with_auxiliary(self, auxiliary: AuxiliarySet) -> Poll:
        """The same poll with its private auxiliary set, which only the coordinator has."""
        if not isinstance(auxiliary, AuxiliarySet) or not auxiliary.private:
            raise WrongTypeError("The set", auxiliary, "an AuxiliarySet(..., private=True)")
        method = self.method.with_features(auxiliary.features)  # type: ignore[attr-defined]
        attached = replace(self, method=method, auxiliary=auxiliary)
        object.__setattr__(attached, "_digest", self.digest)
        return attached

    def detach(self) -> Poll:
        """The same poll without a private auxiliary set, for whatever is kept or shown."""
        if not self.private_auxiliary:
            return self
        method = replace(self.method, features=None)  # type: ignore[type-var]
        public = replace(self, method=method, auxiliary=None)
        object.__setattr__(public, "_digest", self.digest)
        return public

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        from ostraka.poll_format import write_poll

        return write_poll(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Poll:
        """Read a poll that came from anyone; `FormatError` unless it is one."""
        from ostraka.poll_format import read_poll

        return read_poll(data)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the poll; an interrupted write leaves whatever was there before.

        Another file of that name is replaced only if `overwrite` says so.
        """
        write_new(path, self.to_bytes(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Poll:
        """Read a poll; anything that is not one is refused."""
        with naming_file(path):
            return cls.from_bytes(read_regular(path, "poll", LARGEST_FILE))

    def __repr__(self) -> str:
        promise = self.promise
        delta = f", delta={promise.delta:g}" if promise.delta else ""
        return (
            f"Poll(title={self.title!r}, method={self.method.name!r}, "
            f"n_classes={len(self.task.classes)}, n_columns={self.task.n_columns}, "
            f"epsilon={promise.epsilon:g}{delta}, protects={promise.protects!r}, "
            f"expected_units={self.expected_units})"
        )

    @property
    def _rests_on_seed(self) -> bool:
        """Whether it rests on a rehearsal: then nothing that comes of it can be released."""
        start = self.method.start
        seeded = isinstance(self.method, Judging) and self.method.rehearsed
        return seeded or (start is not None and start.rehearsed)

    def _check_judged(self) -> None:
        """Refuse another task, unit or rule for rows than those of the release in question."""
        if self.judged is None:
            return
        judged, promised = self.judged, self.judged.certificate
        own = (self.task, self.promise.protects, self.keep_back)
        if own != (judged.model.task, promised.protects, judged.keep_back):
            allowed = "that of the release that it evaluates: Poll.evaluate(release, ...)"
            raise ParameterError("poll", got="another task, unit or keep_back", allowed=allowed)

    def _work(self, local: Any, n_jobs: int | None) -> Work:
        if local is not None and not self.votes:
            allowed = f"None for method {self.method.name!r}, for which no classifier votes"
            raise ParameterError("local", got=local, allowed=allowed)
        return Work(local=local, n_jobs=n_jobs)

    def _find_ballot_samples(self) -> AuxiliarySet:
        if not self.votes:
            allowed = f"rows and labels, for method {self.method.name!r}"
            raise ParameterError("contribution", got="a classifier", allowed=allowed)
        if self.auxiliary is None or self.auxiliary.private:
            allowed = "a classifier file, Poll.enclose(path, party): the samples are private"
            raise ParameterError("contribution", got="a classifier that votes", allowed=allowed)
        if self.keep_back is not None:
            allowed = "rows: of a classifier nobody knows whether it has seen those kept back"
            raise ParameterError("contribution", got="a classifier", allowed=allowed)
        if self.promise.protects == "person":
            allowed = "a classifier for every person, trained by contribute"
            raise ParameterError("contribution", got="one classifier", allowed=allowed)
        return self.auxiliary

    def _check_roll(self, party: str) -> None:
        if self.roll is not None and party not in self.roll:
            raise NotOnRollError(party)

    def _contribution(
        self, party: str, vector: Kind, ballot: Kind, values: Any, n_persons: int | None
    ) -> Contribution:
        votes = isinstance(self.domain, Ballots)
        self._check_roll(party)
        return Contribution(
            poll=self.digest,
            party=party,
            kind=ballot if votes else vector,
            values=values,
            n_classes=len(self.task.classes) if votes else 0,
            n_persons=n_persons,
        )


def _count_expected(
    parties: int | None, persons: int | None, protects: Unit, roll: tuple[str, ...] | None
) -> int:
    if protects == "person":
        if persons is None:
            allowed = (
                "about how many persons there are in all (persons=, --persons), where they are "
                "protected"
            )
            raise ParameterError("persons", got=None, allowed=allowed)
        return persons
    if persons is not None:
        allowed = f"nothing, or protects='person': this poll protects one {protects}"
        raise ParameterError("persons", got=persons, allowed=allowed)
    if parties is None and roll is None:
        allowed = "how many parties are expected, or a roll that names them"
        raise ParameterError("parties", got=None, allowed=allowed)
    return len(roll or ()) if parties is None else parties


def _inherit_keep_back(of_start: int | None, given: int | None) -> int | None:
    """A second round leaves the rows alone that the first one did; others it had learnt from."""
    if given not in (None, of_start):
        allowed = f"{of_start}, as in the first round, or nothing"
        raise ParameterError("keep_back", got=given, allowed=allowed)
    return of_start


def _public(
    public: AuxiliarySet | Task | Samples,
    classes: Any,
    columns: Columns | Description | None,
    method: str,
    options: Options,
) -> AuxiliarySet | Task:
    if isinstance(public, AuxiliarySet | Task):
        if classes is not None and tuple(classes) != public.classes:
            raise ParameterError("classes", got=tuple(classes), allowed=str(public.classes))
        if isinstance(public, Task) and entry(method).sends != "parameters":
            raise WrongTypeError("The public set", public, f"public samples, for method {method!r}")
        return public
    if classes is None:
        allowed = "the public list of classes, or an AuxiliarySet, which has it"
        raise ParameterError("classes", got=None, allowed=allowed)
    like = None if options.start is None else options.start.model.task
    return prepare(public, classes, method, columns=columns, like=like)


def _file_name(party: str, content: bytes) -> str:
    """How a classifier file is called in errors; skops files are zip archives."""
    return f"{party}.{'skops' if content.startswith(b'PK') else 'onnx'}"
