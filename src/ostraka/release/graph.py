"""Parts of an ONNX graph: operators, constants, and the inputs that a table's columns become."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Final

import numpy as np

from ostraka.public.columns import DAYS_PER_YEAR, FARTHEST, Category, Column, Number
from ostraka.public.entries import GAP, GAP_WORDS
from ostraka.public.task import Task

__all__ = ["Graph", "write_inputs"]

OPSET: Final = 17
ML, ML_OPSET = "ai.onnx.ml", 3
OUTPUTS: Final = ("label", "probabilities")


class Graph:
    """Nodes and constants, named as they come, apart from what people name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    @property
    def opsets(self) -> list[tuple[str, int]]:
        """The sets of operators that are used."""
        of_texts = any(node.domain == ML for node in self.nodes)
        return [("", OPSET), (ML, ML_OPSET)] if of_texts else [("", OPSET)]

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """One operator; gives the name of what it computes."""
        from onnx import helper

        name = output or f"ostraka/{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def number(self, value: float) -> str:
        """One double."""
        return self.constant(np.float64(value))

    def constant(self, value: Any) -> str:
        """An array of numbers or texts."""
        from onnx import TensorProto, helper, numpy_helper

        name = f"ostraka/constant_{len(self.constants)}"
        array = np.asarray(value)
        if array.dtype == object:
            tensor = helper.make_tensor(
                name, TensorProto.STRING, array.shape, [text.encode() for text in array.tolist()]
            )
        else:
            tensor = numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name


def write_inputs(graph: Graph, task: Task) -> tuple[list[Any], str]:
    """The inputs of a graph, and the name of the rows of numbers that it makes of them."""
    from onnx import TensorProto, helper

    if task.columns is None:
        shape = [None, task.n_columns]
        return [helper.make_tensor_value_info("samples", TensorProto.DOUBLE, shape)], "samples"
    inputs, encoded = [], []
    for column in task.columns.columns:
        name = _input_name(column)
        kind = TensorProto.STRING if isinstance(column, Category) else TensorProto.DOUBLE
        inputs.append(helper.make_tensor_value_info(name, kind, [None, 1]))
        write = _write_category if isinstance(column, Category) else _write_number
        encoded += write(graph, column, name)  # type: ignore[arg-type]
    return inputs, encoded[0] if len(encoded) == 1 else graph.add("Concat", *encoded, axis=1)


def _input_name(column: Column) -> str:
    """Its own; the names of the outputs are taken."""
    return f"column {column.name}" if column.name in OUTPUTS else column.name


def _write_category(graph: Graph, column: Category, given: str) -> list[str]:
    """1 in the column of its own value: places are looked up, and compared with 0, 1, 2, ..."""
    places = {form: place for place, value in enumerate(column.values) for form in _forms(value)}
    place = graph.add(
        "LabelEncoder",
        given,
        domain=ML,
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=-1,
    )
    own = graph.constant(np.arange(column.width, dtype=np.int64)[np.newaxis])
    return [_as_double(graph, graph.add("Equal", place, own))]


def _forms(value: str) -> list[str]:
    """The texts that are read as this one: gap words and truth values in any case, 3.0 for 3."""
    if value == GAP:
        return sorted({form for word in GAP_WORDS for form in _in_any_case(word)})
    if value in ("true", "false"):
        return _in_any_case(value)
    return [value, f"{value}.0"] if re.fullmatch(r"[+-]?\d+", value) else [value]


def _in_any_case(word: str) -> list[str]:
    pairs = ({letter.lower(), letter.upper()} for letter in word)
    return ["".join(letters) for letters in itertools.product(*map(sorted, pairs))]


def _write_number(graph: Graph, column: Number, given: str) -> list[str]:
    """The same steps as `Number.write`."""
    if column.fill is None:
        return [given]
    zero = graph.number(0.0)
    held = graph.add("Equal", graph.add("Mul", given, zero), zero)  # neither NaN nor infinite
    if column.kind == "boolean":
        one = graph.add("Equal", given, graph.number(1.0))
        held = graph.add("Or", one, graph.add("Equal", given, zero))
    for number in column.unknown:
        other = graph.add("Not", graph.add("Equal", given, graph.number(number)))
        held = graph.add("And", held, other)
    fill = graph.number(column.fill)
    x = graph.add("Where", held, given, fill)
    if column.kind == "date":
        x = graph.add("Div", graph.add("Sub", x, fill), graph.number(DAYS_PER_YEAR))
    elif column.unit is not None:
        x = _fold_tail(
            graph, graph.add("Div", graph.add("Sub", x, fill), graph.number(column.unit))
        )
    return [x, _as_double(graph, graph.add("Not", held))] if column.marks_gaps else [x]


def _fold_tail(graph: Graph, t: str) -> str:
    """As in `Columns`. Near a power of two the exponent may be found one off.

    The line is continuous there.
    """
    one, two = graph.number(1.0), graph.number(2.0)
    size = graph.add("Add", one, graph.add("Min", graph.add("Abs", t), graph.number(FARTHEST)))
    logarithm = graph.add("Div", graph.add("Log", size), graph.number(math.log(2.0)))
    exponent = graph.add("Add", graph.add("Floor", logarithm), one)
    mantissa = graph.add("Div", size, graph.add("Pow", two, exponent))
    line = graph.add("Sub", graph.add("Add", exponent, graph.add("Mul", two, mantissa)), two)
    return graph.add("Mul", graph.add("Sign", t), line)


def _as_double(graph: Graph, given: str) -> str:
    from onnx import TensorProto

    return graph.add("Cast", given, to=TensorProto.DOUBLE)
