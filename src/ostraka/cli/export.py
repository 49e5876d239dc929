"""`ostraka export`: a release for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import OUTPUT, examples, option
from ostraka.cli.options import FORCE

EXAMPLES = examples("ostraka export model.ostraka --onnx model.onnx")


def export(
    file: Annotated[
        Path, typer.Argument(help="A release, as written by `ostraka release` or `ostraka learn`.")
    ],
    *,
    onnx: Annotated[Path, option(OUTPUT, "Where to write the ONNX model.", of="file")],
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Write a release as an ONNX model with the same predictions.

    Its metadata hold the certificate.
    """
    from importlib.util import find_spec

    from ostraka.files import check_new, write_atomically
    from ostraka.release import Release
    from ostraka.release.export import to_onnx

    if find_spec("onnx") is None:
        raise ImportError(
            "Writing ONNX models needs the package onnx: pip install 'ostraka[models]'. Nothing "
            "was written"
        )
    check_new(onnx, force)
    write_atomically(onnx, to_onnx(Release.load(file)))
    typer.echo(
        f"Wrote {onnx}.\n"
        "What next? Give it to any program that runs ONNX models, such as onnxruntime; what it "
        f"promises: ostraka inspect {file}"
    )
