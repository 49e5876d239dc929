"""Classifiers from files: the same votes as the original, and no harm to whoever opens them."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ostraka.errors import ClassifierFileError, FormatError, InputError, ParameterError, ShapeError
from ostraka.party.asking import ask_votes
from ostraka.party.training import onnx_process, skops_file
from ostraka.party.training.files import Limits, load_classifier, load_classifier_bytes
from ostraka.party.training.onnx_worker import (
    HEADER_BYTES,
    FrameHeader,
    Kind,
    Signature,
    array_of,
    text_of,
)
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import ClassIndex
from ostraka.public.preprocessing import Preprocessing

NAMES = ("elm", "fir", "oak")
NUMBERS = (-7, 0, 12)
TREE = "sklearn.tree._tree.Tree"
SHORT = Limits(seconds=2.0, memory_bytes=2**28)
IS_LINUX = sys.platform == "linux"


@pytest.fixture
def onnx() -> Any:
    if not IS_LINUX:
        pytest.skip("ONNX files run on Linux alone")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    return pytest.importorskip("onnx", reason="onnx is not installed")


@pytest.fixture
def skops_io() -> Any:
    return pytest.importorskip("skops.io", reason="skops is not installed")


def children() -> set[int]:
    """The processes that this one has started and that are not gone, zombies included."""
    if not IS_LINUX:
        return set()
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end between being listed and being asked.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= {int(child) for child in (task / "children").read_text("ascii").split()}
    return found


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    if not children() <= before:
        gc.collect()  # a caught exception can hold on to a classifier
    assert children() <= before


def worlds(classes: tuple[Any, ...]) -> tuple[Any, Any, AuxiliarySet]:
    """Three clouds, their labels, and an auxiliary set around them."""
    random = np.random.default_rng(5)
    index = np.arange(90) % 3
    samples = (random.normal(size=(90, 4)) + 1.5 * index[:, None] * [1.0, -1.0, 0.5, 0.0]).astype(
        np.float32
    )
    # Exact in float32, so that a float graph sees what the original sees.
    asked = (
        (random.normal(size=(300, 4)) * 2.0 + [1.5, -1.5, 0.7, 0.0])
        .astype(np.float32)
        .astype(np.float64)
    )
    return (
        samples,
        np.array(classes)[index],
        AuxiliarySet(asked, classes, preprocessing=Preprocessing(radius=10.0)),
    )


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "forest": lambda: RandomForestClassifier(n_estimators=10, random_state=0),
    "bayes": GaussianNB,
    "neighbours": lambda: KNeighborsClassifier(n_neighbors=3),
    "perceptron": lambda: MLPClassifier(
        hidden_layer_sizes=(8,), solver="lbfgs", max_iter=200, random_state=0
    ),
}


def votes_of(classifier: Any, auxiliary: AuxiliarySet, **options: Any) -> list[int]:
    index = ClassIndex(auxiliary.classes)
    votes = ask_votes(classifier, index, auxiliary.rows, auxiliary.n_samples, **options)
    return [int(vote) for vote in votes]


def fitted(model: Any, classes: tuple[Any, ...]) -> tuple[Any, AuxiliarySet]:
    samples, labels, auxiliary = worlds(classes)
    return model.fit(samples, labels), auxiliary


class TestOnnx:
    @pytest.mark.parametrize("classes", [NAMES, NUMBERS], ids=["texts", "integers"])
    @pytest.mark.parametrize("zipmap", [True, False], ids=["zipmap", "tensor"])
    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_votes_as_the_original(
        self, onnx: Any, tmp_path: Path, name: str, zipmap: bool, classes: tuple[Any, ...]
    ) -> None:
        skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        original, auxiliary = fitted(MODELS[name](), classes)
        graph = skl2onnx.to_onnx(
            original, np.zeros((1, 4), np.float32), options={id(original): {"zipmap": zipmap}}
        )
        with load_classifier(written(tmp_path, graph)) as classifier:
            assert votes_of(classifier, auxiliary) == votes_of(original, auxiliary)
            labels = classifier.predict(auxiliary.samples)
            probabilities = classifier.predict_proba(auxiliary.samples)
        assert labels.dtype.kind == ("U" if classes is NAMES else "i")
        np.testing.assert_allclose(
            probabilities, original.predict_proba(auxiliary.samples), atol=1e-4
        )

    def test_a_graph_in_double_precision_gets_doubles(self, onnx: Any, tmp_path: Path) -> None:
        skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        original, auxiliary = fitted(LogisticRegression(max_iter=1000), NAMES)
        path = written(
            tmp_path, skl2onnx.to_onnx(original, np.zeros((1, 4)), options={"zipmap": False})
        )
        with load_classifier(path) as classifier:
            np.testing.assert_allclose(
                classifier.predict_proba(auxiliary.samples),
                original.predict_proba(auxiliary.samples),
                atol=1e-12,
            )

    def test_a_graph_with_scores_alone_votes_for_the_highest(
        self, onnx: Any, tmp_path: Path
    ) -> None:
        samples = np.eye(4)[:, :3] * 0.5
        auxiliary = AuxiliarySet(samples, NAMES)
        with load_classifier(identity(onnx, tmp_path)) as classifier:
            assert not hasattr(classifier, "predict")
            assert votes_of(classifier, auxiliary) == [0, 1, 2, 0]

    def test_sparse_rows_and_many_parts_are_answered_in_order(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(onnx_process, "REQUEST_BYTES", 100)
        rows = scipy.sparse.random(50, 3, density=0.5, format="csr", rng=np.random.default_rng(1))
        with load_classifier(identity(onnx, tmp_path)) as classifier:
            np.testing.assert_array_equal(
                classifier.predict_proba(rows), rows.toarray().astype(np.float32)
            )
            np.testing.assert_array_equal(
                classifier.predict_proba(rows.toarray().tolist()), rows.toarray().astype(np.float32)
            )

    def test_threads_may_share_a_classifier(self, onnx: Any, tmp_path: Path) -> None:
        wrong = []
        with load_classifier(identity(onnx, tmp_path)) as classifier:

            def ask(value: float) -> None:
                wrong.extend(
                    value
                    for _ in range(50)
                    if (classifier.predict_proba(np.full((20, 3), value)) != value).any()
                )

            threads = [threading.Thread(target=ask, args=(value,)) for value in (1.0, 2.0, 3.0)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert not wrong

    @pytest.mark.parametrize(
        "rows", [np.zeros((2, 5)), np.zeros(3), np.zeros((0, 3))], ids=["columns", "vector", "none"]
    )
    def test_rows_of_another_shape_are_refused_and_it_lives_on(
        self, onnx: Any, tmp_path: Path, rows: Any
    ) -> None:
        with load_classifier(identity(onnx, tmp_path)) as classifier:
            with pytest.raises(ShapeError, match=r"a\.onnx"):
                classifier.predict_proba(rows)
            assert classifier.predict_proba(np.zeros((1, 3))).shape == (1, 3)

    def test_rows_of_words_are_refused(self, onnx: Any, tmp_path: Path) -> None:
        with (
            load_classifier(identity(onnx, tmp_path)) as classifier,
            pytest.raises(InputError, match="takes numbers alone"),
        ):
            classifier.predict_proba([["a", "b", "c"]])


class TestItsProcess:
    def test_ends_when_closed(self, onnx: Any, tmp_path: Path) -> None:
        classifier = load_classifier(identity(onnx, tmp_path))
        process = worker_pid(classifier)
        assert process in children()
        classifier.close()
        classifier.close()
        assert process not in children()
        with pytest.raises(ClassifierFileError, match="is closed") as caught:
            classifier.predict_proba(np.zeros((1, 3)))
        assert caught.value.cause == "closed"

    def test_ends_when_nothing_refers_to_it(self, onnx: Any, tmp_path: Path) -> None:
        gc.disable()
        try:
            classifier = load_classifier(identity(onnx, tmp_path))
            process = worker_pid(classifier)
            del classifier
            assert process not in children()
        finally:
            gc.enable()

    def test_has_given_up_files_and_the_environment(self, onnx: Any, tmp_path: Path) -> None:
        with load_classifier(identity(onnx, tmp_path), limits=SHORT) as classifier:
            place = Path("/proc") / str(worker_pid(classifier))
            limits = {
                line[:26].strip(): line[26:47].strip()
                for line in (place / "limits").read_text("ascii").splitlines()
            }
            environment = {
                line.split("=")[0]
                for line in (place / "environ").read_text("utf-8").split("\0")
                if line
            }
        assert [
            limits[name] for name in ("Max open files", "Max file size", "Max core file size")
        ] == ["0", "0", "0"]
        assert limits["Max cpu time"] in ("3", "4")
        assert 2**28 < int(limits["Max address space"]) < 2**30
        assert environment <= {
            "OPENBLAS_NUM_THREADS",
            "OMP_NUM_THREADS",
            "MKL_NUM_THREADS",
            "LD_LIBRARY_PATH",
            "LC_CTYPE",
        }

    # Newer Pythons warn about forks beside threads.
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_fork_of_the_caller_leaves_it_alone(self, onnx: Any, tmp_path: Path) -> None:
        with load_classifier(identity(onnx, tmp_path)) as classifier:
            child = fork_that_closes(classifier)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert classifier.predict_proba(np.ones((1, 3))).tolist() == [[1.0, 1.0, 1.0]]

    def test_outlives_a_caller_that_was_killed_by_seconds_at_most(
        self, onnx: Any, tmp_path: Path
    ) -> None:
        code = f"""
import numpy as np
from ostraka.party.training.files import Limits, load_classifier
classifier = load_classifier({str(endless(onnx, tmp_path))!r}, limits=Limits(seconds=1.0))
print(classifier.predict_proba.__self__._worker._process.pid, flush=True)
classifier.predict_proba(np.zeros((1, 3)))
"""
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        ) as caller:
            assert caller.stdout is not None
            worker = int(caller.stdout.readline())
            time.sleep(0.3)  # so that it is in the middle of its loop
            caller.kill()
        deadline = time.monotonic() + 10.0
        while is_running(worker) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not is_running(worker)

    def test_killed_between_requests(self, onnx: Any, tmp_path: Path) -> None:
        classifier = load_classifier(identity(onnx, tmp_path))
        os.kill(worker_pid(classifier), signal.SIGKILL)
        with pytest.raises(
            ClassifierFileError, match="crashed: its process ended with SIGKILL"
        ) as caught:
            classifier.predict_proba(np.zeros((1, 3)))
        assert caught.value.cause == "crash"

    def test_killed_in_the_midst_of_one(self, onnx: Any, tmp_path: Path) -> None:
        classifier = load_classifier(endless(onnx, tmp_path))
        killer = threading.Timer(0.5, os.kill, (worker_pid(classifier), signal.SIGKILL))
        killer.start()
        with pytest.raises(ClassifierFileError, match="SIGKILL"):
            classifier.predict_proba(np.zeros((1, 3)))
        killer.join()

    def test_nonsense_instead_of_an_answer(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            onnx_process,
            "WORKER",
            "import os; os.write(1, b'Hello, this is a library that likes to print.' * 9)",
        )
        with pytest.raises(ClassifierFileError, match="answers nonsense") as caught:
            load_classifier(identity(onnx, tmp_path))
        assert caught.value.cause == "answer"

    def test_an_answer_too_large_is_not_allocated(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        huge = FrameHeader(Kind.READY, np.dtype("<f8"), (2**40, 8)).to_bytes()
        monkeypatch.setattr(onnx_process, "WORKER", f"import os; os.write(1, {huge!r})")
        with pytest.raises(ClassifierFileError, match=r"answers nonsense.*70368744177664 bytes"):
            load_classifier(identity(onnx, tmp_path))

    def test_a_runtime_that_does_not_start_says_why(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = onnx_process.WORKER.replace(
            "main(float", "sys.modules['onnxruntime'] = None\nmain(float"
        )
        monkeypatch.setattr(onnx_process, "WORKER", broken)
        with pytest.raises(ImportError, match=r"onnxruntime does not start.*ostraka\[models\]"):
            load_classifier(identity(onnx, tmp_path))

    def test_processor_time_is_told_from_a_crash(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            onnx_process, "WORKER", "import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"
        )
        with pytest.raises(ClassifierFileError, match="processor time") as caught:
            load_classifier(identity(onnx, tmp_path))
        assert caught.value.cause == "time"


class TestHostileOnnx:
    @pytest.mark.parametrize(
        "kind", ["pickle", "text pickle", "empty", "random", "zeros", "half", "zip"]
    )
    def test_other_content_is_refused(self, onnx: Any, tmp_path: Path, kind: str) -> None:
        whole = identity(onnx, tmp_path).read_bytes()
        content, told = {
            "pickle": (pickle.dumps(Bomb(tmp_path)), "a pickle, which could run code"),
            "text pickle": (pickle.dumps(Bomb(tmp_path), protocol=0), "is a text"),
            "empty": (b"", "is empty"),
            "random": (np.random.default_rng(3).bytes(5000), "cannot be parsed"),
            "zeros": (bytes(100), "cannot be parsed"),
            "half": (whole[: len(whole) // 2], "cannot be parsed"),
            "zip": (zipped({"a": b"b"}), "a zip file"),
        }[kind]
        path = tmp_path / "a.onnx"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=told):
            load_classifier(path)
        assert not (tmp_path / "executed").exists()

    def test_operators_of_another_domain_are_refused(self, onnx: Any, tmp_path: Path) -> None:
        node = onnx.helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
        with pytest.raises(FormatError, match=r"operator domain 'com\.microsoft'"):
            load_classifier(saved(onnx, tmp_path, [node], domains=("com.microsoft",)))

    def test_also_in_a_subgraph(self, onnx: Any, tmp_path: Path) -> None:
        hidden = onnx.helper.make_node("Evil", ["v"], ["w"], domain="evil")
        with pytest.raises(FormatError, match="operator domain 'evil'"):
            load_classifier(endless(onnx, tmp_path, inside=hidden))

    def test_functions_of_its_own_are_refused(self, onnx: Any, tmp_path: Path) -> None:
        model = onnx.load(identity(onnx, tmp_path))
        model.functions.add(name="f", domain="ai.onnx")
        with pytest.raises(FormatError, match="functions of its own"):
            load_classifier(written(tmp_path, model))

    @pytest.mark.parametrize("place", ["initializer", "attribute", "sparse"])
    def test_external_data_is_refused(self, onnx: Any, tmp_path: Path, place: str) -> None:
        (tmp_path / "secret").write_bytes(bytes(12))
        outside = onnx.TensorProto(
            name="c", data_type=1, dims=[3], data_location=onnx.TensorProto.EXTERNAL
        )
        outside.external_data.add(key="location", value=str(tmp_path / "secret"))
        add = onnx.helper.make_node("Add", ["x", "c"], ["y"])
        if place == "initializer":
            path = saved(onnx, tmp_path, [add], [outside])
        elif place == "attribute":
            path = saved(
                onnx, tmp_path, [onnx.helper.make_node("Constant", [], ["c"], value=outside), add]
            )
        else:
            sparse = onnx.SparseTensorProto(values=outside, dims=[3])
            path = saved(
                onnx,
                tmp_path,
                [onnx.helper.make_node("Constant", [], ["c"], sparse_value=sparse), add],
            )
        with pytest.raises(FormatError, match="external data"):
            load_classifier(path)

    @pytest.mark.parametrize(
        "shape", [[10**11], [10**6, 10**6], [2**62, 3]], ids=["400 GB", "4 TB", "overflow"]
    )
    def test_enormous_constants_hit_the_bound_on_memory(
        self, onnx: Any, tmp_path: Path, shape: list[int]
    ) -> None:
        nodes = [onnx.helper.make_node("ConstantOfShape", ["n"], ["big"]), *added_maximum(onnx)]
        path = saved(onnx, tmp_path, nodes, [onnx.numpy_helper.from_array(np.array(shape), "n")])
        with pytest.raises((ClassifierFileError, FormatError)) as caught:
            load_classifier(path, limits=SHORT).predict_proba(np.zeros((1, 3)))
        if shape != [2**62, 3]:  # more bytes than fit into a number are an error of the graph
            assert caught.value.cause == "memory"  # type: ignore[union-attr]
            assert "needs more than 256 MiB of memory" in str(caught.value)

    def test_memory_that_depends_on_the_rows_hits_it_too(self, onnx: Any, tmp_path: Path) -> None:
        nodes = [onnx.helper.make_node("Tile", ["x", "times"], ["big"]), *added_maximum(onnx)]
        path = saved(
            onnx, tmp_path, nodes, [onnx.numpy_helper.from_array(np.array([10**4, 10**4]), "times")]
        )
        classifier = load_classifier(path, limits=SHORT)
        with pytest.raises(
            ClassifierFileError, match="needs more than 256 MiB of memory"
        ) as caught:
            classifier.predict_proba(np.ones((1, 3)))
        assert caught.value.cause == "memory"

    def test_messages_that_grow_when_parsed_hit_it_too(self, onnx: Any, tmp_path: Path) -> None:
        path = tmp_path / "a.onnx"
        nodes = b"\x0a\x00" * 2**23  # empty nodes of two bytes each
        path.write_bytes(b"\x08\x08" + b"\x3a" + varint(len(nodes)) + nodes)
        with pytest.raises(ClassifierFileError) as caught:
            load_classifier(path, limits=Limits(seconds=20.0, memory_bytes=2**28))
        assert caught.value.cause == "memory"

    def test_an_endless_loop_hits_the_bound_on_time(self, onnx: Any, tmp_path: Path) -> None:
        classifier = load_classifier(endless(onnx, tmp_path), limits=SHORT)
        started = time.monotonic()
        with pytest.raises(ClassifierFileError, match="did not answer within 2 s") as caught:
            classifier.predict_proba(np.zeros((1, 3)))
        assert time.monotonic() - started < 4.0
        assert caught.value.cause == "time"

    def test_answers_for_other_rows_than_asked_are_refused(self, onnx: Any, tmp_path: Path) -> None:
        node = onnx.helper.make_node("Tile", ["x", "twice"], ["y"])
        path = saved(
            onnx, tmp_path, [node], [onnx.numpy_helper.from_array(np.array([2, 1]), "twice")]
        )
        with pytest.raises(ClassifierFileError, match="answered 1 rows with an array of shape"):
            load_classifier(path).predict_proba(np.zeros((1, 3)))

    def test_a_graph_that_fails_says_why(self, onnx: Any, tmp_path: Path) -> None:
        nodes = [onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])]
        path = saved(
            onnx, tmp_path, nodes, [onnx.numpy_helper.from_array(np.array([7, 11]), "shape")]
        )
        with pytest.raises(ClassifierFileError, match=r"could not answer.*Reshape") as caught:
            load_classifier(path).predict_proba(np.zeros((1, 3)))
        assert caught.value.cause == "answer"

    @pytest.mark.parametrize(
        ("inputs", "outputs", "told"),
        [
            ([("x", 1, [5, 3])], [("y", 1, [5, 3])], "takes exactly 5 rows"),
            (
                [("x", 7, [None, 3])],
                [("y", 7, [None, 3])],
                r"one matrix \(N, d\) of float or double is needed",
            ),
            (
                [("x", 1, [None, 3]), ("z", 1, [None, 3])],
                [("y", 1, [None, 3])],
                "its inputs are x .*, z",
            ),
            (
                [("x", 1, [None, 3])],
                [("y", 1, [None, 3]), ("x", 1, [None, 3])],
                "labels .* are needed as the first output",
            ),
        ],
        ids=["fixed batch", "integers", "two inputs", "two matrices"],
    )
    def test_what_is_no_classifier_is_refused(
        self, onnx: Any, tmp_path: Path, inputs: Any, outputs: Any, told: str
    ) -> None:
        node = onnx.helper.make_node("Identity", ["x"], ["y"])
        with pytest.raises(FormatError, match=told):
            load_classifier(saved(onnx, tmp_path, [node], inputs=inputs, outputs=outputs))


class TestSkops:
    @pytest.mark.parametrize("scaled", [False, True], ids=["logistic", "pipeline"])
    def test_harmless_types_need_no_trust(
        self, skops_io: Any, tmp_path: Path, scaled: bool
    ) -> None:
        model = (
            make_pipeline(StandardScaler(), LogisticRegression())
            if scaled
            else LogisticRegression(max_iter=1000)
        )
        original, auxiliary = fitted(model, NAMES)
        skops_io.dump(original, tmp_path / "a.skops", compression=zipfile.ZIP_DEFLATED)
        with load_classifier(tmp_path / "a.skops") as classifier:
            assert votes_of(classifier, auxiliary) == votes_of(original, auxiliary)
            assert classifier.classes_.tolist() == list(NAMES)
            np.testing.assert_array_equal(
                classifier.predict_proba(auxiliary.samples),
                original.predict_proba(auxiliary.samples),
            )

    def test_other_types_are_refused_by_name_and_accepted_when_trusted(
        self, skops_io: Any, tmp_path: Path
    ) -> None:
        original, auxiliary = fitted(MODELS["forest"](), NUMBERS)
        skops_io.dump(original, tmp_path / "a.skops")
        with pytest.raises(
            FormatError, match=rf"not trusted: {TREE}\..*trusted=\['{TREE}'\].*Nothing was loaded"
        ):
            load_classifier(tmp_path / "a.skops")
        classifier = load_classifier(tmp_path / "a.skops", trusted=[TREE, "one.that.is.not.in.it"])
        assert votes_of(classifier, auxiliary) == votes_of(original, auxiliary)

    def test_a_sparse_matrix_inside_survives(self, skops_io: Any, tmp_path: Path) -> None:
        samples, labels, auxiliary = worlds(NAMES)
        original = KNeighborsClassifier(1).fit(scipy.sparse.csr_array(samples), labels)
        skops_io.dump(original, tmp_path / "a.skops")
        trusted = skops_io.get_untrusted_types(file=tmp_path / "a.skops")
        classifier = load_classifier(tmp_path / "a.skops", trusted=trusted)
        assert votes_of(classifier, auxiliary) == votes_of(original, auxiliary)

    def test_what_does_not_predict_is_refused(self, skops_io: Any, tmp_path: Path) -> None:
        skops_io.dump({"a": 1}, tmp_path / "a.skops")
        with pytest.raises(FormatError, match="of type dict, which does not predict"):
            load_classifier(tmp_path / "a.skops")

    @pytest.mark.parametrize(
        "trusted", [TREE, [3], [LogisticRegression]], ids=["text", "number", "type"]
    )
    def test_trust_is_a_list_of_names(self, skops_io: Any, tmp_path: Path, trusted: Any) -> None:
        skops_io.dump(LogisticRegression(), tmp_path / "a.skops")
        with pytest.raises(ParameterError, match="a list of type names"):
            load_classifier(tmp_path / "a.skops", trusted=trusted)

    @pytest.mark.parametrize(
        "kind",
        [
            "pickle",
            "text pickle",
            "empty",
            "random",
            "half",
            "other zip",
            "wide",
            "deep",
            "no json",
        ],
    )
    def test_other_content_is_refused(self, skops_io: Any, tmp_path: Path, kind: str) -> None:
        whole = skops_io.dumps(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
        content, told = {
            "pickle": (pickle.dumps(Bomb(tmp_path)), "a pickle, which could run code"),
            "text pickle": (pickle.dumps(Bomb(tmp_path), protocol=0), "is a text"),
            "empty": (b"", "is empty"),
            "random": (np.random.default_rng(3).bytes(5000), "no zip archive"),
            "half": (whole[: len(whole) // 2], "broken zip archive"),
            "other zip": (
                zipped({"data.pkl": pickle.dumps(Bomb(tmp_path))}),
                "without a schema.json",
            ),
            "wide": (zipped({"schema.json": b"[" * 10**6}), "more than 65536 objects"),
            "deep": (zipped({"schema.json": b"[" * 60_000}), "cannot be read"),
            "no json": (zipped({"schema.json": b"{"}), "cannot be read"),
        }[kind]
        path = tmp_path / "a.skops"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=told):
            load_classifier(path)
        assert not (tmp_path / "executed").exists()

    def test_a_bomb_is_refused_before_it_is_unpacked(self, skops_io: Any, tmp_path: Path) -> None:
        path = tmp_path / "a.skops"
        path.write_bytes(
            zipped({"schema.json": b"{}", "a.npy": bytes(2**25), "b.npy": bytes(2**25)})
        )
        assert path.stat().st_size < 2**18
        with pytest.raises(FormatError, match="would unpack to more than the 60000000 bytes"):
            load_classifier(path, limits=Limits(file_bytes=60_000_000))

    def test_a_bomb_inside_is_refused_too(self, skops_io: Any, tmp_path: Path) -> None:
        path = tmp_path / "a.skops"
        path.write_bytes(
            zipped({"schema.json": b"{}", "a.npz": zipped({"data.npy": bytes(2**25)})})
        )
        with pytest.raises(FormatError, match="would unpack to more"):
            load_classifier(path, limits=Limits(file_bytes=2**24))

    def test_a_bomb_that_lies_about_its_size_is_cut_while_it_is_unpacked(
        self, skops_io: Any
    ) -> None:
        content = bytes(0x02ABCDEF)
        lying = zipped({"schema.json": b"{}", "a.npy": content})
        for true, false in [(len(content), 100), (zlib.crc32(content), zlib.crc32(content[:100]))]:
            assert lying.count(true.to_bytes(4, "little")) == 2
            lying = lying.replace(true.to_bytes(4, "little"), false.to_bytes(4, "little"))
        tracemalloc.start()
        try:
            with pytest.raises(FormatError, match="cannot be read"):
                load_classifier_bytes(lying, "a.skops")
            assert tracemalloc.get_traced_memory()[1] < len(content) / 10
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
    def test_methods_without_a_bound_are_refused(
        self, skops_io: Any, tmp_path: Path, method: int
    ) -> None:
        path = tmp_path / "a.skops"
        path.write_bytes(zipped({"schema.json": b"{}"}, method))
        with pytest.raises(FormatError, match="another way than by deflate"):
            load_classifier(path)

    def test_too_many_entries_are_refused(
        self, skops_io: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ostraka.party.training.skops_file.ZIP_ENTRIES_BOUND", 10)
        path = tmp_path / "a.skops"
        path.write_bytes(zipped({"schema.json": b"{}"} | {str(i): b"" for i in range(10)}))
        with pytest.raises(FormatError, match="more than 10 entries"):
            load_classifier(path)

    def test_two_entries_of_one_name_are_refused(self, skops_io: Any, tmp_path: Path) -> None:
        path = tmp_path / "a.skops"
        path.write_bytes(
            zipped({"schema.json": b"{}", "schema.jsen": b"[]"}).replace(b"jsen", b"json")
        )
        with pytest.raises(FormatError, match="two entries of the same name"):
            load_classifier(path)


class TestSchemas:
    """What reading a skops file takes: bounded, whatever a small file unpacks to."""

    @pytest.mark.skipif(not IS_LINUX, reason="asks /proc for the memory")
    @pytest.mark.parametrize(
        "kind",
        [
            "keys",
            "numbers",
            "letters",
            "escapes",
            "lists",
            "arrays",
            "types",
            "functions",
            "forest",
            "texts",
        ],
    )
    def test_the_worst_that_passes_takes_less_than_300_megabytes(
        self, skops_io: Any, tmp_path: Path, kind: str
    ) -> None:
        path = tmp_path / "a.skops"
        path.write_bytes(zipped({"schema.json": worst_schemas()[kind].encode(), "x": b"x"}))
        assert path.stat().st_size < 2**21
        code = f"""
import skops.io
from pathlib import Path
from ostraka.errors import FormatError
from ostraka.party.training.files import load_classifier

def kilobytes(what):  # of this program alone: resource counts what the caller had, too
    return int(Path("/proc/self/status").read_text().split(what + ":")[1].split()[0])

before = kilobytes("VmRSS")
try:
    load_classifier({str(path)!r})
except FormatError as error:
    print(error)
print((kilobytes("VmHWM") - before) // 1000)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        told, megabytes = done.stdout.splitlines()
        assert any(
            text in told for text in ("cannot be read", "not trusted", "does not predict")
        ), "it got as far as skops"
        assert int(megabytes) < 300

    @pytest.mark.parametrize(
        ("schema", "told"),
        [
            ("[" + "[]," * 2**16 + "[]]", "more than 65536 objects"),
            ("[" + "0," * 2**18 + "0," * 9 + "0]", "262144 values"),
            ('["' + " " * 2**24 + '"]', "without a schema.json of 1 to 16777216 bytes"),
        ],
        ids=["objects", "values", "bytes"],
    )
    def test_more_is_refused_before_it_is_parsed(
        self, skops_io: Any, monkeypatch: pytest.MonkeyPatch, schema: str, told: str
    ) -> None:
        monkeypatch.setattr("json.loads", None)
        with pytest.raises(FormatError, match=told):
            load_classifier_bytes(zipped({"schema.json": schema.encode()}), "a.skops")

    def test_more_nodes_with_long_lists_are_refused(self, skops_io: Any) -> None:
        with pytest.raises(
            FormatError,
            match="8193 objects of other types than containers and numbers; 8192 are allowed",
        ):
            load_classifier_bytes(
                zipped({"schema.json": listed(*[node("Function")] * 8193).encode()}), "a.skops"
            )

    def test_losses_inside_losses_are_refused(self, skops_io: Any) -> None:
        """skops hands a longer and longer list of names down from each to the next."""
        deep = node("Json", content='""')
        for _ in range(100):
            deep = node(
                "Loss",
                content=Raw(deep),
                __reduce__=Raw(f'{{"args": {node("Json", content="[]")}}}'),
            )
        with pytest.raises(FormatError, match="a loss function stands inside another"):
            load_classifier_bytes(zipped({"schema.json": listed(deep).encode()}), "a.skops")

    def test_an_array_that_is_read_again_and_again_is_counted_so(self, skops_io: Any) -> None:
        many = listed(*[node("NdArray", type="numpy", file="x")] * 300)
        with pytest.raises(FormatError, match="asks for 300000000 bytes of its arrays"):
            load_classifier_bytes(
                zipped({"schema.json": many.encode(), "x": bytes(10**6)}), "a.skops"
            )

    def test_bytes_that_become_a_list_of_numbers_are_counted_so(self, skops_io: Any) -> None:
        one = listed(node("Bytearray", file="x"))
        with pytest.raises(FormatError, match="asks for 360000000 bytes"):
            load_classifier_bytes(
                zipped({"schema.json": one.encode(), "x": bytes(4 * 10**7)}), "a.skops"
            )

    def test_names_that_would_be_followed_billions_of_times_are_refused(
        self, skops_io: Any
    ) -> None:
        """Each list holds the one before it twice: sixty of them are 2^60 visits."""
        nested = [node("List", content=[], __id__=1)]
        for name in range(2, 60):
            inner = [Raw(node("List", content=[], __id__=name - 1))] * 2
            nested.append(node("List", content=inner, __id__=name))
        started = time.monotonic()
        with pytest.raises(FormatError, match="two different objects have the same __id__"):
            load_classifier_bytes(zipped({"schema.json": listed(*nested).encode()}), "a.skops")
        assert time.monotonic() - started < 10.0

    @pytest.mark.parametrize(
        ("model", "n_classes"),
        [
            (RandomForestClassifier(100, random_state=0), 3),
            (GradientBoostingClassifier(n_estimators=200, max_depth=2, random_state=0), 2),
            (GradientBoostingClassifier(n_estimators=200, max_depth=2, random_state=0), 3),
            (make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2)), 3),
        ],
        ids=["forest", "boosting", "boosting of three classes", "search"],
    )
    def test_real_classifiers_are_far_from_the_bounds(
        self, skops_io: Any, model: Any, n_classes: int
    ) -> None:
        random = np.random.default_rng(0)
        samples, labels = random.normal(size=(300, 4)), random.integers(0, n_classes, 300)
        content = skops_io.dumps(model.fit(samples, labels), compression=zipfile.ZIP_DEFLATED)
        trusted = skops_io.get_untrusted_types(data=content)
        classifier = load_classifier_bytes(content, "a.skops", trusted=trusted)
        assert classifier.predict(samples).tolist() == model.predict(samples).tolist()


class TestBytes:
    """A classifier that came inside another file: the same checks."""

    def test_is_asked_like_one_from_a_file(self, onnx: Any, skops_io: Any, tmp_path: Path) -> None:
        original, auxiliary = fitted(LogisticRegression(max_iter=1000), NAMES)
        with load_classifier_bytes(skops_io.dumps(original), "Ward 3.SKOPS") as classifier:
            assert votes_of(classifier, auxiliary) == votes_of(original, auxiliary)
            assert repr(classifier) == "LoadedClassifier('Ward 3.SKOPS')"
        with load_classifier_bytes(identity(onnx, tmp_path).read_bytes(), "a.onnx") as classifier:
            assert classifier.predict_proba(np.ones((1, 3))).tolist() == [[1.0, 1.0, 1.0]]

    @pytest.mark.parametrize(
        ("content", "name", "told"),
        [
            (b"", "a.onnx", "a.onnx is empty"),
            (b"", "a.skops", "a.skops is empty"),
            (b"x" * 11, "a.skops", "has 11 bytes, more than 10"),
            (b"x", "a.pkl", r"a\.pkl does not end in .*never opened"),
            (b"x", "skops", "never opened"),
            (b"\x80\x04", "a.skops", "a pickle, which could run code"),
        ],
    )
    def test_others_are_refused(self, skops_io: Any, content: bytes, name: str, told: str) -> None:
        with pytest.raises(FormatError, match=told):
            load_classifier_bytes(content, name, limits=Limits(file_bytes=10))

    def test_trust_is_asked_for_here_too(self, skops_io: Any) -> None:
        original, _ = fitted(MODELS["forest"](), NUMBERS)
        with pytest.raises(FormatError, match="not trusted"):
            load_classifier_bytes(skops_io.dumps(original), "a.skops")
        with pytest.raises(ParameterError, match="a list of type names"):
            load_classifier_bytes(skops_io.dumps(original), "a.skops", trusted=TREE)


class TestAFailureStaysWithItsSample:
    """A graph that fails on one private sample answers about the next one, from a new process."""

    def test_and_the_next_one_is_answered(self, onnx: Any, tmp_path: Path) -> None:
        with load_classifier(failing_on_some(onnx, tmp_path)) as classifier:
            rows = np.array([[0.0, 1.0, 2.0], [7.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
            auxiliary = AuxiliarySet(rows / 8.0, NAMES)
            index = ClassIndex(auxiliary.classes)
            asked = {"rows": lambda i, j: rows[i:j], "n_samples": 3, "chunk_rows": 1}
            assert ask_votes(classifier, index, fallback=2, **asked).tolist() == [0, 2, 1]
            first = worker_pid(classifier)
            with pytest.raises(ClassifierFileError, match="could not answer"):
                ask_votes(classifier, index, **asked)
            assert ask_votes(
                classifier, index, fallback=0, **{**asked, "n_samples": 1}
            ).tolist() == [0]
            assert worker_pid(classifier) != first
        with pytest.raises(ClassifierFileError, match="is closed"):
            classifier.predict_proba(rows[:1])

    def test_also_after_a_crash_and_after_too_much_time(self, onnx: Any, tmp_path: Path) -> None:
        with load_classifier(identity(onnx, tmp_path)) as classifier:
            os.kill(worker_pid(classifier), signal.SIGKILL)
            with pytest.raises(ClassifierFileError, match="SIGKILL"):
                classifier.predict_proba(np.zeros((1, 3)))
            assert classifier.predict_proba(np.ones((1, 3))).tolist() == [[1.0, 1.0, 1.0]]
        with load_classifier(endless(onnx, tmp_path), limits=Limits(seconds=1.0)) as classifier:
            for _ in range(2):
                with pytest.raises(ClassifierFileError, match="did not answer within 1 s"):
                    classifier.predict_proba(np.zeros((1, 3)))

    def test_mutant_that_stays_closed(
        self, onnx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without it, one sample takes all later votes with it."""
        monkeypatch.setattr(onnx_process.OnnxModel, "_running", lambda model: model._worker)
        rows = np.array([[7.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
        with load_classifier(failing_on_some(onnx, tmp_path)) as classifier:
            votes = ask_votes(
                classifier, ClassIndex(NAMES), lambda i, j: rows[i:j], 2, chunk_rows=1, fallback=2
            )
        assert votes.tolist() == [2, 2]


class TestAnyFile:
    def test_the_pickles_of_these_tests_would_leave_a_trace(self, tmp_path: Path) -> None:
        pickle.loads(pickle.dumps(Bomb(tmp_path)))
        assert (tmp_path / "executed").exists()

    @pytest.mark.parametrize("name", ["a.pkl", "a.joblib", "a", "a.onnx.pkl", "a.pt"])
    def test_other_names_are_never_opened(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FormatError, match="never opened"):
            load_classifier(tmp_path / name)  # it does not even exist

    @pytest.mark.parametrize("name", ["a.onnx", "a.skops"])
    def test_a_file_that_is_too_large_is_not_read(self, tmp_path: Path, name: str) -> None:
        with (tmp_path / name).open("wb") as file:
            file.truncate(2**33)  # a hole, which takes no space on the disk
        with pytest.raises(FormatError, match="8589934592 bytes, more than 268435456"):
            load_classifier(tmp_path / name)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    @pytest.mark.parametrize("name", ["a.onnx", "a.skops"])
    def test_a_pipe_is_refused_without_waiting(self, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / name)
        with pytest.raises(FormatError, match="not a regular file"):
            load_classifier(tmp_path / name)

    @pytest.mark.skipif(not IS_LINUX, reason="these are Linux's own")
    def test_devices_and_folders_are_refused_too(self, tmp_path: Path) -> None:
        (tmp_path / "a.onnx").symlink_to("/dev/zero")
        with pytest.raises(FormatError, match="not a regular file"):
            load_classifier(tmp_path / "a.onnx")
        (tmp_path / "b.skops").mkdir()
        with pytest.raises(IsADirectoryError):
            load_classifier(tmp_path / "b.skops")

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            load_classifier(tmp_path / "a.onnx")

    @pytest.mark.parametrize(
        ("name", "package"),
        [("a.onnx", "onnxruntime"), ("a.onnx", "onnx"), ("a.skops", "skops.io")],
    )
    def test_a_missing_package_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setattr(sys, "platform", "linux")
        (tmp_path / name).write_bytes(b"?")
        with pytest.raises(
            ImportError, match=rf"needs .*{package.split('.')[0]}.*pip install 'ostraka\[models\]'"
        ):
            load_classifier(tmp_path / name)

    def test_onnx_elsewhere_than_on_linux_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "platform", "win32")
        (tmp_path / "a.onnx").write_bytes(b"?")
        with pytest.raises(InputError, match="which only Linux keeps"):
            load_classifier(tmp_path / "a.onnx")


class TestLimits:
    def test_defaults(self) -> None:
        assert (Limits().seconds, Limits().memory_bytes, Limits().file_bytes) == (
            60.0,
            2 * 2**30,
            256 * 2**20,
        )

    @pytest.mark.parametrize(
        "wrong",
        [
            {"seconds": 0.0},
            {"seconds": float("nan")},
            {"memory_bytes": 1},
            {"memory_bytes": 2.5e9},
            {"file_bytes": 0},
        ],
        ids=str,
    )
    def test_wrong_values_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Limits(**wrong)


class TestFrames:
    @pytest.mark.parametrize("dtype", ["u1", "<f4", "<f8", "<i8", "<U7"])
    @pytest.mark.parametrize("shape", [(3,), (2, 5)])
    def test_a_header_comes_back(self, dtype: str, shape: tuple[int, ...]) -> None:
        header = FrameHeader(Kind.ANSWER, np.dtype(dtype), shape)
        assert FrameHeader.from_bytes(header.to_bytes(), bytes_bound=header.n_bytes) == header
        with pytest.raises(FormatError, match="are announced"):
            FrameHeader.from_bytes(header.to_bytes(), bytes_bound=header.n_bytes - 1)

    def test_no_bytes_make_it_stumble(self) -> None:
        random = np.random.default_rng(7)
        good = FrameHeader(Kind.ANSWER, np.dtype("<U7"), (3, 4)).to_bytes()
        for _ in range(3000):
            forged = bytearray(good)
            for place in random.integers(HEADER_BYTES, size=3):
                forged[place] = random.integers(256)
            try:
                header = FrameHeader.from_bytes(bytes(forged), bytes_bound=2**20)
            except FormatError:
                continue
            assert header.n_bytes <= 2**20

    @pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800])
    def test_text_that_is_not_unicode_is_refused(self, point: int) -> None:
        header = FrameHeader(Kind.ANSWER, np.dtype("<U1"), (1,))
        with pytest.raises(FormatError, match="not Unicode"):
            array_of(header, bytearray(point.to_bytes(4, "little")))

    @pytest.mark.parametrize(
        "array",
        [[4, 3, 1], [5, 3, 1, 0], [4, -2, 1, 0], [4, 3, 0, 0], [4.0, 3.0, 1.0, 0.0]],
        ids=str,
    )
    def test_a_signature_of_another_form_is_refused(self, array: list[Any]) -> None:
        with pytest.raises(FormatError, match="signature"):
            Signature.from_array(np.array(array))

    def test_messages_are_short_and_printable(self) -> None:
        assert text_of(np.frombuffer(b"a\x1b[2J\xffb." + b"c" * 10_000, np.uint8)).startswith(
            "a [2J�b.ccc"
        )
        assert len(text_of(np.full(10_000, 65, np.uint8))) == 500


class Bomb:
    """A pickle that leaves a trace when it is opened."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return (Path.touch, (self.place / "executed",))


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return archive.getvalue()


class Raw(str):
    """JSON as it stands."""


def json_of(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, list):
        return "[" + ",".join(json_of(each) for each in value) + "]"
    return json.dumps(value)


def node(kind: str, **parts: Any) -> str:
    """What skops writes for an object, in as few bytes as it reads."""
    all_parts = {"__class__": "a", "__module__": "b", "__loader__": f"{kind}Node", **parts}
    return "{" + ",".join(f'"{name}":{json_of(value)}' for name, value in all_parts.items()) + "}"


def listed(*nodes: str) -> str:
    """A whole schema: a list of these."""
    from skops.io._protocol import PROTOCOL

    return node(
        "List", content=[Raw(each) for each in nodes], protocol=PROTOCOL, _skops_version="0"
    )


def worst_schemas() -> dict[str, str]:
    """As much as the bounds allow, of each thing that takes more memory than bytes."""
    objects, values = skops_file.SCHEMA_OBJECTS_BOUND - 20, skops_file.SCHEMA_VALUES_BOUND - 20
    empty = node("Json", content='""')
    return {
        "keys": "{" + ",".join(f'"{i:07d}{"k" * 16}":"{"v" * 28}"' for i in range(values)) + "}",
        "numbers": "[" + ",".join(f'{{"{i:x}":9e9}}' for i in range(objects)) + "]",
        "letters": '["\U0001f600' + " " * (skops_file.SCHEMA_BYTES_BOUND - 9) + '"]',
        "escapes": listed(
            node("Json", content=Raw('"[' + r"\u002c".join([r"\u007b\u007d"] * 900_000) + ']"'))
        ),
        "lists": listed(*[node("List", content=[])] * (objects // 2)),
        "arrays": listed(*[node("NdArray", type="numpy", file="x")] * (values // 5)),
        "types": listed(*[node("Type")] * objects),
        "functions": listed(*[node("Function")] * (skops_file.HEAVY_NODES_BOUND - 1)),
        "forest": listed(
            *[node("Tree", content=Raw(empty), __reduce__=Raw(f'{{"args":{empty}}}'))]
            * (skops_file.HEAVY_NODES_BOUND - 1)
        ),
        "texts": listed(*[node("Json", content=json.dumps("z" * 150))] * (values // 5)),
    }


def failing_on_some(onnx: Any, place: Path) -> Path:
    """Picks one of three columns by the first number of the first row: fails if it is 3 or more."""
    helper = onnx.helper
    nodes = [
        helper.make_node("Gather", ["x", "zero"], ["column"], axis=1),
        helper.make_node("Cast", ["column"], ["index"], to=7),
        helper.make_node("Gather", ["eye", "index"], ["picked"], axis=0),
        helper.make_node("Reshape", ["picked", "shape"], ["y"]),
    ]
    constants = {
        "zero": np.array(0),
        "eye": np.eye(3, dtype=np.float32),
        "shape": np.array([-1, 3]),
    }
    return saved(
        onnx,
        place,
        nodes,
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )


def varint(number: int) -> bytes:
    low = bytes([number & 127 | 128 * (number > 127)])
    return low + (varint(number >> 7) if number > 127 else b"")


def written(place: Path, model: Any) -> Path:
    path = place / "a.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def saved(
    onnx: Any,
    place: Path,
    nodes: list[Any],
    constants: list[Any] | None = None,
    *,
    inputs: Any = (("x", 1, [None, 3]),),
    outputs: Any = (("y", 1, [None, None]),),
    domains: tuple[str, ...] = (),
) -> Path:
    """A graph from x to y; 1 is float, 7 is int64."""
    described = [
        [onnx.helper.make_tensor_value_info(*each) for each in some] for some in (inputs, outputs)
    ]
    graph = onnx.helper.make_graph(nodes, "g", *described, constants or [])
    opsets = [
        onnx.helper.make_opsetid("", 17),
        *(onnx.helper.make_opsetid(domain, 1) for domain in domains),
    ]
    return written(place, onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8))


def identity(onnx: Any, place: Path) -> Path:
    return saved(onnx, place, [onnx.helper.make_node("Identity", ["x"], ["y"])])


def added_maximum(onnx: Any) -> list[Any]:
    """Nodes that need all of "big" for the answer."""
    return [
        onnx.helper.make_node("ReduceMax", ["big"], ["top"], keepdims=0),
        onnx.helper.make_node("Add", ["x", "top"], ["y"]),
    ]


def endless(onnx: Any, place: Path, inside: Any = None) -> Path:
    """A loop of 2^62 rounds."""
    helper = onnx.helper
    body = helper.make_graph(
        [
            inside or helper.make_node("Sin", ["v"], ["w"]),
            helper.make_node("Identity", ["on"], ["still"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", 7, []),
            helper.make_tensor_value_info("on", 9, []),
            helper.make_tensor_value_info("v", 1, None),
        ],
        [
            helper.make_tensor_value_info("still", 9, []),
            helper.make_tensor_value_info("w", 1, None),
        ],
    )
    constants = [
        onnx.numpy_helper.from_array(np.array(2**62), "rounds"),
        onnx.numpy_helper.from_array(np.array(True), "yes"),
    ]
    return saved(
        onnx, place, [helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], body=body)], constants
    )


def worker_pid(classifier: Any) -> int:
    asked = getattr(classifier, "predict_proba", None) or classifier.predict
    return int(asked.__self__._worker._process.pid)


def is_running(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def fork_that_closes(classifier: Any) -> int:
    """A forked child in which the classifier refuses to answer and closing it does nothing."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        classifier.predict_proba(np.zeros((1, 3)))
    except ClassifierFileError as error:
        classifier.close()
        code = int("belongs to the process that loaded it" not in str(error))
    finally:
        os._exit(code)
