"""A poll in plain words, for whoever is asked to contribute; and as facts, for programs."""

from __future__ import annotations

from typing import Any

from ostraka.errors import say_number
from ostraka.expect.planner import METHODS as PAPERS
from ostraka.expect.planner import noise_to_signal
from ostraka.expect.unit import drowns, share_deviation
from ostraka.methods.parts import method_parts
from ostraka.party.contribution import HEADER, Kind, payload_bytes
from ostraka.party.names import LONGEST_NAME
from ostraka.party.sealed import sealed_bytes
from ostraka.poll import Poll
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.columns import Category, Column
from ostraka.public.entries import GAP
from ostraka.public.promise import explain, plural, surest
from ostraka.release.evaluation import foresee_noise
from ostraka.solve.losses import loss_for
from ostraka.tally.domain import Ballots

__all__ = ["contribution_bytes", "describe", "facts", "most_bytes", "noise_ratio", "say_sent"]

MANY = 8
LEDGER = ". Where the coordinator keeps a ledger, it says what is left."


def describe(poll: Poll, file: str = "POLL", *, served: bool = False) -> dict[str, str]:
    """What people ask first, each with its answer; `file` is how the poll is called in commands.

    `served`: it is at a service, and that is its address.
    """
    answers = {
        "Poll": poll.title or "(without a title)",
        "What is learnt?": _learns(poll),
        "Who is asked?": _asks(poll),
        "What is in this file?": _holds(poll),
        "What leaves my machine?": _leaves(poll),
        "What does it cost me?": _costs(poll) + LEDGER * (not served),
        "What does ε mean for me?": _promises(poll),
        "Whom do I have to trust?": _trusts(poll),
        "Will the model be any good?": _expect(poll),
        "What next?": _next_served(poll, file) if served else _next(poll, file),
        "Digest": f"{poll.digest}, by which contributions name it",
    }
    written = ("Poll", "What next?", "Digest")
    return {
        question: answer if question in written else _sentence(answer)
        for question, answer in answers.items()
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ")")) else ".")


def facts(poll: Poll) -> dict[str, Any]:
    """The same as plain values."""
    mechanism, servers = poll.mechanism(poll.expected_units), poll.promise.servers
    return {
        "title": poll.title,
        "digest": poll.digest,
        "classes": list(poll.task.classes),
        "columns": poll.task.n_columns,
        "column_names": None if poll.task.feature_names is None else list(poll.task.feature_names),
        "method": poll.method.name,
        "epsilon": poll.promise.epsilon,
        "delta": mechanism.delta,
        "protects": poll.promise.protects,
        "least_parties": poll.promise.least_parties,
        "keep_back": poll.keep_back,
        "expected": poll.expected_units,
        "roll": None if poll.roll is None else list(poll.roll),
        "sends": say_sent(poll),
        "servers": None if servers is None else list(servers.names),
        "numbers": _n_numbers(poll),
        "bytes": contribution_bytes(poll),
        "auxiliary_samples": poll.auxiliary_samples,
        "auxiliary_private": poll.private_auxiliary,
        "forecast_kept": poll.forecast,
        "start": None if poll.method.start is None else poll.method.start.digest,
        "evaluates": None if poll.judged is None else poll.judged.digest,
    }


def say_sent(poll: Poll) -> str:
    """What a party sends, in a few words."""
    if poll.private_auxiliary:
        return "a classifier file (ONNX or skops)"
    words = CATALOGUE[poll.method.name].words
    if poll.promise.protects == "person":
        return f"the sum over its persons of {words}; and how many persons"
    return words


def contribution_bytes(poll: Poll) -> int | None:
    """How long a contribution is, but for the party's name; None for a classifier file."""
    if poll.private_auxiliary:
        return None
    if poll.is_sealed:
        return HEADER.size + sealed_bytes(int(poll.domain.dimension))
    of_persons = poll.promise.protects == "person"
    votes = isinstance(poll.domain, Ballots)
    one, many = (Kind.BALLOT, Kind.BALLOTS) if votes else (Kind.VECTOR, Kind.VECTORS)
    kind = many if of_persons else one
    return HEADER.size + payload_bytes(kind, _n_numbers(poll) or 0, len(poll.task.classes))


def most_bytes(poll: Poll) -> int:
    """How long a contribution can be, with the party's name; not of classifier files."""
    return (contribution_bytes(poll) or 0) + 4 * LONGEST_NAME


def _n_numbers(poll: Poll) -> int | None:
    if poll.private_auxiliary:
        return None
    votes = isinstance(poll.domain, Ballots)
    if votes and poll.promise.protects != "person":
        return poll.domain.n_samples  # type: ignore[union-attr]
    return poll.domain.dimension


def _learns(poll: Poll) -> str:
    columns = plural("column", poll.task.n_columns)
    if poll.task.columns is not None:  # all of them: a label among them would be seen here
        columns += f": {', '.join(map(_name_kind, poll.task.columns.columns))}"
    classifier = f"a classifier for {', '.join(map(str, poll.task.classes))}, from {columns}"
    if poll.judged is None:
        return classifier
    asked = "nothing new. It is asked how often a model is right on the parties' own rows"
    return f"{asked}: the release {poll.judged.digest[:12]}, {classifier}"


def _name_kind(column: Column) -> str:
    if isinstance(column, Category):
        return f"{column.name} ({plural('text', len(set(column.values) - {GAP}))})"
    return f"{column.name} ({column.kind.replace('boolean', 'yes or no')})"


def _asks(poll: Poll) -> str:
    unit = poll.promise.protects
    expected = f"made for about {plural(unit, poll.expected_units)}{_of_rows(poll)}"
    least = f"at least {poll.promise.least_parties} needed"
    if poll.roll is None:
        return f"{expected}, {least}"
    some = ", ".join(poll.roll[:MANY]) + (", ..." if len(poll.roll) > MANY else "")
    roll = f"the {plural('party', len(poll.roll))} on its roll ({some}), with rows or without"
    return f"{roll}; {expected}, {least}"


def _of_rows(poll: Poll) -> str:
    each = getattr(poll.method, "samples_each", None)
    return "" if each is None else f" of about {plural('row', each)} each"


def _holds(poll: Poll) -> str:
    rows = plural("row", poll.auxiliary_samples or 0)
    if poll.private_auxiliary:
        return f"the rules alone; of the {rows} of private auxiliary samples only the number"
    if poll.judged is not None:
        return "the rules and the model, and no row of anybody's table"
    if poll.auxiliary is None:
        return "the rules alone, and no row of anybody's table"
    return (
        f"the rules, and the {rows} of the public table as numbers: whoever has the file can read "
        "them, so they must be public"
    )


def _leaves(poll: Poll) -> str:
    size = contribution_bytes(poll)
    if size is None:
        return (
            f"{say_sent(poll)}, and nothing else. It votes at the coordinator's, on samples that "
            "are private themselves."
        )
    kind = "vote" if isinstance(poll.domain, Ballots) else "whole number"
    numbers = _count(_n_numbers(poll) or 0, kind)
    halves = ", in two halves, each of which looks like chance" if poll.is_sealed else ""
    return (
        f"{say_sent(poll)}: {numbers}{halves}, about {_show_size(size)}, and its "
        f"name. No row, no column, no file of yours.{_keeps_back(poll)}"
    )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _keeps_back(poll: Poll) -> str:
    if poll.judged is not None:
        if poll.keep_back is None:
            return " All of your rows are used; if the model learnt from them, it looks better."
        return (
            f" Only rows are used that were kept back from learning, one in {poll.keep_back}: give "
            "the table that you gave then, in the same order; new rows may follow at its end."
        )
    if poll.keep_back is None:
        return ""
    return (
        f" One in {poll.keep_back} of a {poll.promise.protects}'s rows is not used: by these rows "
        "the model can be evaluated later, so keep the table in its order."
    )


def _show_size(size: int) -> str:
    return f"{size} bytes" if size < 1000 else f"{size / 1000:,.1f} KB"


def _costs(poll: Poll) -> str:
    start, unit = poll.method.start, poll.promise.protects
    made = "model" if poll.judged is None else "evaluation"
    text = (
        f"every {unit} that takes part spends {_price(poll)} of its privacy budget, when the "
        f"{made} is made"
    )
    if poll.judged is not None:
        before = poll.judged.certificate.epsilon
        text += f". Whoever took part in making the model has spent ε = {before:g} on it already"
    if start is not None:
        together = f"ε = {start.certificate.epsilon + poll.promise.epsilon:g}"
        text += (
            f". It starts from the release {start.digest[:12]}, which has cost "
            f"ε = {start.certificate.epsilon:g} already: together {together}"
        )
    return text


def _price(poll: Poll) -> str:
    delta = poll.mechanism(poll.expected_units).delta
    return f"ε = {poll.promise.epsilon:g}" + (f", δ = {say_number(delta)}" if delta else "")


def _promises(poll: Poll) -> str:
    promised = poll.certificate(*_as_expected(poll))  # of all rounds together
    seen = "the model" if poll.judged is None else "the evaluation"
    text = explain(promised.epsilon, promised.delta, poll.promise.protects, seen)
    if poll.promise.protects == "person":
        twice = surest(2.0 * promised.epsilon, min(1.0, 2.0 * promised.delta))
        text += f" Whoever has data at two holders is protected less: the guess is right {twice}."
    return text


def _as_expected(poll: Poll) -> tuple[int, int | None]:
    """Parties and persons, if as many come as were expected."""
    of_persons = poll.promise.protects == "person"
    return (1 if of_persons else poll.expected_units, poll.expected_units if of_persons else None)


def _next(poll: Poll, file: str) -> str:
    if poll.is_sealed:
        return (
            f"A party runs: ostraka contribute {file} {_rows(poll)} --party NAME --out "
            "NAME.contribution, and sends that file. The coordinator then runs: ostraka release "
            f"{file} INBOX --key FILE --request NAME.request, and sends that to the trustee"
        )
    return (
        f"A party runs: ostraka contribute {file} {_rows(poll)} --party NAME --out "
        "NAME.contribution, and sends that file. The coordinator then runs: ostraka release "
        f"{file} INBOX --out {_outcome(poll)}, with --ledger FILE to charge every party there"
    )


def _next_served(poll: Poll, address: str) -> str:
    then = f"--out {_outcome(poll)}, which charges every party"
    if poll.is_sealed:
        then = "--request NAME.request, and sends that to the trustee"
    return (
        f"A party that has joined runs: ostraka contribute {address} {_rows(poll)}, which asks "
        f"before it sends. The coordinator then runs: ostraka close {address} {then}"
    )


def _rows(poll: Poll) -> str:
    rows = "--model mine.onnx" if poll.private_auxiliary else "mine.csv --label-column COLUMN"
    return rows + (" --person-column COLUMN" if poll.promise.protects == "person" else "")


def _outcome(poll: Poll) -> str:
    return f"{'model' if poll.judged is None else 'evaluated'}.ostraka"


def _trusts(poll: Poll) -> str:
    text = (
        "the coordinator, who sees what each party sends, adds it up and adds the noise; nobody "
        "else sees it"
    )
    if poll.promise.servers is not None:
        one, other = poll.promise.servers.names
        text = (
            f"either the coordinator, {one}, or the trustee, {other}: one of them is enough. Each "
            "gets one half, which tells it nothing, and adds noise of its own before they put "
            "their sums together. Compare these keys with what the two have published"
        )
    if poll.promise.protects == "person":
        text += ". Every holder is trusted to bound what each of its own persons adds"
    return text


def _expect(poll: Poll) -> str:
    if poll.judged is not None:
        off = foresee_noise(poll.certificate(*_as_expected(poll)))
        much = (
            "by a quarter and more: little can be told" if off > 0.25 else f"by {off:.1%} at most"
        )
        return f"that is what it will tell. Noise moves the answer {much}, 19 times out of 20"
    ratio, little = noise_ratio(poll), drowns(poll)
    if ratio is not None:
        verdict = "some is lost"
        if not 0.3 <= ratio <= 1.0:
            verdict = "little is lost" if ratio < 0.3 else "little is left"
        return f"noise {ratio:.2g} times as long as the longest model there can be: {verdict}"
    if little is not None:
        return little
    if poll.forecast is not None:
        return (
            f"on labels made of the public samples, models learnt {poll.forecast:.0%} of what can "
            "be learnt without privacy, beyond naming the commonest class. A release says how "
            "often its model is right."
        )
    off = share_deviation(poll.expected_units, poll.promise.felt_epsilon)
    return (
        f"the noise would move the share of a class by about {off:.2g}; below 0.2 there is room "
        "for a model"
    )


def noise_ratio(poll: Poll) -> float | None:
    """How long the noise is, against the longest model there can be.

    None where that says little.
    """
    if poll.method.name not in PAPERS:
        return None
    settings, _ = method_parts(poll.method)
    loss = loss_for(len(poll.task.classes), settings["loss"])
    mechanism = poll.mechanism(poll.expected_units)
    return noise_to_signal(mechanism, loss, settings["lambda_"])
