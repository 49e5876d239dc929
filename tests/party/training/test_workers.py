"""Who works, and how many, changes nothing; and nothing of anybody's rows is seen meanwhile."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ostraka.party import asking
from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties
from ostraka.party.training import votes, workers
from ostraka.party.training.votes import count_linear_votes, count_votes, linear_parameters

N_COLUMNS = 3
FEATURES = np.random.default_rng(0).uniform(-0.5, 0.5, (25, N_COLUMNS))


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PARALLEL_FROM", 2)


def many(seed: int = 1, n_parties: int = 120) -> Parties:
    """More than there are batches, so that a worker trains several in a row."""
    rng = np.random.default_rng(seed)
    rows, labels = (
        rng.uniform(-0.5, 0.5, (4 * n_parties, N_COLUMNS)),
        rng.integers(0, 3, 4 * n_parties),
    )
    return Parties.group(rows, labels, np.arange(4 * n_parties) % n_parties)


def drawing_templates() -> list[Any]:
    """Everything that draws from a stream which threads share.

    Made here, because functions of a test module cannot be imported in workers; joblib sends those
    that are made within a function by value.
    """

    def from_python(rows: Any, labels: Any) -> Any:
        import random
        import time

        random.random()
        time.sleep(0.001)  # whoever shares the stream draws now
        drawn = random.random()
        return lambda samples: [int(2 * (drawn + random.random())) % 2 for _ in samples]

    def from_numpy(rows: Any, labels: Any) -> Any:
        import time

        import numpy as np

        np.random.random()  # noqa: NPY002
        time.sleep(0.001)
        drawn = np.random.random()  # noqa: NPY002
        return lambda samples: (
            ((drawn + np.random.random(len(samples))) * 2).astype(int) % 2  # noqa: NPY002
        )

    return [
        from_python,
        from_numpy,
        RandomForestClassifier(2),
        DecisionTreeClassifier(max_features=1),
    ]


def counted(parties: Parties, templates: Any, n_jobs: int | None = 1, **options: Any) -> np.ndarray:
    batches = list(count_votes(parties, FEATURES, 3, templates, n_jobs=n_jobs, **options))
    assert [name for names, _ in batches for name in names] == parties.names, "in order"
    return np.sum([counts for _, counts in batches], axis=0)


EXPECTED = [counted(many(seed), drawing_templates()) for seed in (1, 2)]


class TestSameCounts:
    @pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, None])
    def test_for_any_number_of_processes(self, n_jobs: int | None) -> None:
        assert (counted(many(), drawing_templates(), n_jobs) == EXPECTED[0]).all()

    @pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
    def test_under_any_backend(self, backend: str) -> None:
        with parallel_config(backend, n_jobs=2):
            for n_jobs in (2, None):
                assert (counted(many(), drawing_templates(), n_jobs) == EXPECTED[0]).all()

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of forks
    def test_under_one_that_gives_all_at_the_end(self) -> None:
        """As multiprocessing does, which forks with whatever locks are held, and ray."""
        templates = drawing_templates()[2:]  # it sends nothing by value
        with parallel_config("multiprocessing", n_jobs=2):
            assert (counted(many(), templates, 2) == counted(many(), templates)).all()

    def test_within_somebody_elses_threads(self) -> None:
        """Without it, two fits side by side would change each other's votes."""
        calls = [delayed(counted)(many(seed), drawing_templates(), 2) for seed in (1, 2)]
        for n_jobs in (2, 1):
            found = Parallel(n_jobs=n_jobs, backend="threading")(calls)
            assert all((counts == expected).all() for counts, expected in zip(found, EXPECTED))

    def test_in_threads_of_their_own(self) -> None:
        assert side_by_side() == [True, True]

    def test_within_somebody_elses_processes(self) -> None:
        # The work goes by value: workers cannot import this module.
        features = FEATURES

        def fit(parties: Parties, templates: Any) -> Any:
            import numpy as np

            from ostraka.party.training import workers
            from ostraka.party.training.votes import count_votes

            workers.PARALLEL_FROM = 2
            batches = count_votes(parties, features, 3, templates, n_jobs=2)
            return np.sum([counts for _, counts in batches], axis=0)

        calls = [delayed(fit)(many(seed), drawing_templates()) for seed in (1, 2)]
        found = Parallel(n_jobs=2, backend="loky")(calls)
        assert all((counts == expected).all() for counts, expected in zip(found, EXPECTED))

    def test_where_the_first_batch_is_asked_for_elsewhere(self) -> None:
        """Begun where processes may work, asked for among threads: then there are none."""
        found = []
        for seed in (1, 2):
            batches = count_votes(many(seed), FEATURES, 3, drawing_templates(), n_jobs=2)
            found.append(delayed(list)(batches))
        with parallel_config("threading"):
            counts = [np.sum([part for _, part in each], axis=0) for each in Parallel(2)(found)]
        assert all((some == expected).all() for some, expected in zip(counts, EXPECTED))

    def test_nothing_is_begun_before_a_batch_is_asked_for(self) -> None:
        batches = count_votes(many(), FEATURES, 3, drawing_templates(), n_jobs=2)
        get_reusable_executor(max_workers=3).shutdown(wait=True)  # would wait for what is at work
        assert len(list(batches)) > 1

    def test_where_all_is_quiet_already(self) -> None:
        with quietly():
            assert (counted(many(), drawing_templates(), 2) == EXPECTED[0]).all()

    @pytest.mark.parametrize("processes", [True, False])
    def test_on_a_cluster(self, processes: bool) -> None:
        distributed = pytest.importorskip("distributed", reason="distributed is not installed")
        options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0"}
        with (
            distributed.LocalCluster(processes=processes, **options) as cluster,
            distributed.Client(cluster),
            parallel_config("dask"),
        ):
            templates = drawing_templates()[1:]  # dask's own threads draw from Python's stream
            assert (counted(many(), templates, -1) == counted(many(), templates)).all()

    def test_for_classifiers_that_write_into_the_auxiliary_set(self) -> None:
        """Arrays that arrive in a worker are no longer read-only."""
        template = make_pipeline(StandardScaler(copy=False), KNeighborsClassifier(1))
        one, two = (counted(many(), [template], n_jobs) for n_jobs in (1, 2))
        assert (one == two).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize(
        ("n_parties", "loss"), [(120, "logistic"), (30, "logistic"), (120, "huber")]
    )
    def test_of_linear_classifiers(self, n_classes: int, n_parties: int, loss: str) -> None:
        if loss == "huber" and n_classes > 2:
            return
        made = many(n_parties=n_parties)
        parties = Parties(made.features, made.labels % n_classes, made.starts, made.names)
        found = []
        for n_jobs, seen in ((1, contextlib.nullcontext()), (2, parallel_config("loky"))):
            with seen:
                batches = list(linear_parameters(parties, n_classes, 1e-3, loss, n_jobs=n_jobs))
                assert [name for names, _ in batches for name in names] == parties.names
                weights = np.concatenate([part for _, part in batches])
                counted = count_linear_votes(
                    parties, FEATURES, n_classes, 1e-3, loss, n_jobs=n_jobs
                )
                total = np.sum([counts for _, counts in counted], axis=0)
                found.append((weights.tolist(), total.tolist()))
        assert found[0] == found[1]

    def test_processes_are_started_where_they_may_be(self) -> None:
        """Otherwise everything above would be one process, and prove nothing."""

        def where(rows: Any, labels: Any) -> Any:
            import os

            odd = os.getpid() % 2**16
            return lambda samples: [odd >> bit & 1 for bit in range(len(samples))]

        def pids(n_jobs: int, backend: str) -> np.ndarray:
            with parallel_config(backend, n_jobs=2):
                return counted(two_classes, [where], n_jobs)[:16, 1]

        made = many()
        two_classes = Parties.group(made.features, np.tile([0, 1], 240), np.arange(480) // 4)
        own = np.array([os.getpid() >> bit & 1 for bit in range(16)]) * 120
        for backend in ("threading", "sequential"):
            assert pids(2, backend).tolist() == own.tolist()
        assert pids(1, "loky").tolist() == own.tolist()
        assert pids(2, "loky").tolist() != own.tolist()


def side_by_side() -> list[bool]:
    """Two fits at the same time, in threads: whether each gave what it gives alone."""
    found: list[bool] = [False, False]

    def fit(which: int) -> None:
        for _ in range(3):
            counts = counted(many(which + 1), drawing_templates(), 2)
            found[which] = bool((counts == EXPECTED[which]).all())
            if not found[which]:
                return

    threads = [threading.Thread(target=fit, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class TestMutants:
    """Each of these lets one party's draws shift another's, and is seen."""

    def test_without_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (votes, asking):
            monkeypatch.setattr(module, "quietly", contextlib.nullcontext)
        assert side_by_side() != [True, True]

    def test_without_a_start_for_each(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (votes, asking):
            monkeypatch.setattr(module, "restart_streams", lambda: None)
        assert not (counted(many(), drawing_templates()) == EXPECTED[0]).all()

    def test_with_threads_as_workers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "_n_workers", lambda n_jobs: 4)
        for module in (votes, asking):
            monkeypatch.setattr(module, "quietly", contextlib.nullcontext)
        with parallel_config("threading"):
            assert not (counted(many(), drawing_templates(), 4) == EXPECTED[0]).all()


def talking_template() -> Callable[..., Any]:
    def talking(rows: Any, labels: Any) -> Any:
        import logging
        import os
        import warnings

        if len(rows) < 100:  # on somebody's rows, not on synthetic ones
            print("printed", labels)
            os.write(1, b"written")
            os.write(2, b"written")
            logging.getLogger("somebody").critical("logged")
            warnings.warn("warned", stacklevel=1)
            labels / 0.0
            rows * 1e-320
            if labels[0]:
                raise RuntimeError("failed")
        return lambda samples: [0] * len(samples)

    return talking


@pytest.fixture
def fresh_workers() -> None:
    """Workers that are started here, so that what they print would be seen here."""
    get_reusable_executor(max_workers=2).shutdown(wait=True)


@pytest.mark.usefixtures("fresh_workers")
class TestNothingShows:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_of_what_classifiers_say(
        self, n_jobs: int, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        with np.errstate(all="raise"):
            counted(many(), [talking_template()], n_jobs)
        assert capfd.readouterr() == ("", "")
        assert not caplog.records

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_of_lightgbm_as_it_comes(self, n_jobs: int, capfd: pytest.CaptureFixture[str]) -> None:
        lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
        # Whether it prints is global to it; another test may have told it not to.
        lightgbm.LGBMClassifier(n_estimators=1, verbose=1).fit(np.eye(9), np.arange(9) % 2)
        template = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=1)
        batches = count_votes(many(n_parties=5), FEATURES, 3, [template], n_jobs=n_jobs)
        assert "LightGBM" in capfd.readouterr().out, "the trial on synthetic rows may be seen"
        assert len(list(batches)) > 1
        assert capfd.readouterr() == ("", "")

    def test_of_a_templates_own_workers(self, capfd: pytest.CaptureFixture[str]) -> None:
        """They would print where nothing is swallowed, and keep their streams between parties."""
        Parallel(2)(delayed(os.getpid)() for _ in range(4))  # workers that were there before

        def loud(estimator: Any, rows: Any, labels: Any) -> float:
            if len(rows) < 20:
                print("a score on somebody's rows", flush=True)
            return 0.5

        grid = {"n_neighbors": [1, 2]}
        template = GridSearchCV(KNeighborsClassifier(), grid, cv=2, n_jobs=2, scoring=loud)
        rows = np.random.default_rng(0).normal(size=(40, N_COLUMNS))
        parties = Parties.group(rows, np.tile([0, 1], 20), np.arange(40) // 10)
        assert counted(parties, [template]).sum() == 4 * len(FEATURES)
        assert capfd.readouterr() == ("", "")

    def test_but_progress_is_drawn_between_batches(self, capfd: pytest.CaptureFixture[str]) -> None:
        import sys

        def watch(batches: Any, total: int) -> Iterator[Any]:
            for number, batch in enumerate(batches, start=1):
                print(f"{number} of {total}", file=sys.stderr)
                os.write(2, b"drawn\n")
                yield batch

        for n_jobs in (1, 2):
            counted(many(), [talking_template()], n_jobs, watch=watch)
            said = capfd.readouterr()
            lines = said.err.splitlines()
            n_batches = int(lines[0].split()[-1])
            assert sorted(lines)[-n_batches:] == ["drawn"] * n_batches
            assert len(lines) == 2 * n_batches
            assert said.out == ""

    def test_of_a_row_that_springs_a_trap(self) -> None:
        """Under np.seterr(all="raise") a tiny row must not end the fit."""
        tiny = np.full((240, N_COLUMNS), 1e-200)
        labels = np.tile([0, 1], 120)
        parties = Parties.group(tiny, labels, np.arange(240) // 2)
        few = Parties.group(tiny[:20], labels[:20], np.arange(20) // 2)
        templates = [LogisticRegression(), GaussianNB()]
        with np.errstate(all="raise"):
            for each in (parties, few):
                batches = count_linear_votes(each, FEATURES, 2, 1e-3, "logistic", n_jobs=1)
                assert sum(len(names) for names, _ in batches) == len(each)
                assert len(list(linear_parameters(each, 2, 1e-3, "huber", n_jobs=1))) > 0
                found = counted_two(each, templates)
                assert found.sum() == len(each) * len(FEATURES)


def counted_two(parties: Parties, templates: Any) -> np.ndarray:
    batches = count_votes(parties, FEATURES, 2, templates, n_jobs=1)
    return np.sum([counts for _, counts in batches], axis=0)


def test_a_classifier_that_fails_on_somebodys_rows_tells_nothing(
    recwarn: pytest.WarningsRecorder,
) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((11, 3)), np.array([0, 1] * 4 + [1, 1, 0])
    parties = Parties.group(rows, labels, np.array([0] * 8 + [1] * 3))
    counts = counted_two(parties, [KNeighborsClassifier(5)])  # three rows are too few for five
    assert counts.sum(axis=1).tolist() == [2] * len(FEATURES)
    assert counts[:, 1].min() >= 1, "the party with three rows votes for its commonest class"
    assert not recwarn.list
