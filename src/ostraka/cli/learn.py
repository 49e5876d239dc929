"""`ostraka learn`: from a table of everybody's samples to a release."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.choices import (
    ANY_NOISE,
    CalibrationName,
    MethodName,
    NoiseName,
    ObjectiveName,
    StudentName,
)
from ostraka.cli.help import DATA, METHOD, OUTPUT, examples, option
from ostraka.cli.options import (
    CALIBRATION,
    CLASSES,
    COLUMNS,
    DELTA,
    DROP,
    EPSILON,
    FORCE,
    KEEP_BACK,
    LABEL_COLUMN,
    LAMBDA,
    LEAST_PARTIES,
    LEDGER,
    METHODS,
    MODEL_OUT,
    NATURAL,
    NOISE,
    OBJECTIVE,
    PENALTY,
    RADIUS,
    ROLL,
    SAMPLES_EACH,
    SAMPLES_LARGEST,
    SHIFT,
    START,
    STUDENT,
    SVMLIGHT_COLUMNS,
)
from ostraka.cli.screen import print_answers, print_mind

if TYPE_CHECKING:
    from ostraka.estimators import PrivateClassifier
    from ostraka.release import Release

EXAMPLES = examples(
    "ostraka learn hospitals.csv --party-column hospital --label-column outcome \\\n"
    "    --auxiliary public.csv --samples-each 8 --epsilon 1 --out model.ostraka"
)


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            help="Everybody's labelled samples: one table, or a folder with a file per party."
        ),
    ],
    *,
    label_column: Annotated[str, LABEL_COLUMN],
    party_column: Annotated[
        str | None,
        option(
            DATA,
            "The column that says who holds each sample. In a folder, each file is a party.",
            of="column",
        ),
    ] = None,
    rows_are_parties: Annotated[
        bool,
        option(
            DATA,
            "Every row is a party of its own. This protects single samples, not whole holders.",
            "--rows-are-parties",
        ),
    ] = False,
    auxiliary: Annotated[
        Path | None,
        option(
            DATA,
            "Public samples without labels. They set the scale of the features, and parties may "
            "vote on them.",
            of="file",
        ),
    ] = None,
    samples_each: Annotated[int | None, SAMPLES_EACH] = None,
    natural: Annotated[bool | None, NATURAL] = None,
    samples_largest: Annotated[int | None, SAMPLES_LARGEST] = None,
    keep_back: Annotated[int | None, KEEP_BACK] = None,
    classes: Annotated[
        str | None, option(DATA, f"{CLASSES} Default: those in the data.", of="names")
    ] = None,
    roll: Annotated[Path | None, ROLL] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    svmlight_columns: Annotated[int | None, SVMLIGHT_COLUMNS] = None,
    radius: Annotated[float | None, RADIUS] = None,
    intercept: Annotated[
        float,
        option(
            DATA,
            "For soft, vote, avg: the value of a constant feature, from 0 (none) to below 1.",
            of="number",
        ),
    ] = 0.5,
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA] = 0.0,
    ledger: Annotated[Path | None, LEDGER] = None,
    least_parties: Annotated[int, LEAST_PARTIES] = 2,
    method: Annotated[
        MethodName | None,
        option(METHOD, f"{METHODS} Default: auto; without --auxiliary, avg.", of="method"),
    ] = None,
    noise: Annotated[NoiseName, NOISE] = ANY_NOISE,
    shift: Annotated[bool, SHIFT] = False,
    penalty: Annotated[float | None, PENALTY] = None,
    objective: Annotated[ObjectiveName | None, OBJECTIVE] = None,
    student: Annotated[StudentName | None, STUDENT] = None,
    start: Annotated[Path | None, START] = None,
    local: Annotated[
        str,
        option(
            METHOD,
            "Where parties vote: what each of them trains, out of linear, logistic, tree, forest, "
            "neighbours, bayes, svm, boosting, xgboost, lightgbm, mixed.",
            of="classifier",
        ),
    ] = "linear",
    lambda_: Annotated[float | None, LAMBDA] = None,
    calibration: Annotated[CalibrationName | None, CALIBRATION] = None,
    out: Annotated[Path, MODEL_OUT],
    force: Annotated[bool, FORCE] = False,
    jobs: Annotated[
        int, option(OUTPUT, "Workers for local training; -1 means all cores.", of="number")
    ] = -1,
) -> None:
    """Make one private classifier from the samples of many parties, and write it with its
    certificate.

    For rows that one process may see; otherwise begin with `ostraka poll create`. Every call is a
    new release and costs every party ε. Reads CSV, Parquet, NPZ and svmlight files, also .gz and
    .zst.
    """
    from rich.console import Console

    from ostraka.cli.public_table import PublicTable, check_dropped, read_public
    from ostraka.cli.words import names_in, words
    from ostraka.datasets import tables
    from ostraka.errors import InputWarning, LedgerWarning, ParameterError
    from ostraka.estimators import PrivateClassifier
    from ostraka.files import check_distinct, check_new, check_writable
    from ostraka.party.training.named import named
    from ostraka.public.describe import describe_columns, read_description
    from ostraka.publishing import Stopped
    from ostraka.release import Release
    from ostraka.releasing import save

    check_new(out, force)
    check_writable(out)
    check_distinct(
        out,
        (data, auxiliary, ledger, start),
        "the data, the auxiliary set, the ledger or the start",
    )
    method = method or (MethodName("avg") if auxiliary is None else MethodName("auto"))
    if start is None and method is MethodName("refine"):
        raise ParameterError("--start", got=None, allowed="an earlier release, for --method refine")
    _check_parties(data, party_column, rows_are_parties)
    if label_column == party_column:
        allowed = "another column than the one with the classes"
        raise ParameterError("--party-column", got=party_column, allowed=allowed)
    _check_public(data, auxiliary)
    if auxiliary is None and radius is None:
        allowed = (
            "public samples with the same columns, a few hundred or more, labels not needed; if "
            "there are none, --method avg with --radius, a public bound for the length of samples"
        )
        raise ParameterError("--auxiliary", got=None, allowed=allowed)
    first = None if start is None else Release.load(start)
    like = None if first is None else first.model.task.columns
    not_features = [name for name in (label_column, party_column, *(drop or ())) if name]
    public, described = PublicTable(None, None), like
    if auxiliary is not None:
        public = read_public(
            auxiliary, columns, not_features, like=like, n_columns=svmlight_columns
        )
        described = public.columns
    elif columns is not None:
        described = describe_columns(None, read_description(columns))
    table = tables.read(
        data,
        label_column=label_column,
        party_column=party_column,
        columns=described,
        drop=(drop or ()) if described is None else (),
        n_columns=svmlight_columns,
        # A list that is public already says what labels are; nobody's entry may.
        text_labels=classes is not None or first is not None,
        may_be_empty=data.is_dir() or roll is not None,  # who has no rows counts
    )
    if svmlight_columns is None and hasattr(table.samples, "tocsr"):
        allowed = "the public number of columns, for svmlight files"
        raise ParameterError("--svmlight-columns", got=None, allowed=allowed)
    if described is not None:
        check_dropped(drop or (), (*public.names, *table.unused), data.name)
    console = Console(stderr=True)
    estimator = PrivateClassifier(
        method.value,
        epsilon,
        lambda_=lambda_,
        delta=delta,
        samples_each=samples_each,
        natural=natural,
        samples_largest=samples_largest,
        noise=noise.value,
        shift=shift,
        penalty=penalty,
        objective=None if objective is None else objective.value,
        student="auto" if student is None else student.value,
        start=first,
        ledger=ledger,
        calibration=None if calibration is None else calibration.value,
        local=None if local == "linear" else named(local),
        classes=None if classes is None else words(classes),
        columns=described,
        radius=radius,
        intercept=intercept,
        roll=table.roll if roll is None else names_in(roll),
        rows_are_parties=rows_are_parties,
        least_parties=least_parties,
        keep_back=keep_back,
        n_jobs=jobs,
        progress=console.is_terminal,
    )
    for told in public.told:  # of the public table alone, before anything is drawn
        print_mind(told)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")  # `_report` says what else there is to say
        for kind in (InputWarning, LedgerWarning):
            warnings.simplefilter("always", kind)
        try:
            estimator.fit(
                table.samples,
                _as_classes(table.labels, first),
                parties=table.parties,
                auxiliary=public.samples,
            )
        except Stopped as stopped:  # paid for: it must not be lost
            warnings.warn(str(stopped), InputWarning, stacklevel=1)
    assert isinstance(estimator.release_, Release)
    try:
        save(estimator.release_, out)
        unused = [name for name in table.unused if name not in (*not_features, *public.names)]
        _report(out, estimator, ledger, unused)
    finally:  # whatever becomes of the file: a charge may not have been recorded
        for each in dict.fromkeys(str(one.message) for one in caught):
            print_mind(each.replace("classes=[...]", "--classes"))


def _check_public(data: Path, auxiliary: Path | None) -> None:
    """The auxiliary samples are published in effect: their scale is.

    They cannot be the private ones.
    """
    from ostraka.errors import ParameterError

    if auxiliary is not None and auxiliary.exists() and data.exists() and auxiliary.samefile(data):
        raise ParameterError(
            "--auxiliary",
            got=str(auxiliary),
            allowed="other, public samples: these are the private ones",
        )


def _check_parties(data: Path, party_column: str | None, rows_are_parties: bool) -> None:
    """Who is protected must be said.

    A forgotten option must not turn whole hospitals into single patients.
    """
    from ostraka.errors import ParameterError

    if party_column is not None and rows_are_parties:
        raise ParameterError(
            "--rows-are-parties", got="together with --party-column", allowed="one of the two"
        )
    if data.is_file() and (party_column is None) != rows_are_parties:
        raise ParameterError(
            "--party-column",
            got=party_column,
            allowed="the column that names the parties, or else --rows-are-parties",
        )


def _report(
    out: Path, estimator: PrivateClassifier, ledger: Path | None, unused: list[str]
) -> None:
    from ostraka.cli.inspect import answers, price
    from ostraka.cli.release import say_charged
    from ostraka.errors import list_names
    from ostraka.expect.advice import advise
    from ostraka.expect.describe import noise_ratio
    from ostraka.methods.after_noise.shift import remark
    from ostraka.release import Release

    release, poll = estimator.release_, estimator.poll_
    assert isinstance(release, Release)
    cost = f"{price(release)} {say_charged(ledger)}"
    print_answers({"Wrote": str(out), **answers(release, out, cost)})
    shifted, ratio = remark(release.shift, estimator.shift), noise_ratio(poll)
    told = [] if shifted is None else [shifted.replace("shift=True", "--shift")]
    if unused:
        told.append(f"Not used, because the public table does not have them: {list_names(unused)}.")
    if ratio is not None and ratio > 0.5:
        told.append(
            f"The noise is expected to be {ratio:.2g} times as long as the longest model can be, "
            "so predictions will be poor. --method auto with --auxiliary, more parties, a larger "
            "--lambda or --epsilon help; `ostraka plan` says how much."
        )
    for each in (*advise(poll), *told):
        print_mind(each)


def _as_classes(labels: Any, start: Release | None) -> Any:
    """Labels that were read as texts, each on its own, as the start's classes are."""
    import numpy as np

    if start is None or isinstance(start.model.task.classes[0], str):
        return labels
    held = np.empty(len(labels), dtype=object)
    held[:] = [_whole(text) for text in labels.tolist()]
    return held


def _whole(text: str) -> int | str:
    """A whole number, also if it was written as 1.0; a text that is none stays."""
    try:
        return int(text.removesuffix(".0"))
    except ValueError:
        return text
