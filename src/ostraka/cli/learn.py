"""`ostraka learn`: from a table of everybody's samples to a release."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.choices import ANY_NOISE, CalibrationName, MethodName, NoiseName

if TYPE_CHECKING:
    from ostraka.estimators import PrivateClassifier

EXAMPLES = (
    "Example: [bold]ostraka learn hospitals.csv --party-column hospital --label-column outcome --auxiliary public.csv "
    "--epsilon 1 --samples-each 8 --out model.ostraka[/]"
)


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            help="Everybody's labelled samples: one table, or a folder with a file per party."
        ),
    ],
    label_column: Annotated[
        str, typer.Option(help="The column that holds the class of each sample.")
    ],
    epsilon: Annotated[
        float,
        typer.Option(
            help="Privacy loss for a whole party. Smaller is more private, and noisier; 1 is a common choice."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the model with its certificate.")],
    party_column: Annotated[
        str | None,
        typer.Option(
            help="The column that says who holds each sample. In a folder the files are the parties."
        ),
    ] = None,
    rows_are_parties: Annotated[
        bool,
        typer.Option(
            "--rows-are-parties",
            help="Every row is a party of its own: protects single samples, not whole holders.",
        ),
    ] = False,
    auxiliary: Annotated[
        Path | None,
        typer.Option(
            help="Public samples without labels, on which the parties vote; they also set the scale of the features."
        ),
    ] = None,
    method: Annotated[
        MethodName | None,
        typer.Option(
            help="auto, the default with --auxiliary, takes moments (of labels) or cells (histograms of them). consensus: votes. "
            "refine: a second round after one of these, with --start. "
            "The paper's: soft (shares of votes), vote (majorities), avg (mean of the parties' own linear "
            "classifiers), the default without --auxiliary."
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(
            help="0 for pure ε. moments and consensus need less noise with a small δ, such as 1e-6."
        ),
    ] = 0.0,
    samples_each: Annotated[
        int | None,
        typer.Option(
            help="How many samples a party typically has; only accuracy depends on it. Default 10."
        ),
    ] = None,
    noise: Annotated[
        NoiseName, typer.Option(help="The law of the noise, for our own methods.")
    ] = ANY_NOISE,
    shift: Annotated[
        bool,
        typer.Option(
            "--shift",
            help="Private samples may be distributed otherwise than --auxiliary; for auto, moments, cells, refine.",
        ),
    ] = False,
    penalty: Annotated[
        float | None,
        typer.Option(
            help="Of the fits after the noise, for our own methods; by default from the noise. Free of budget."
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="For refine: the earlier release to start from. It keeps its own price."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="A ledger (ostraka ledger init): every party is charged before noise is drawn, or nothing happens."
        ),
    ] = None,
    calibration: Annotated[
        CalibrationName | None,
        typer.Option(
            help="For soft, vote, avg: tight, the smallest noise we can prove to be enough (default), or that of the paper."
        ),
    ] = None,
    lambda_: Annotated[
        float | None,
        typer.Option(
            "--lambda",
            help="Strength of the regulariser, where classifiers are trained. Larger means less noise and a simpler model. "
            "Choose it before looking at the data. Default 1e-4.",
        ),
    ] = None,
    roll: Annotated[
        Path | None,
        typer.Option(
            help="A text file with the name of every party that is asked, one per line: who has no rows counts all the same."
        ),
    ] = None,
    local: Annotated[
        str,
        typer.Option(
            help="What each party trains: linear, logistic, tree, forest, neighbours, bayes, svm, boosting, xgboost, lightgbm, mixed."
        ),
    ] = "linear",
    classes: Annotated[
        str | None,
        typer.Option(
            help="The public list of classes, separated by commas. Default: those in the data."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.")
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            help="A public bound for the length of samples, instead of a scale from --auxiliary."
        ),
    ] = None,
    intercept: Annotated[
        float, typer.Option(help="Value of a constant feature, from 0 (none) to below 1.")
    ] = 0.5,
    least_parties: Annotated[int, typer.Option(help="Refuse to release for fewer parties.")] = 2,
    jobs: Annotated[int, typer.Option(help="Workers for local training; -1 means all cores.")] = -1,
    columns: Annotated[
        Path | None,
        typer.Option(
            help="What the columns are, where --auxiliary does not say enough: a small .yaml or .json file."
        ),
    ] = None,
    svmlight_columns: Annotated[
        int | None,
        typer.Option(
            help="How many columns svmlight files have, counted from 1; needed for those."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file that --out names, if there is one.")
    ] = False,
) -> None:
    """Make one private classifier from the samples of many parties, and write it with its certificate.

    Every call is a release of its own and costs every party ε. CSV, Parquet, NPZ and svmlight files, also .gz and .zst.
    """
    from rich.console import Console

    from ostraka.cli.public_table import read_public
    from ostraka.cli.release import save
    from ostraka.cli.words import names_in, words
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError, PrivacyWarning, ShiftWarning
    from ostraka.estimators import PrivateClassifier
    from ostraka.files import check_new, check_writable
    from ostraka.party.training.named import named
    from ostraka.public.describe import describe_columns, read_description
    from ostraka.release import Release

    check_new(out, force)
    check_writable(out)
    _check_distinct(out, data, auxiliary, ledger, start)
    method = method or (MethodName("avg") if auxiliary is None else MethodName("auto"))
    if start is None and method is MethodName("refine"):
        raise ParameterError("--start", got=None, allowed="an earlier release, for --method refine")
    _check_parties(data, party_column, rows_are_parties)
    _check_public(data, auxiliary)
    if auxiliary is None and radius is None:
        allowed = (
            "public samples with the same columns, a few hundred or more, labels not needed; if "
            "there are none, --method avg with --radius, a public bound for the length of samples"
        )
        raise ParameterError("--auxiliary", got=None, allowed=allowed)
    like = None if start is None else Release.load(start).model.task.columns
    not_features = [name for name in (label_column, party_column, *(drop or ())) if name]
    public, described = None, like
    if auxiliary is not None:
        public, described = read_public(
            auxiliary, columns, not_features, like=like, n_columns=svmlight_columns
        )
    elif columns is not None:
        described = describe_columns(None, read_description(columns))
    table = tables.read(
        data,
        label_column=label_column,
        party_column=party_column,
        columns=described,
        drop=(drop or ()) if described is None else (),
        n_columns=svmlight_columns,
        text_labels=classes is not None,
        may_be_empty=data.is_dir() or roll is not None,  # who has no rows counts
    )
    if svmlight_columns is None and hasattr(table.samples, "tocsr"):
        allowed = "the public number of columns, for svmlight files"
        raise ParameterError("--svmlight-columns", got=None, allowed=allowed)
    console = Console(stderr=True)
    estimator = PrivateClassifier(
        method.value,
        epsilon,
        lambda_=lambda_,
        delta=delta,
        samples_each=samples_each,
        noise=noise.value,
        shift=shift,
        penalty=penalty,
        start=start,
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
        n_jobs=jobs,
        progress=console.is_terminal,
    )
    with warnings.catch_warnings():
        for kind in (ShiftWarning, PrivacyWarning):
            warnings.simplefilter("ignore", kind)  # `_report` says it
        estimator.fit(table.samples, table.labels, parties=table.parties, auxiliary=public)
    assert isinstance(estimator.release_, Release)
    save(estimator.release_, out)
    unused = [name for name in table.unused if name not in not_features]
    _report(out, estimator, unused)


def _check_distinct(out: Path, *others: Path | None) -> None:
    """The model must not replace what it is made of, nor the account of who has paid."""
    from ostraka.errors import ParameterError

    if any(
        other is not None and other.exists() and out.exists() and out.samefile(other)
        for other in others
    ):
        raise ParameterError(
            "--out",
            got=str(out),
            allowed="a file that is not the data, the auxiliary set, the ledger or the start",
        )


def _check_public(data: Path, auxiliary: Path | None) -> None:
    """The auxiliary samples are published in effect: their scale is. They cannot be the private ones."""
    from ostraka.errors import ParameterError

    if auxiliary is not None and auxiliary.exists() and data.exists() and auxiliary.samefile(data):
        raise ParameterError(
            "--auxiliary",
            got=str(auxiliary),
            allowed="other, public samples: these are the private ones",
        )


def _check_parties(data: Path, party_column: str | None, rows_are_parties: bool) -> None:
    """Who is protected must be said: a forgotten option must not turn whole hospitals into single patients."""
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


def _report(out: Path, estimator: PrivateClassifier, unused: list[str]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from ostraka.errors import listed
    from ostraka.expect.advice import advise
    from ostraka.expect.describe import noise_ratio
    from ostraka.methods.after_noise.shift import remark

    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Wrote [bold]{escape(str(out))}[/].")
    if unused:
        console.print(
            f"Not used, because the public table does not have them: {listed(unused)}.",
            markup=False,
        )
    console.print(str(estimator.certificate_), markup=False)
    ratio = noise_ratio(estimator.poll_)
    shifted = remark(estimator.release_.shift, estimator.shift)
    told = [] if shifted is None else [shifted.replace("shift=True", "--shift")]
    for each in (*told, *advise(estimator.poll_)):
        console.print(f"[yellow]Mind:[/] {escape(each)}")
    if ratio is not None and ratio > 0.5:
        console.print(
            f"[yellow]Mind:[/] the noise is expected to be {ratio:.2g} times as long as the longest model can be, so predictions will be "
            "poor. --method auto with --auxiliary, more parties, a larger --lambda or --epsilon help; `ostraka plan` says how much."
        )
