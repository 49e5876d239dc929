"""A release as an ONNX graph: columns, the public preprocessing, the model (linear, or a kernel
student), and the certificate in the metadata.

The graph uses plain operators in double precision, in the order of `Columns` and `Preprocessing`,
so that it predicts what `Release.predict` predicts. Outputs `label` (N,) and `probabilities` (N,
K). Inputs:

    where columns have names   one (N, 1) for each, by its name: doubles for numbers, 0 and 1 for
                               booleans, days since 1970 for dates, texts for categories; NaN or an
                               empty text is a gap
    elsewhere                  `samples` (N, columns)

Not covered: another sum order may round scores that differ by less than about 1e-15 the other way.
A graph reads texts as they are, with no spaces around. A graph cannot refuse: where
`Release.predict` raises because a sample holds NaN or infinity, the probabilities of that sample
are NaN and its label means nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import RehearsalError
from ostraka.public.columns_format import columns_json
from ostraka.public.preprocessing import NORM_KEPT, NORM_PULLED, SQUARES_FIT
from ostraka.public.task import Task
from ostraka.release import Release
from ostraka.release.graph import Graph, write_inputs
from ostraka.release.kernel_model import KernelModel
from ostraka.release.scoring import Model
from ostraka.release.taught_model import check_storable
from ostraka.tensors import canonical_json

__all__ = ["to_onnx"]


def to_onnx(release: Release) -> bytes:
    """The release as the bytes of an ONNX model."""
    import onnx
    from onnx import TensorProto, helper

    if not isinstance(release, Release):
        raise RehearsalError
    check_storable(release.model)
    graph = Graph()
    inputs, rows = write_inputs(graph, release.model.task)
    features = _features(graph, release.model.task, rows)
    scores = _scores(graph, release.model, features)
    graph.add("Softmax", scores, axis=1, output="probabilities")
    # Of equal scores the second class wins if there are two, the first if there are more.
    last = int(len(release.model.task.classes) == 2)
    index = graph.add("ArgMax", scores, axis=1, keepdims=0, select_last_index=last)
    names = release.model.task.classes
    of_texts = isinstance(names[0], str)
    graph.add(
        "Gather",
        graph.constant(np.array(names, dtype=object if of_texts else np.int64)),
        index,
        output="label",
    )
    kind = TensorProto.STRING if of_texts else TensorProto.INT64
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "ostraka",
            inputs,
            [
                helper.make_tensor_value_info("label", kind, [None]),
                helper.make_tensor_value_info(
                    "probabilities", TensorProto.DOUBLE, [None, len(names)]
                ),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in graph.opsets],
        producer_name="ostraka",
        ir_version=8,
    )
    described = {
        "ostraka.certificate": release.certificate.to_json(),
        "ostraka.columns": canonical_json(columns_json(release.model.task.columns)),
    }
    helper.set_model_props(model, described)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _features(graph: Graph, task: Task, rows: str) -> str:
    """The same steps as `Preprocessing`.

    Centre, scale, project, divide, clip, append the constant.
    """
    given = task.preprocessing
    x = _map(graph, task, rows) if given.arrays() else rows
    radius = graph.number(given.radius)
    peak = graph.add("ReduceMax", graph.add("Abs", x), axes=[1], keepdims=1)
    far = graph.add("Greater", graph.add("Div", peak, radius), graph.number(SQUARES_FIT))
    x = graph.add("Div", x, graph.add("Where", far, peak, radius))
    norm = graph.add("Sqrt", graph.add("ReduceSumSquare", x, axes=[1], keepdims=1))
    long = graph.add("Greater", norm, graph.number(NORM_KEPT))
    pulled = graph.add(
        "Div", graph.number(NORM_PULLED), graph.add("Max", norm, graph.number(NORM_KEPT))
    )
    factor = graph.add("Where", long, pulled, graph.number(1.0))
    shrink = graph.number(math.sqrt((1.0 - given.constant) * (1.0 + given.constant)))
    x = graph.add("Mul", x, graph.add("Mul", shrink, factor))
    if given.constant > 0.0:
        column = graph.add(
            "Add", graph.add("Mul", norm, graph.number(0.0)), graph.number(given.constant)
        )
        x = graph.add("Concat", x, column, axis=1)
    return x


def _map(graph: Graph, task: Task, rows: str) -> str:
    """((x − center)/scale)·components.

    A row that leaves the doubles becomes 0, unless the sample itself is not finite.
    """
    given = task.preprocessing
    x = rows
    if given.components is None:
        x = x if given.center is None else graph.add("Sub", x, graph.constant(given.center))
        x = x if given.scale is None else graph.add("Div", x, graph.constant(given.scale))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            weights = (
                given.components
                if given.scale is None
                else given.components / given.scale[:, np.newaxis]
            )
            offset = np.zeros(1) if given.center is None else given.center @ weights
        x = graph.add(
            "Sub", graph.add("MatMul", x, graph.constant(weights)), graph.constant(offset)
        )
    zero = graph.number(0.0)
    x = graph.add("Where", graph.add("Equal", _nan_unless_finite(graph, x), zero), x, zero)
    return graph.add("Add", x, _nan_unless_finite(graph, rows))


def _nan_unless_finite(graph: Graph, rows: str) -> str:
    """0 for rows of finite numbers, NaN for others."""
    return graph.add(
        "ReduceSum",
        graph.add("Mul", rows, graph.number(0.0)),
        graph.constant(np.array([1], dtype=np.int64)),
        keepdims=1,
    )


def _scores(graph: Graph, model: Model, features: str) -> str:
    """A column of scores per class."""
    if not isinstance(model, KernelModel):
        return graph.add("MatMul", features, graph.constant(_columns(model.linear.weights)))
    # The same steps as `compare_rows`.
    landmarks, weights = model.landmarks, _columns(model.weights)
    squares = np.einsum("ij,ij->i", landmarks, landmarks)
    near = graph.add("MatMul", features, graph.constant(2.0 * landmarks.T))
    near = graph.add("Sub", near, graph.add("ReduceSumSquare", features, axes=[1], keepdims=1))
    near = graph.add("Sub", near, graph.constant(squares))
    near = graph.add("Exp", graph.add("Min", near, graph.number(0.0)))
    return graph.add(
        "Add",
        graph.add("MatMul", near, graph.constant(weights[:-1])),
        graph.constant(weights[-1]),
    )


def _columns(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column of weights per class; of two classes the first scores zero."""
    return np.stack([np.zeros_like(weights), weights], axis=1) if weights.ndim == 1 else weights
