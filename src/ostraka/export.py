"""A release as an ONNX graph: the public preprocessing, the linear model, and the certificate in the metadata.

The graph uses plain operators in double precision, so that it predicts what `Release.predict` predicts. Input `samples` (N, columns);
outputs `label` (N,) and `probabilities` (N, K).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ostraka.model import Task
from ostraka.preprocessing import NORM_KEPT, NORM_PULLED
from ostraka.release import Release

__all__ = ["to_onnx"]

OPSET = 17


def to_onnx(release: Release) -> bytes:
    """The release as the bytes of an ONNX model."""
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph()
    scores = graph.add("MatMul", _features(graph, release.model.task), graph.constant(_columns(release)))
    graph.add("Softmax", scores, axis=1, output="probabilities")
    # Of equal scores the second class wins if there are two, the first if there are more.
    last = int(len(release.model.task.classes) == 2)
    index = graph.add("ArgMax", scores, axis=1, keepdims=0, select_last_index=last)
    names = release.model.task.classes
    of_texts = isinstance(names[0], str)
    graph.add("Gather", graph.constant(np.array(names, dtype=object if of_texts else np.int64)), index, output="label")
    kind = TensorProto.STRING if of_texts else TensorProto.INT64
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "ostraka",
            [helper.make_tensor_value_info("samples", TensorProto.DOUBLE, [None, release.model.task.n_columns])],
            [
                helper.make_tensor_value_info("label", kind, [None]),
                helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, [None, len(names)]),
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
    x = "samples"
    if given.center is not None:
        x = graph.add("Sub", x, graph.constant(given.center))
    if given.scale is not None:
        x = graph.add("Div", x, graph.constant(given.scale))
    if given.components is not None:
        x = graph.add("MatMul", x, graph.constant(given.components))
    x = graph.add("Div", x, graph.constant(np.float64(given.radius)))
    squared = graph.add("ReduceSumSquare", x, axes=[1], keepdims=1)
    norm = graph.add("Sqrt", squared)
    long = graph.add("Greater", norm, graph.constant(np.float64(NORM_KEPT)))
    pulled = graph.add("Div", graph.constant(np.float64(NORM_PULLED)), graph.add("Max", norm, graph.constant(np.float64(1e-300))))
    factor = graph.add("Where", long, pulled, graph.constant(np.float64(1.0)))
    shrink = np.sqrt((1.0 - given.constant) * (1.0 + given.constant))
    x = graph.add("Mul", x, graph.add("Mul", factor, graph.constant(np.float64(shrink))))
    if given.constant > 0.0:
        column = graph.add("Add", graph.add("Mul", norm, graph.constant(np.float64(0.0))), graph.constant(np.float64(given.constant)))
        x = graph.add("Concat", x, column, axis=1)
    return x


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

    def constant(self, value: Any) -> str:
        from onnx import TensorProto, helper, numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.asarray(value)
        if array.dtype == object:
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, [text.encode() for text in array.tolist()])
        else:
            tensor = numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name
