"""A release as an ONNX graph: the public preprocessing, the linear model, and the certificate in the metadata.

The graph uses plain operators in double precision, in the order of `Preprocessing`, so that it predicts what `Release.predict` predicts.
Input `samples` (N, columns); outputs `label` (N,) and `probabilities` (N, K).

Not covered: another sum order may round scores that differ by less than about 1e-15 the other way. A graph cannot refuse: where
`Release.predict` raises because a sample holds NaN or infinity, the probabilities of that sample are NaN and its label means nothing.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ostraka.errors import RehearsalError
from ostraka.public.preprocessing import NORM_KEPT, NORM_PULLED, SQUARES_FIT
from ostraka.public.task import Task
from ostraka.release import Release

__all__ = ["to_onnx"]

OPSET = 17


def to_onnx(release: Release) -> bytes:
    """The release as the bytes of an ONNX model."""
    import onnx
    from onnx import TensorProto, helper

    if not isinstance(release, Release):
        raise RehearsalError
    graph = _Graph()
    scores = graph.add(
        "MatMul", _features(graph, release.model.task), graph.constant(_columns(release))
    )
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
            [
                helper.make_tensor_value_info(
                    "samples", TensorProto.DOUBLE, [None, release.model.task.n_columns]
                )
            ],
            [
                helper.make_tensor_value_info("label", kind, [None]),
                helper.make_tensor_value_info(
                    "probabilities", TensorProto.DOUBLE, [None, len(names)]
                ),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="ostraka",
        ir_version=8,
    )
    described = {
        "ostraka.certificate": release.certificate.to_json(),
        "ostraka.feature_names": json.dumps(release.model.task.feature_names),
    }
    helper.set_model_props(model, described)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _features(graph: _Graph, task: Task) -> str:
    """The same steps as `Preprocessing`: centre, scale, project, divide, clip, append the constant."""
    given = task.preprocessing
    x = _mapped(graph, task) if given.arrays() else "samples"
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


def _mapped(graph: _Graph, task: Task) -> str:
    """((x − center)/scale)·components; a row that leaves the doubles becomes 0, unless the sample itself is not finite."""
    given = task.preprocessing
    x = "samples"
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
    return graph.add("Add", x, _nan_unless_finite(graph, "samples"))


def _nan_unless_finite(graph: _Graph, rows: str) -> str:
    """0 for rows of finite numbers, NaN for others."""
    return graph.add(
        "ReduceSum",
        graph.add("Mul", rows, graph.number(0.0)),
        graph.constant(np.array([1], dtype=np.int64)),
        keepdims=1,
    )


def _columns(release: Release) -> Any:
    """A column of weights per class; of two classes the first scores zero."""
    weights = release.model.weights
    return np.stack([np.zeros_like(weights), weights], axis=1) if weights.ndim == 1 else weights


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.float64(value))

    def constant(self, value: Any) -> str:
        from onnx import TensorProto, helper, numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.asarray(value)
        if array.dtype == object:
            tensor = helper.make_tensor(
                name, TensorProto.STRING, array.shape, [text.encode() for text in array.tolist()]
            )
        else:
            tensor = numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name
