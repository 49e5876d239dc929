"""How a poll is made, from public things alone: one to learn by, or one that evaluates a release.

What cannot be kept is refused here, before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ostraka.errors import InputWarning, ParameterError, WrongTypeError, warn_caller
from ostraka.methods.base import Method, Options
from ostraka.methods.choose import choose, create
from ostraka.methods.evaluation import Judging
from ostraka.methods.registry import METHODS
from ostraka.party.names import canonical_list
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import check_options, entry
from ostraka.public.classes import ClassName
from ostraka.public.columns import Columns
from ostraka.public.describe import Description
from ostraka.public.numbers import Samples
from ostraka.public.prepare import prepare
from ostraka.public.promise import Promise, Unit
from ostraka.public.remarks import remark_label
from ostraka.public.task import Task
from ostraka.release import Rehearsed, Release
from ostraka.sealing import Servers
from ostraka.tally.domain import Ball

if TYPE_CHECKING:
    from ostraka.poll.poll import Poll

__all__ = ["check_servers", "create_poll", "evaluate_release"]


def create_poll(
    kind: type[Poll],
    public: AuxiliarySet | Task | Samples,
    *,
    epsilon: float,
    parties: int | None,
    classes: Iterable[ClassName] | None,
    columns: Columns | Description | None,
    method: str,
    title: str,
    delta: float,
    noise: str,
    protects: str,
    persons: int | None,
    roll: Iterable[Any] | None,
    least_parties: int,
    keep_back: int | None,
    assumed_public: tuple[str, ...],
    came: bool,
    servers: Servers | None,
    options: Mapping[str, Any],
) -> Poll:
    """A poll to learn by: see `Poll.create`."""
    given = _read_options(options)
    law = None if noise == "auto" else noise
    check_options(method, {**given, "delta": delta or None, "noise": law})
    promise = Promise(
        epsilon=epsilon,
        delta=delta,
        noise=noise,  # type: ignore[arg-type]
        protects=protects,  # type: ignore[arg-type]
        least_parties=least_parties,
        servers=servers,
    )
    chosen = Options(**given)
    asked = None if roll is None else tuple(canonical_list(roll))
    expected = promise.check_units(
        _count_expected(parties, persons, promise.protects, asked), expected=not came
    )
    source = _public(public, classes, columns, method, chosen)
    made, forecast = _make_method(method, source, expected, promise, chosen)
    auxiliary = source if isinstance(source, AuxiliarySet) and made.name != "avg" else None
    if chosen.start is not None:
        # What the start took to be public is so here, too.
        inherited = (*chosen.start.certificate.assumed_public, *assumed_public)
        assumed_public = tuple(dict.fromkeys(inherited))
        keep_back = _inherit_keep_back(chosen.start.keep_back, keep_back)
    poll = kind(
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
    _warn_of_labels(poll, public, columns)
    return poll


def evaluate_release(
    kind: type[Poll],
    release: Release | Rehearsed,
    *,
    epsilon: float,
    parties: int | None,
    title: str,
    persons: int | None,
    roll: Iterable[Any] | None,
    least_parties: int,
    came: bool,
    servers: Servers | None,
) -> Poll:
    """A poll that asks how good a release is: see `Poll.evaluate`."""
    if not isinstance(release, Release | Rehearsed):
        raise WrongTypeError("The release", release, "a Release: Release.load(path)")
    task, protects = release.model.task, release.certificate.protects
    promise = Promise(
        epsilon=epsilon, protects=protects, least_parties=least_parties, servers=servers
    )
    asked = None if roll is None else tuple(canonical_list(roll))
    expected = promise.check_units(
        _count_expected(parties, persons, protects, asked), expected=not came
    )
    poll = kind(
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


def check_servers(method: Method, promise: Promise) -> None:
    """Refuse what two servers cannot add up, and a start that others could read in the clear.

    The certificate states the sum of both rounds under one promise: the start's servers must be
    the same ones.
    """
    servers, start = promise.servers, method.start
    if servers is None:
        if getattr(method, "coarse", None) is not None:
            raise ParameterError("coarse", got="moments of votes", allowed="ballots, without")
        return
    if start is not None and start.certificate.servers != servers.names:
        allowed = "a release of the same coordinator and trustee: what it cost rests on them"
        raise ParameterError("start", got="a release of other servers", allowed=allowed)
    if not isinstance(method.domain, Ball):
        allowed = (
            f"none for method {method.name!r}, whose parties send ballots that one server must "
            'see; or "auto", "cells", "moments", "refine", "avg", "consensus"'
        )
        raise ParameterError("servers", got=str(servers.trustee), allowed=allowed)


def _read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were set, all of which a poll knows."""
    given = {name: value for name, value in options.items() if value is not None}
    unknown = sorted(set(given) - {each.name for each in fields(Options)})
    if unknown:
        allowed = "nothing: a poll has no such option"
        raise ParameterError(unknown[0], got=given[unknown[0]], allowed=allowed)
    return given


def _make_method(
    name: str, source: AuxiliarySet | Task, expected: int, promise: Promise, options: Options
) -> tuple[Method, float | None]:
    """The method with its public arrays, and the forecast of the rehearsal that chose it."""
    if name != "auto":
        return METHODS[name].create(source, expected, promise, options), None
    candidate, rehearsed = choose(source, expected, promise, options)
    return create(candidate, source, expected, promise, options), rehearsed.kept


def _warn_of_labels(
    poll: Poll, public: AuxiliarySet | Task | Samples, columns: Columns | Description | None
) -> None:
    """Say that a public column may be the label."""
    # Columns that somebody has described are meant as they are.
    described = isinstance(columns, Columns) or isinstance(public, AuxiliarySet | Task)
    of_labels = None if described else remark_label(poll.task.columns, poll.task.classes)
    if of_labels is not None:
        warn_caller(of_labels, InputWarning)


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
