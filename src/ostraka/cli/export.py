"""`ostraka export`: a release for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = "Example: [bold]ostraka export model.ostraka --onnx model.onnx[/]"


def export(
    file: Annotated[Path, typer.Argument(help="A release, as `ostraka learn` writes.")],
    onnx: Annotated[Path, typer.Option(help="Where to write the ONNX model.")],
) -> None:
    """Write a release as an ONNX model with the same predictions; its metadata carry the certificate."""
    from importlib.util import find_spec

    from ostraka.errors import ParameterError
    from ostraka.export import to_onnx
    from ostraka.files import write_atomically
    from ostraka.release import Release

    if find_spec("onnx") is None:
        raise ParameterError("--onnx", got=str(onnx), allowed="a file, once the package onnx is there: pip install 'ostraka[models]'")
    write_atomically(onnx, to_onnx(Release.load(file)))
    typer.echo(f"Wrote {onnx}.")
