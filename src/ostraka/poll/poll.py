"""A poll: the public agreement on one learning task, one immutable value with a digest.

    what is in it          why
    title, classes, task   what is to be learnt, from which columns, by which public map to features
    method                 how, with its public arrays: nobody recomputes eigenvectors or clusters
    promise                ε, δ, who is protected, the least number of them, and whom to trust
    roll                   who is asked, if that is fixed: a party on it without rows still counts
    expected_units         how many are expected; how many come is known when the poll is closed
    keep_back              which rows are not learnt from, but kept for an evaluation
    auxiliary              the public samples; of a private set, only its size

Everything that leaves goes Poll → Contribution → Tally → publish → Release, whatever carries it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError, WrongTypeError, count, naming_file, printable
from ostraka.files import read_regular, write_new
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Method, Work
from ostraka.methods.evaluation import Judging
from ostraka.party.contribution import Contribution
from ostraka.party.names import canonical_list
from ostraka.party.rows import Parties
from ostraka.poll import after_noise, asking, making
from ostraka.poll.format import read_poll, write_poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.classes import ClassName
from ostraka.public.columns import Columns
from ostraka.public.describe import Description
from ostraka.public.numbers import Samples
from ostraka.public.promise import Promise, check_keep_back, check_parties
from ostraka.public.task import Task
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import (
    FROM_A_SEED,
    FROM_THE_SYSTEM,
    Certificate,
    neighbours_of,
    sum_up,
)
from ostraka.release.outlook import Outlook
from ostraka.release.scoring import Model
from ostraka.sealing import Servers
from ostraka.solve.losses import Array
from ostraka.tally.domain import Domain
from ostraka.tensors import LARGEST_FILE

__all__ = ["Poll"]

LONGEST_TITLE = 200


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
        if self.auxiliary_samples is not None:
            count("auxiliary_samples", self.auxiliary_samples, 1)
        if self.forecast is not None and not 0.0 <= self.forecast <= 1.0:
            raise ParameterError("forecast", got=self.forecast, allowed="a share, from 0 to 1")
        for name in self.assumed_public:
            printable("assumed_public", name, LONGEST_TITLE)
        start = self.method.start
        if start is not None and start.certificate.protects != self.promise.protects:
            allowed = f"one that protects one {self.promise.protects}, as this poll does"
            got = f"a release that protects one {start.certificate.protects}"
            raise ParameterError("start", got=got, allowed=allowed)
        making.check_servers(self.method, self.promise)
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
        servers: Servers | None = None,
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
            servers: a coordinator and a trustee, of whom one must be honest; None: parties trust
                the coordinator.
            options: `samples_each`, `shift`, `penalty`, `objective`, `student`, `start` for our own
                methods, `natural` and `samples_largest` for "auto", `lambda_`, `calibration`,
                `loss` for the paper's, `ball` for "avg"; None means the default.

        """
        return making.create_poll(
            cls,
            public,
            epsilon=epsilon,
            parties=parties,
            classes=classes,
            columns=columns,
            method=method,
            title=title,
            delta=delta,
            noise=noise,
            protects=protects,
            persons=persons,
            roll=roll,
            least_parties=least_parties,
            keep_back=keep_back,
            assumed_public=assumed_public,
            came=came,
            servers=servers,
            options=options,
        )

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
        servers: Servers | None = None,
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
            servers: as in `create`.

        """
        return making.evaluate_release(
            cls,
            release,
            epsilon=epsilon,
            parties=parties,
            title=title,
            persons=persons,
            roll=roll,
            least_parties=least_parties,
            came=came,
            servers=servers,
        )

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
        return CATALOGUE[self.method.name].sends == "votes"

    @property
    def is_sealed(self) -> bool:
        """Whether two servers add up what neither of them can read."""
        return self.promise.servers is not None

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
        return asking.contribute(
            self, samples, labels, party, persons=persons, local=local, n_jobs=n_jobs
        )

    def enclose(
        self, path: str | os.PathLike[str], party: Any, trusted: Iterable[str] = ()
    ) -> Contribution:
        """A classifier file (ONNX, skops) as a contribution, where the auxiliary samples are
        private: it votes on the coordinator's machine.
        """
        return asking.enclose(self, path, party, trusted)

    def open(self, given: Contribution, trusted: Iterable[str] = ()) -> Contribution:
        """The ballot of a classifier that was sent as a file, cast on the private auxiliary set;
        other contributions as they are.

        The classifier sees one sample at a time, and a sample that it fails on gets the first
        class. So a sample moves only its own vote, and no error reveals anything about it.
        """
        return asking.open_file(self, given, trusted)

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
        return asking.cast(self, classifier, party, fallback=fallback)

    def parties(
        self, samples: Samples, labels: Any, names: Any, *, single: str | None = None
    ) -> Parties:
        """Rows by party, as features; each party's are made of its own rows alone, to the last bit.

        `names`: one per row. None with `single`: all rows are of one party. None otherwise: every
        row is a party of its own.
        """
        return asking.read_parties(self, samples, labels, names, single=single)

    def group(
        self, rows: Any, indices: NDArray[np.int64], names: Any, *, single: str | None = None
    ) -> Parties:
        """The same from an array and class indices that were checked before."""
        return asking.group_rows(self, rows, indices, names, single=single)

    def stream(
        self, rows: Any, indices: NDArray[np.int64], names: list[str] | None, work: Work
    ) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """What many parties send, of `group` and `blocks`, with some parties' features at a time.

        `names`: the canonical one of each row; None: every row is a party of its own.
        """
        return asking.stream(self, rows, indices, names, work)

    def blocks(self, grouped: Parties, work: Work) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """What many parties send, where all of them are in one process.

        From here on rows that are kept back are left out, or all others where one evaluates.
        """
        return asking.send(self, grouped, work)

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
            servers=() if self.promise.servers is None else self.promise.servers.names,
        )

    def model(self, mean: Array, mechanism: Mechanism) -> Model:
        """The model of what was released: see `conclude`."""
        return self.conclude(mean, mechanism)[0]

    def conclude(
        self, mean: Array, mechanism: Mechanism, *, taught: bool = True, strict: bool = False
    ) -> tuple[Model, Outlook]:
        """The model of what was released, and what is known of how good it is.

        Whatever happens: a failure would lose what was paid for. Where numbers leave all doubles,
        or memory is short, weights are 0, and a student that cannot learn leaves its teacher.
        `taught=False`: there is no student at all. `strict`: for a trial before anybody has paid,
        in which only arithmetic may fail.
        """
        return after_noise.conclude(self, mean, mechanism, taught=taught, strict=strict)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """How unlike private and auxiliary samples are, from what was released."""
        return after_noise.find_surprise(self, mean, mechanism)

    def remake(
        self,
        statistic: Array,
        certificate: Certificate,
        penalty: float | None,
        student: Any,
        objective: str | None,
    ) -> Model:
        """Another model from what was released: see `Release.refit`."""
        return after_noise.remake(self, statistic, certificate, penalty, student, objective)

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
        return write_poll(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Poll:
        """Read a poll that came from anyone; `FormatError` unless it is one."""
        return read_poll(cls, data)

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
