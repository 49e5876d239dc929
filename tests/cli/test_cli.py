"""The command line as people use it.

Every command, every kind of error with its exit code, terminals and pipes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import Release
from ostraka.cli.app import COMMANDS, build, explain, main
from ostraka.cli.exits import EXIT_CODES, code_of

RNG = np.random.default_rng(0)
COLUMNS = ["age", "bmi", "pressure"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hundred hospitals of five patients, public samples, and a model made of them."""
    folder = tmp_path_factory.mktemp("cli")
    rows = RNG.normal(size=(1500, 3)) * [10, 2, 30] + [50, 25, 120]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["hospital"] = np.repeat([f"h{j}" for j in range(300)], 5)
    table["outcome"] = np.where((rows[:, 0] - 50) / 10 + (rows[:, 2] - 120) / 30 > 0, "ill", "well")
    table.to_csv(folder / "hospitals.csv", index=False)
    public = RNG.normal(size=(200, 3)) * [10, 2, 30] + [50, 25, 120]
    pd.DataFrame(public, columns=COLUMNS).to_csv(folder / "public.csv", index=False)
    (folder / "parties").mkdir()
    for name, part in list(table.groupby("hospital"))[:10]:
        part.drop(columns="hospital").to_parquet(folder / "parties" / f"{name}.parquet")
    assert run("learn", *learning(folder)).returncode == 0
    return folder


def learning(folder: Path, **changes: str) -> list[str]:
    options = {
        "--party-column": "hospital",
        "--label-column": "outcome",
        "--auxiliary": str(folder / "public.csv"),
        "--method": "soft",
        "--epsilon": "5",
        "--lambda": "0.01",
        "--jobs": "1",
        "--out": str(folder / "model.ostraka"),
        **changes,
    }
    return [
        str(folder / "hospitals.csv"),
        *(word for name, value in options.items() if value for word in (name, value)),
    ]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        "from ostraka.cli.app import main; main()",
        *words,
    ]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str, str]:
    """The same in this process, which is faster."""
    monkeypatch.setattr(sys, "argv", ["ostraka", *words])
    with pytest.raises(SystemExit) as left:
        main()
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_was_built_alone_is_the_same(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for application in (build(name), build()):
        application([name, "--help"], standalone_mode=False)
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != ""
    assert list(build(name).commands) == [name]


@pytest.mark.parametrize("first", [None, "--version", "lear", ""])
def test_whatever_is_no_command_gets_all_of_them(first: str | None) -> None:
    assert sorted(build(first).commands) == sorted(COMMANDS)


class TestEveryCommand:
    def test_learn_predict_inspect_export(
        self, folder: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        model = str(folder / "model.ostraka")
        code, out, _ = called(
            capsys,
            monkeypatch,
            "predict",
            model,
            str(folder / "hospitals.csv"),
            "--out",
            str(folder / "p.csv"),
            "--probabilities",
        )
        assert code == 0
        assert "1500 predictions" in out
        predicted = pd.read_csv(folder / "p.csv")
        assert list(predicted.columns) == ["prediction", "probability_ill", "probability_well"]
        assert (predicted.prediction == pd.read_csv(folder / "hospitals.csv").outcome).mean() > 0.8

        code, out, _ = called(capsys, monkeypatch, "inspect", model, "--json")
        assert json.loads(out)["epsilon"] == 5.0
        code, out, _ = called(capsys, monkeypatch, "inspect", model)
        assert "ε = 5 differential privacy" in out
        assert "age, bmi, pressure" in " ".join(out.split())

        code, out, _ = called(
            capsys, monkeypatch, "export", model, "--onnx", str(folder / "model.onnx")
        )
        assert code == 0
        assert (folder / "model.onnx").stat().st_size > 100

    def test_labels_of_a_second_round_are_read_one_by_one(
        self, tmp_path: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        """Nobody's "maybe" makes a text of somebody else's 0, and 1.0 is 1."""
        rng = np.random.default_rng(0)
        rows, public = (pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]) for _ in "ab")
        public.to_csv(tmp_path / "public.csv", index=False)
        own = rows.assign(y=(rows.a > 0).astype(int).astype(str), party=np.arange(400) % 40)

        def learn(out: str, *more: str) -> tuple[int, str]:
            own.to_csv(tmp_path / "own.csv", index=False)
            words = ("learn", "own.csv", "--label-column", "y", "--party-column", "party")
            promise = ("--auxiliary", "public.csv", "--epsilon", "2", "--out", out)
            code, _, err = called(capsys, monkeypatch, *words, *promise, *more)
            return code, err

        monkeypatch.chdir(tmp_path)
        assert learn("first.ostraka")[0] == 0
        assert Release.load("first.ostraka").model.task.classes == (0, 1)
        second = ("--method", "refine", "--start", "first.ostraka")
        own.loc[0, "y"] = "1.0" if own.loc[0, "y"] == "1" else "0.0"
        assert learn("second.ostraka", *second)[0] == 0
        own.loc[0, "y"] = "maybe"
        code, err = learn("third.ostraka", *second)
        assert code == 14
        assert "Class 'maybe' is not among the 2 classes 0, 1" in err

    @pytest.mark.parametrize("method", ["soft", "vote", "avg"])
    @pytest.mark.parametrize("calibration", ["paper", "tight"])
    def test_learn_by_every_method(
        self, folder: Path, capsys: Any, monkeypatch: Any, method: str, calibration: str
    ) -> None:
        out = folder / f"{method}-{calibration}.ostraka"
        code, _, err = called(
            capsys,
            monkeypatch,
            "learn",
            *learning(
                folder, **{"--method": method, "--calibration": calibration, "--out": str(out)}
            ),
        )
        assert code == 0, err
        certificate = Release.load(out).certificate
        assert (certificate.method, certificate.parties) == (method, 300)
        assert method == "avg" or certificate.particular.calibration == calibration
        assert certificate.assumed_public == ("classes",)

    def test_learn_in_two_rounds(self, folder: Path, capsys: Any, monkeypatch: Any) -> None:
        first, second = folder / "first.ostraka", folder / "second.ostraka"
        for method, out, more in (("auto", first, {}), ("refine", second, {"--start": str(first)})):
            words = learning(
                folder,
                **{
                    "--method": method,
                    "--out": str(out),
                    "--samples-each": "5",
                    "--lambda": "",
                    **more,
                },
            )
            code, _, err = called(capsys, monkeypatch, "learn", *words)
            assert code == 0, err
        certificate = Release.load(second).certificate
        assert (certificate.method, certificate.assumed_public) == ("refine", ("classes",))
        assert (certificate.start, certificate.epsilon, certificate.round_epsilon) == (
            Release.load(first).digest,
            10.0,
            5.0,
        )
        code, out, _ = called(capsys, monkeypatch, "inspect", str(second), "--json")
        assert json.loads(out)["epsilon"] == 10.0, "what the file costs"
        code, out, _ = called(capsys, monkeypatch, "inspect", str(second))
        assert "ε = 10 differential privacy" in out
        assert "This round alone costs ε = 5" in " ".join(out.split())
        assert "whose geometry was used" in out
        for method, start in (("refine", ""), ("auto", str(first))):
            words = learning(
                folder,
                **{
                    "--method": method,
                    "--start": start,
                    "--lambda": "",
                    "--out": str(folder / "third.ostraka"),
                },
            )
            code, _, err = called(capsys, monkeypatch, "learn", *words)
            assert code == 18
            assert "start" in err
        assert not (folder / "third.ostraka").exists()

    def test_learn_tells_of_a_shift(self, folder: Path, capsys: Any, monkeypatch: Any) -> None:
        old = pd.read_csv(folder / "public.csv")
        old = old[old.age + old.pressure / 3 > 100]
        old.to_csv(folder / "old.csv", index=False)
        words = learning(
            folder,
            **{
                "--method": "cells",
                "--lambda": "",
                "--auxiliary": str(folder / "old.csv"),
                "--out": str(folder / "s.ostraka"),
            },
        )
        code, out, err = called(capsys, monkeypatch, "learn", *words, "--shift")
        assert code == 0, err
        assert "standard deviations off" in out
        assert "Warning" not in err

    def test_learn_from_a_folder_with_a_file_per_party(
        self, folder: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        options = learning(
            folder,
            **{
                "--party-column": "",
                "--out": str(folder / "f.ostraka"),
                "--local": "mixed",
                "--classes": "ill,well",
            },
        )
        code, out, err = called(capsys, monkeypatch, "learn", str(folder / "parties"), *options[1:])
        assert code == 0, err
        assert "among 10 parties" in out
        assert "Mind" in out, "ten parties drown in noise, and it says so"
        assert Release.load(folder / "f.ostraka").certificate.assumed_public == ()

    def test_rows_may_be_parties_and_names_survive_without_an_auxiliary_set(
        self, folder: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        table = pd.read_csv(folder / "hospitals.csv").drop(columns="hospital")
        table["patient"] = "text"
        table.to_csv(folder / "rows.csv", index=False)
        words = learning(
            folder,
            **{
                "--party-column": "",
                "--auxiliary": "",
                "--drop": "patient",
                "--radius": "200",
                "--method": "avg",
            },
        )
        code, out, err = called(
            capsys,
            monkeypatch,
            "learn",
            str(folder / "rows.csv"),
            *words[1:],
            "--rows-are-parties",
            "--force",
        )
        assert code == 0, err
        assert "for one row, among 1,500 rows" in out
        model = Release.load(folder / "model.ostraka")
        assert model.model.task.feature_names == tuple(COLUMNS)
        shuffled = folder / "shuffled.csv"
        table[["outcome", "patient", *COLUMNS[::-1]]].to_csv(shuffled, index=False)
        kept = folder / "kept.csv"
        code, _, err = called(
            capsys,
            monkeypatch,
            "predict",
            str(folder / "model.ostraka"),
            str(shuffled),
            "--out",
            str(kept),
            "--keep",
        )
        assert code == 0, err
        result = pd.read_csv(kept)
        assert list(result.columns) == ["outcome", "patient", *COLUMNS[::-1], "prediction"]
        assert (result.prediction == model.predict(table[COLUMNS])).all()

    def test_plan(self, folder: Path, capsys: Any, monkeypatch: Any) -> None:
        sizes = ["--parties", "5000", "--samples", "1000", "--features", "50", "--classes", "6"]
        code, out, _ = called(
            capsys, monkeypatch, "plan", *sizes, "--figure", str(folder / "plan.png")
        )
        assert code == 0
        assert all(method in out for method in ("soft", "vote", "avg"))
        assert "none" in out, "vote does not gain from more parties"
        assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.slow
    def test_demo(self, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
        code, out, _ = called(capsys, monkeypatch, "demo", "--out", str(tmp_path / "new"))
        assert code == 0
        assert "The certificate of the latter" in " ".join(out.split())
        assert (tmp_path / "new" / "demo.png").exists()
        assert Release.load(tmp_path / "new" / "digits.ostraka").certificate.method == "cells"


class TestHelp:
    @pytest.mark.parametrize("command", ["demo", "plan", "learn", "predict", "inspect", "export"])
    def test_every_command_explains_itself_with_an_example(self, command: str) -> None:
        done = run(command, "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout

    def test_version_and_no_words(self) -> None:
        assert run("--version").stdout.startswith("ostraka 0.")
        assert "Usage" in run().stdout + run().stderr

    def test_completion_is_offered(self) -> None:
        assert "--install-completion" in run("--help").stdout


class TestErrors:
    @pytest.mark.parametrize(
        ("changes", "code", "complaint"),
        [
            ({"--epsilon": "0"}, 18, "epsilon = 0.0 is not allowed"),
            ({"--lambda": "-1"}, 18, "lambda = -1.0 is not allowed"),
            ({"--local": "magic"}, 18, "linear, logistic"),
            ({"--label-column": "fate"}, 19, "no column 'fate'; it has 'age'"),
            ({"--auxiliary": "nowhere.csv"}, 30, "no file or folder 'nowhere.csv'"),
            ({"--out": "nowhere/model"}, 30, "no file or folder 'nowhere'"),
            ({"--out": "."}, 32, "it is a folder"),
            ({"--auxiliary": "hospitals.csv"}, 18, "these are the private ones"),
            ({"--party-column": ""}, 18, "or else --rows-are-parties"),
            (
                {"--method": "avg", "--local": "forest"},
                18,
                "not for method 'avg', which would not use it. Leave it out; it is for consensus",
            ),
            (
                {"--label-column": "bmi", "--drop": "outcome", "--auxiliary": "", "--radius": "9"},
                19,
                "Unknown label type",
            ),
            ({"--classes": "ill,dead"}, 14, "Class 'well' is not among"),
            ({"--least-parties": "301"}, 16, "300 parties have contributed, but at least 301"),
            ({"--party-column": "outcome", "--label-column": "hospital"}, 14, ""),
            ({"--method": "magic"}, 2, "magic"),
        ],
    )
    def test_learn(
        self,
        folder: Path,
        capsys: Any,
        monkeypatch: Any,
        changes: dict[str, str],
        code: int,
        complaint: str,
    ) -> None:
        if changes.get("--label-column") == "hospital":
            changes = {**changes, "--classes": "ill,well"}
        monkeypatch.chdir(folder)
        got, out, err = called(
            capsys,
            monkeypatch,
            "learn",
            *learning(folder, **{"--out": str(folder / "never.ostraka"), **changes}),
        )
        assert got == code, err
        assert complaint in err
        assert out == ""
        assert not (folder / "never.ostraka").exists()

    def test_nothing_is_replaced_without_being_told_to(
        self, folder: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        """A release that is lost is ε spent for nothing."""
        out = folder / "twice.ostraka"
        out.write_bytes(b"precious")
        code, _, err = called(
            capsys, monkeypatch, "learn", *learning(folder, **{"--out": str(out)})
        )
        assert (code, "--force replaces it" in err) == (32, True)
        assert out.read_bytes() == b"precious"
        assert (
            called(
                capsys, monkeypatch, "learn", *learning(folder, **{"--out": str(out)}), "--force"
            )[0]
            == 0
        )
        same = str(folder / "public.csv")
        code, _, err = called(capsys, monkeypatch, "predict", str(out), same, "--out", same)
        assert code == 32

    def test_files_that_are_not_what_they_say(
        self, folder: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        code, _, err = called(capsys, monkeypatch, "inspect", str(folder / "hospitals.csv"))
        assert (code, "not a valid release" in err) == (20, True)
        (folder / "broken.parquet").write_bytes(b"PAR1 not really")
        code, _, err = called(
            capsys,
            monkeypatch,
            "predict",
            str(folder / "model.ostraka"),
            str(folder / "broken.parquet"),
            "--out",
            "x.csv",
        )
        assert (code, "cannot be read" in err) == (20, True)
        code, _, err = called(
            capsys,
            monkeypatch,
            "predict",
            str(folder / "model.ostraka"),
            str(folder / "hospitals.csv"),
            "--out",
            "x.docx",
        )
        assert code == 18

    def test_every_error_of_ours_has_a_code(self) -> None:
        from ostraka import errors

        for name in errors.__all__:
            kind = getattr(errors, name)
            if (
                isinstance(kind, type)
                and issubclass(kind, errors.OstrakaError)
                and kind is not errors.OstrakaError
            ):
                assert any(base in EXIT_CODES for base in kind.__mro__), name
        assert code_of(RuntimeError("a bug")) is None
        assert "pip install" in explain(ImportError("No module named 'onnx'"))

    def test_an_interrupt_leaves_nothing_half_written(self, folder: Path, tmp_path: Path) -> None:
        """A real Ctrl-C, in the middle of local training."""
        words = learning(folder, **{"--local": "tree", "--out": str(tmp_path / "model.ostraka")})
        code = """
import os, signal
from ostraka.party.training import votes
votes.local_votes = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGINT)
from ostraka.cli.app import main
main()
"""
        done = subprocess.run(
            [sys.executable, "-c", code, "learn", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 130, done.stderr
        assert "Interrupted" in done.stderr
        assert not list(tmp_path.iterdir())


class TestTerminals:
    def test_no_colour_codes_in_a_pipe_or_when_asked_not_to(self, folder: Path) -> None:
        for environment in ({}, {"NO_COLOR": "1", "FORCE_COLOR": ""}):
            done = run("inspect", str(folder / "nothing"), **environment)
            assert "\x1b[" not in done.stdout + done.stderr
            assert (
                "\x1b[" not in run("inspect", str(folder / "model.ostraka"), **environment).stdout
            )

    def test_without_its_packages_it_says_what_to_install(self) -> None:
        code = "import sys; sys.modules['typer'] = None; from ostraka.cli.app import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 33
        assert "pip install 'ostraka[cli]'" in done.stderr
