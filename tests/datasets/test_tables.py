"""Tables in every format: what is read is what was written, and what cannot be read is named."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ostraka.datasets import tables
from ostraka.errors import FormatError, InputError, ParameterError

FRAME = pd.DataFrame(
    {
        "age": [31, 45, 27],
        "dose": [0.1, -2.5, 1e300],
        "site": ["north", "south", "north"],
        "outcome": ["ill", "well", "ill"],
    }
)
SVM = b"1 qid:4 1:0.5 3:2\n-1 qid:4 2:1e-3\n2 qid:7 1:3 # a comment\n"


def zst(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zst}


def csv_of(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(error: type[Exception], path: Path, *parts: str, **options: Any) -> None:
    """Reading raises this error, and its text has all these parts in this order."""
    with pytest.raises(error, match="(?s)" + ".*".join(re.escape(part) for part in parts)):
        tables.read(path, **options)


class TestFrames:
    @pytest.mark.parametrize(
        "name",
        [
            "t.csv",
            "t.csv.gz",
            "t.csv.zst",
            "t.parquet",
            "T.CSV",
            "t.Csv.GZ",
            "t.csv.ZST",
            "v1.2.csv",
            "a.b.csv.gz",
        ],
    )
    def test_what_was_written_is_read(self, tmp_path: Path, name: str) -> None:
        tables.write(FRAME, tmp_path / name)
        table = tables.read(tmp_path / name, label_column="outcome", party_column="site")
        assert list(table.samples.columns) == ["age", "dose"]
        assert all(pd.api.types.is_numeric_dtype(kind) for kind in table.samples.dtypes)
        assert table.samples.to_numpy().tolist() == [[31.0, 0.1], [45.0, -2.5], [27.0, 1e300]]
        assert table.labels is not None
        assert table.parties is not None
        assert table.labels.tolist() == ["ill", "well", "ill"]
        assert table.parties.tolist() == ["north", "south", "north"]
        assert len(table) == 3

    def test_compressed_means_compressed(self, tmp_path: Path) -> None:
        for name, opening in (
            ("t.csv.gz", b"\x1f\x8b"),
            ("t.csv.GZ", b"\x1f\x8b"),
            ("t.csv.zst", b"\x28\xb5\x2f\xfd"),
            ("t.csv", b"age,"),
        ):
            tables.write(FRAME, tmp_path / name)
            assert (tmp_path / name).read_bytes().startswith(opening)

    def test_only_what_was_asked_for(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.csv", csv_of(FRAME))
        table = tables.read(path, drop=["site", "outcome"])
        assert (table.labels, table.parties) == (None, None)
        assert list(table.samples.columns) == ["age", "dose"]
        assert list(tables.read(path, columns=["dose", "age"]).samples.columns) == [
            "dose",
            "age",
        ], "in the order asked for"
        assert list(
            tables.read(path, label_column="outcome", columns=["dose"]).samples.columns
        ) == ["dose"]
        assert list(
            tables.read(path, label_column="outcome", drop=["site", "dose"]).samples.columns
        ) == ["age"]
        assert list(tables.read(str(path), columns=("age",)).samples.columns) == ["age"], (
            "a text is a path too"
        )

    def test_labels_keep_their_type(self, tmp_path: Path) -> None:
        for column, kind in (
            ("0\n1\n1\n", "i"),
            ("0.5\n1\n1\n", "f"),
            ("True\nFalse\nTrue\n", "b"),
            ("a\n1\n2\n", "O"),
        ):
            lines = ["x,y", *(f"1,{value}" for value in column.split())]
            table = tables.read(written(tmp_path / "t.csv", "\n".join(lines)), label_column="y")
            assert table.labels is not None
            assert table.labels.dtype.kind == kind
        assert table.labels.tolist() == ["a", "1", "2"]

    def test_a_long_column_has_one_type(self, tmp_path: Path) -> None:
        """pandas guesses again for every part of a file: a class 1 would become two, 1 and '1'."""
        lines = ["x,y", *["0,1"] * 300_000, *["0,a"] * 300_000]
        table = tables.read(written(tmp_path / "t.csv", "\n".join(lines)), label_column="y")
        assert table.labels is not None
        assert set(table.labels.tolist()) == {"1", "a"}

    def test_truth_values_and_nullable_numbers_are_numbers(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(
            {
                "a": [True, False],
                "b": pd.array([1, 2], dtype="Int64"),
                "y": pd.array(["u", "v"], dtype="category"),
            }
        )
        frame.to_parquet(tmp_path / "t.parquet")
        table = tables.read(tmp_path / "t.parquet", label_column="y")
        assert table.samples.to_numpy().tolist() == [[1.0, 1.0], [0.0, 2.0]]
        assert table.labels is not None
        assert table.labels.tolist() == ["u", "v"]

    def test_a_byte_order_mark_is_no_part_of_a_name(self, tmp_path: Path) -> None:
        assert list(
            tables.read(written(tmp_path / "t.csv", "\ufeffa,b\n1,2\n")).samples.columns
        ) == ["a", "b"]

    @settings(
        max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        rows=hnp.arrays(
            np.float64,
            st.tuples(st.integers(1, 12), st.integers(1, 4)),
            elements=st.floats(allow_nan=False, allow_infinity=False),
        ),
        suffix=st.sampled_from([".csv", ".csv.gz", ".csv.zst", ".parquet"]),
    )
    def test_every_finite_number_comes_back_exactly(
        self, tmp_path: Path, rows: np.ndarray, suffix: str
    ) -> None:
        path = tmp_path / f"t{suffix}"
        tables.write(pd.DataFrame(rows, columns=[f"c{k}" for k in range(rows.shape[1])]), path)
        back = tables.read(path).samples.to_numpy()
        assert back.tobytes() == rows.tobytes(), "bit by bit, the sign of zero included"


class TestFramesThatAreRefused:
    @pytest.mark.parametrize("option", ["label_column", "party_column", "columns", "drop"])
    def test_a_column_that_is_not_there(self, tmp_path: Path, option: str) -> None:
        path = written(tmp_path / "t.csv", csv_of(FRAME))
        value = "weight" if option.endswith("_column") else ["weight"]
        parts = (
            "t.csv has no column 'weight'; it has 'age', 'dose', 'site', 'outcome'.",
            "Name a column that is there.",
        )
        if option == "columns":
            parts = (
                "t.csv: a column is missing, 'weight'.",
                "Others are there: 'age'",
                "by its name",
            )
        refused(InputError, path, *parts, **{option: value})

    def test_many_columns_are_not_all_listed(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.csv", ",".join(f"c{k}" for k in range(50)) + "\n")
        refused(InputError, path, "it has 'c0', 'c1'", "'c7', ... (50 in all).", label_column="y")

    @pytest.mark.parametrize("option", ["label_column", "party_column"])
    @pytest.mark.parametrize("cell", ["", "NA", "None", "null", "nan"])
    def test_missing_labels_and_parties(self, tmp_path: Path, option: str, cell: str) -> None:
        path = written(tmp_path / "t.csv", f"a,y\n1,u\n2,{cell}\n")
        parts = (
            "Column 'y' of t.csv has missing values, first in row 1 (counting from 0; line 3 of a "
            "CSV file).",
            "Fill in or drop those rows; "
            "in a CSV file the words NA, None and null count as missing",
        )
        refused(InputError, path, *parts, **{option: "y"})

    def test_a_short_row_was_cut_off(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.csv", "a,b\n1,2\n3\n")
        refused(
            FormatError, path, "t.csv cannot be read (row 3 has 1 of 2 fields: was it cut off?)"
        )

    def test_rows_longer_than_the_first_line(self, tmp_path: Path) -> None:
        """pandas would take the first field of every row as its name, and shift all others."""
        path = written(tmp_path / "t.csv", "a,b\n1,2,3\n4,5,6\n")
        refused(
            FormatError,
            path,
            "not a valid csv table: t.csv cannot be read",
            "its rows have more fields than its first line has names",
            "Nothing was loaded",
        )
        refused(
            FormatError,
            written(tmp_path / "u.csv", "a,b\n1,2\n4,5,6\n"),
            "u.csv cannot be read",
            "row 3 has another number of fields than the rows before it",
        )

    @pytest.mark.parametrize("first", [0, 1, 7])
    def test_rows_with_names_but_no_name_for_them(self, tmp_path: Path, first: int) -> None:
        path = written(tmp_path / "t.csv", f"a,b\n{first},2,3\n{first + 1},5,6\n")
        refused(FormatError, path, "its rows have more fields than its first line has names")
        assert tables.read(written(path, "a,b\n1,2,\n3,4,\n")).samples.to_numpy().tolist() == [
            [1, 2],
            [3, 4],
        ], "a comma too many is harmless"

    def test_no_feature_left(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.csv", "a,y\n1,2\n")
        refused(
            InputError,
            path,
            "t.csv has no feature columns left.",
            "Keep at least one.",
            label_column="y",
            drop=["a"],
        )
        refused(InputError, path, "t.csv has no feature columns left.", columns=[])

    def test_no_rows(self, tmp_path: Path) -> None:
        pd.DataFrame({"a": []}).to_parquet(tmp_path / "t.parquet")
        for path in (written(tmp_path / "t.csv", "a,b\n"), tmp_path / "t.parquet"):
            refused(
                InputError,
                path,
                f"{path.name} has no rows.",
                "Give at least one sample, or leave the file out.",
            )

    def test_names_that_stand_for_two_columns(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(
            pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]),
            tmp_path / "t.parquet",
        )
        with pytest.raises((InputError, FormatError), match=r"t\.parquet"):
            tables.read(tmp_path / "t.parquet")

    @pytest.mark.parametrize("suffix", PACK)
    def test_an_empty_csv(self, tmp_path: Path, suffix: str) -> None:
        path = written(tmp_path / f"t.csv{suffix}", PACK[suffix](b""))
        refused(
            FormatError,
            path,
            f"not a valid csv table: t.csv{suffix} cannot be read (No columns to parse from file). "
            "Nothing was loaded.",
        )

    def test_an_empty_parquet(self, tmp_path: Path) -> None:
        refused(
            FormatError,
            written(tmp_path / "t.parquet", b""),
            "not a valid parquet table: t.parquet cannot be read",
            "Nothing was loaded.",
        )

    def test_bytes_that_are_no_table(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(0).bytes(5000)
        for name in (
            "t.csv",
            "t.csv.gz",
            "t.csv.zst",
            "t.parquet",
            "t.npz",
            "t.svm",
            "t.svm.gz",
            "t.svm.zst",
        ):
            refused(
                FormatError,
                written(tmp_path / name, noise),
                f"table: {name} cannot be read",
                "Nothing was loaded.",
            )


class TestFilesCutShort:
    """Read as far as it goes, a table that was cut short would be a smaller table."""

    CONTENT = csv_of(
        pd.DataFrame(np.random.default_rng(0).standard_normal((20_000, 2)), columns=["a", "b"])
    )
    SPARSE = b"".join(b"%d 1:%d 2:0.%d\n" % (k % 2, k, k) for k in range(40_000))

    @pytest.mark.parametrize("share", [0.2, 0.6, 0.95, 0.9999])
    @pytest.mark.parametrize("suffix", [".gz", ".zst"])
    @pytest.mark.parametrize("kind", [".csv", ".svm"])
    def test_compressed(self, tmp_path: Path, kind: str, suffix: str, share: float) -> None:
        packed = PACK[suffix](self.CONTENT if kind == ".csv" else self.SPARSE)
        path = written(tmp_path / f"t{kind}{suffix}", packed[: int(share * len(packed))])
        reason = (
            "the compressed file ends too early"
            if suffix == ".zst"
            else "Compressed file ended before the end-of-stream marker"
        )
        refused(FormatError, path, f"t{kind}{suffix} cannot be read", reason, "Nothing was loaded.")

    def test_archives(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "whole.npz", X=np.ones((50, 2)))
        pd.DataFrame({"a": np.arange(50)}).to_parquet(tmp_path / "whole.parquet")
        for kind in ("npz", "parquet"):
            content = (tmp_path / f"whole.{kind}").read_bytes()
            refused(
                FormatError,
                written(tmp_path / f"t.{kind}", content[:-30]),
                f"t.{kind} cannot be read",
            )

    @pytest.mark.parametrize("suffix", [".gz", ".zst"])
    def test_parts_packed_one_after_another_are_all_read(self, tmp_path: Path, suffix: str) -> None:
        path = written(tmp_path / f"t.csv{suffix}", PACK[suffix](b"a\n1\n") + PACK[suffix](b"2\n"))
        assert tables.read(path).samples["a"].tolist() == [1.0, 2.0]


class TestSvmlight:
    @pytest.mark.parametrize("suffix", PACK)
    @pytest.mark.parametrize("kind", [".svm", ".svmlight", ".libsvm", ".SVM"])
    def test_rows_labels_and_parties(self, tmp_path: Path, kind: str, suffix: str) -> None:
        table = tables.read(
            written(tmp_path / f"t{kind}{suffix}", PACK[suffix](SVM)),
            label_column="label",
            party_column="qid",
        )
        assert sp.issparse(table.samples)
        assert table.samples.toarray().tolist() == [
            [0.5, 0.0, 2.0],
            [0.0, 1e-3, 0.0],
            [3.0, 0.0, 0.0],
        ]
        assert table.labels is not None
        assert table.parties is not None
        assert table.labels.dtype == np.int64, "whole numbers are classes"
        assert table.labels.tolist() == [1, -1, 2]
        assert table.parties.tolist() == [4, 4, 7]
        bare = tables.read(tmp_path / f"t{kind}{suffix}")
        assert (bare.labels, bare.parties) == (None, None)

    def test_labels_that_are_not_whole_stay(self, tmp_path: Path) -> None:
        table = tables.read(written(tmp_path / "t.svm", "0.5 1:1\n1 1:2\n"), label_column="label")
        assert table.labels is not None
        assert table.labels.tolist() == [0.5, 1.0]
        huge = tables.read(written(tmp_path / "t.svm", "1e30 1:1\n1 1:2\n"), label_column="label")
        assert huge.labels is not None
        assert huge.labels.tolist() == [1e30, 1.0]

    def test_a_fraction_makes_no_fraction_of_somebody_elses_label(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.svm", "2.5 1:1\n1 1:2\n")
        table = tables.read(path, label_column="label", text_labels=True)
        assert table.labels is not None
        assert table.labels.tolist() == ["2.5", "1"]

    @pytest.mark.parametrize("label", ["nan", "inf", "-inf"])
    def test_labels_that_are_no_numbers(self, tmp_path: Path, label: str) -> None:
        path = written(tmp_path / "t.svm", f"{label} 1:1\n1 1:2\n")
        refused(
            InputError,
            path,
            "t.svm has labels that are NaN or infinite.",
            "Fill in or drop those rows.",
            label_column="label",
        )
        assert len(tables.read(path)) == 2, "labels that nobody asks for may be anything"

    @pytest.mark.parametrize(
        "content", ["a,b\n1,2\n", "1 2:1 1:3\n", "1 1:x\n", "x 1:1\n", "1 -1:1\n", "1,2 1:1\n"]
    )
    def test_garbage(self, tmp_path: Path, content: str) -> None:
        refused(
            FormatError,
            written(tmp_path / "t.svm", content),
            "not a valid svmlight table: t.svm cannot be read",
            "Nothing was loaded.",
        )

    @pytest.mark.parametrize("suffix", PACK)
    @pytest.mark.parametrize("content", [b"", b"# nothing\n\n"])
    def test_no_rows(self, tmp_path: Path, content: bytes, suffix: str) -> None:
        path = written(tmp_path / f"t.svm{suffix}", PACK[suffix](content))
        refused(
            InputError,
            path,
            f"t.svm{suffix} has no rows.",
            "Give at least one sample, or leave the file out.",
        )

    def test_parties_in_every_row_or_in_none(self, tmp_path: Path) -> None:
        for content, found in (("1 1:1\n2 1:2\n", 0), ("1 qid:3 1:1\n2 1:2\n", 1)):
            path = written(tmp_path / "t.svm", content)
            parts = (
                f"t.svm has a qid in {found} of 2 rows.",
                "Write the party of every row as qid:NUMBER.",
            )
            refused(InputError, path, *parts, party_column="qid")
            assert tables.read(path).parties is None

    def test_there_are_no_other_columns(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t.svm", SVM)
        refused(
            ParameterError,
            path,
            "column = 'outcome' is not allowed.",
            "Allowed: 'label' in a svmlight file",
            label_column="outcome",
        )
        refused(
            ParameterError,
            path,
            "column = 'site' is not allowed.",
            "Allowed: 'qid' in a svmlight file",
            party_column="site",
        )
        refused(
            ParameterError,
            path,
            "drop = 'x' is not allowed.",
            "none for a .svm file, whose columns have no names",
            drop=["x"],
        )


class TestArchives:
    X = np.arange(6.0).reshape(3, 2)

    def test_arrays_by_name(self, tmp_path: Path) -> None:
        for save in (np.savez, np.savez_compressed):
            save(
                tmp_path / "t.npz",
                X=self.X,
                other=self.X,
                y=np.array(["u", "v", "u"]),
                who=np.array([3, 1, 3]),
            )
            table = tables.read(tmp_path / "t.npz", label_column="y", party_column="who")
            assert table.samples.tolist() == self.X.tolist()
            assert table.labels is not None
            assert table.parties is not None
            assert table.labels.tolist() == ["u", "v", "u"]
            assert table.parties.tolist() == [3, 1, 3]

    def test_the_only_matrix_needs_no_name(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", whatever=self.X, y=np.zeros(3))
        assert tables.read(tmp_path / "t.npz").samples.shape == (3, 2)

    def test_which_matrix(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", a=self.X, b=self.X)
        refused(
            InputError,
            tmp_path / "t.npz",
            "t.npz holds the matrices 'a', 'b'.",
            "Name the one with the features X.",
        )
        np.savez(tmp_path / "t.npz", X=np.zeros(3), y=np.zeros((1, 2, 3)))
        refused(
            InputError,
            tmp_path / "t.npz",
            "t.npz holds the matrices none.",
            "Name the one with the features X.",
        )

    def test_arrays_that_do_not_fit(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", X=self.X, y=np.zeros(2))
        for option in ("label_column", "party_column"):
            for name in ("y", "z", "X"):
                parts = (
                    f"t.npz has no array '{name}' with one entry per row of X.",
                    "It holds 'X', 'y'.",
                )
                refused(InputError, tmp_path / "t.npz", *parts, **{option: name})
        refused(
            ParameterError,
            tmp_path / "t.npz",
            "drop = 'y'",
            "none for a .npz file, whose columns have no names",
            drop=["y"],
        )

    @pytest.mark.parametrize("name", ["X", "y"])
    def test_objects_are_never_unpickled(self, tmp_path: Path, name: str) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[Any, ...]:
                return (os.mkdir, (str(tmp_path / "exploded"),))

        arrays = {"X": self.X, "y": np.zeros(3), name: np.array([[Bomb()]], dtype=object)}
        np.savez(tmp_path / "t.npz", **arrays)
        parts = (
            "not a valid NPZ table: t.npz cannot be read",
            "Object arrays cannot be loaded when allow_pickle=False",
            "Nothing was loaded.",
        )
        refused(FormatError, tmp_path / "t.npz", *parts)
        np.array([Bomb()], dtype=object).dump(str(tmp_path / "u.npz"))
        refused(FormatError, tmp_path / "u.npz", "not a valid NPZ table: u.npz cannot be read")
        assert not (tmp_path / "exploded").exists()

    def test_a_single_array_without_a_name(self, tmp_path: Path) -> None:
        buffer = io.BytesIO()
        np.save(buffer, self.X)
        path = written(tmp_path / "t.npz", buffer.getvalue())
        refused(
            FormatError,
            path,
            "t.npz cannot be read (it holds one array without a name; write it with numpy.savez)",
        )

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and so on", b"a,b\n1,2\n"])
    def test_no_archive(self, tmp_path: Path, content: bytes) -> None:
        refused(
            FormatError,
            written(tmp_path / "t.npz", content),
            "not a valid NPZ table: t.npz cannot be read",
            "Nothing was loaded.",
        )

    def test_damage_inside_a_compressed_archive(self, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "t.npz", X=np.random.default_rng(0).standard_normal((50, 2)))
        content = bytearray((tmp_path / "t.npz").read_bytes())
        content[200:260] = bytes(60)
        refused(FormatError, written(tmp_path / "t.npz", bytes(content)), "t.npz cannot be read")

    def test_no_rows(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", X=np.empty((0, 2)))
        refused(InputError, tmp_path / "t.npz", "t.npz has no rows.")


class TestFolders:
    def test_a_file_is_a_party(self, tmp_path: Path) -> None:
        written(tmp_path / "ward-2.csv", "a,b,y\n5,6,v\n")
        written(tmp_path / "ward-10.csv.gz", gzip.compress(b"a,b,y\n1,2,u\n3,4,v\n"))
        pd.DataFrame({"a": [7], "b": [8], "y": ["w"]}).to_parquet(tmp_path / "ward.1.parquet")
        written(tmp_path / "ward.2.csv.zst", zst(b"a,b,y\n9,0,u\n"))
        written(tmp_path / ".DS_Store", b"\x00\x01")
        (tmp_path / ".hidden.csv").write_text("other,columns\n1,2\n")
        (tmp_path / "folder.csv").mkdir()
        table = tables.read(tmp_path, label_column="y")
        assert table.parties is not None
        assert table.labels is not None
        found = dict(zip(table.parties.tolist(), table.samples["a"].tolist()))
        assert found == {"ward-10": 3.0, "ward-2": 5.0, "ward.1": 7.0, "ward.2": 9.0}
        assert table.parties.tolist().count("ward-10") == 2
        assert dict(zip(table.samples["a"].tolist(), table.labels.tolist())) == {
            1.0: "u",
            3.0: "v",
            5.0: "v",
            7.0: "w",
            9.0: "u",
        }
        assert table.samples.index.tolist() == list(range(5))

    def test_the_order_of_files_on_disk_does_not_matter(self, tmp_path: Path) -> None:
        for order in (("c", "a", "b"), ("b", "c", "a")):
            folder = tmp_path / "".join(order)
            folder.mkdir()
            for name in order:
                written(folder / f"{name}.csv", f"x\n{ord(name)}\n")
        one, other = (tables.read(tmp_path / name) for name in ("cab", "bca"))
        assert one.samples.equals(other.samples)
        assert one.parties is not None
        assert one.parties.tolist() == ["a", "b", "c"]
        assert one.labels is None

    def test_options_hold_for_every_file(self, tmp_path: Path) -> None:
        for name in "pq":
            written(tmp_path / f"{name}.csv", "a,b,note\n1,2,hello\n")
        assert list(tables.read(tmp_path, drop=["note"]).samples.columns) == ["a", "b"]
        assert list(tables.read(tmp_path, columns=["b", "a"]).samples.columns) == ["b", "a"]
        refused(InputError, tmp_path, "p.csv has no column 'y'", label_column="y")
        parts = (
            "party_column = 'a' is not allowed.",
            "none for a folder: its files are the parties",
        )
        refused(ParameterError, tmp_path, *parts, party_column="a")

    def test_other_columns_are_refused(self, tmp_path: Path) -> None:
        written(tmp_path / "p.csv", "a,b\n1,2\n")
        written(tmp_path / "q.csv", "a,c\n1,2\n")
        parts = (
            f"The files in {tmp_path} name their columns differently.",
            "All parties need the same columns in the same order.",
        )
        refused(InputError, tmp_path, *parts)
        written(tmp_path / "q.csv", "b,a\n1,2\n")
        refused(InputError, tmp_path, *parts)
        written(tmp_path / "q.csv", "a\n1\n")
        refused(
            InputError,
            tmp_path,
            f"The files in {tmp_path} have [1, 2] columns.",
            "All parties need the same columns.",
        )

    def test_archives_of_all_parties(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "p.npz", X=np.ones((2, 3)), y=np.array([0, 1]))
        np.savez(tmp_path / "q.npz", X=np.zeros((1, 3)), y=np.array([1]))
        table = tables.read(tmp_path, label_column="y")
        assert table.samples.tolist() == [[1.0] * 3, [1.0] * 3, [0.0] * 3]
        assert table.labels is not None
        assert table.parties is not None
        assert (table.labels.tolist(), table.parties.tolist()) == ([0, 1, 1], ["p", "p", "q"])

    def test_sparse_files_mean_the_same_columns(self, tmp_path: Path) -> None:
        """A party whose rows lack the last columns, or column 0, would be refused or shifted.

        That is, if its file were read alone.
        """
        written(tmp_path / "p.svm", "1 0:5 3:1\n")
        written(tmp_path / "q.svm.gz", gzip.compress(b"0 1:7\n1 2:8\n"))
        table = tables.read(tmp_path, label_column="label")
        assert table.samples.toarray().tolist() == [[5, 0, 0, 1], [0, 7, 0, 0], [0, 0, 8, 0]]
        assert table.labels is not None
        assert table.parties is not None
        assert (table.labels.tolist(), table.parties.tolist()) == ([1, 0, 1], ["p", "q", "q"])
        written(tmp_path / "r.svm", "what is this\n")
        refused(FormatError, tmp_path, "not a valid svmlight table: r.svm cannot be read")
        written(tmp_path / "r.svm", "")
        again = tables.read(tmp_path, label_column="label")
        assert (again.samples != table.samples).nnz == 0
        assert again.roll == ("p", "q", "r"), "a party without rows is a party"
        refused(ParameterError, tmp_path, "drop = 'x'", "whose columns have no names", drop=["x"])

    def test_formats_that_do_not_fit_together(self, tmp_path: Path) -> None:
        written(tmp_path / "p.csv", "a,b\n1,2\n")
        parts = (
            "are of formats that do not fit together.",
            "all parties' files as tables (.csv, .parquet), all as .npz or all as .svm.",
        )
        np.savez(tmp_path / "q.npz", X=np.ones((2, 2)))
        refused(InputError, tmp_path, *parts)
        (tmp_path / "p.csv").rename(tmp_path / "z.csv")
        refused(InputError, tmp_path, *parts)
        (tmp_path / "z.csv").unlink()
        written(tmp_path / "z.svm", "1 1:1 2:2\n")
        refused(InputError, tmp_path, *parts)

    def test_classes_written_in_two_ways(self, tmp_path: Path) -> None:
        written(tmp_path / "p.csv", "a,y\n1,0\n")
        written(tmp_path / "q.csv", "a,y\n1,0\n2,other\n")
        parts = (
            "the column 'y' holds numbers, in others texts.",
            "Write the classes in the same way everywhere.",
        )
        refused(InputError, tmp_path, *parts, label_column="y")

    def test_two_files_of_one_party(self, tmp_path: Path) -> None:
        written(tmp_path / "p.csv", "a\n1\n")
        written(tmp_path / "p.csv.gz", gzip.compress(b"a\n1\n"))
        refused(
            InputError,
            tmp_path,
            f"The folder {tmp_path} has more than one file for 'p'.",
            "Put one file per party into it.",
        )

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        written(tmp_path / ".hidden.csv", "a\n1\n")
        refused(
            InputError,
            tmp_path,
            f"The folder {tmp_path} is empty.",
            "Put one file per party into it.",
        )

    def test_a_party_without_rows(self, tmp_path: Path) -> None:
        written(tmp_path / "p.csv", "a\n1\n")
        written(tmp_path / "q.csv", "a\n")
        written(tmp_path / "r.csv", "")
        table = tables.read(tmp_path)
        assert table.parties is not None
        assert (table.parties.tolist(), table.roll) == (["p"], ("p", "q", "r"))
        (tmp_path / "p.csv").unlink()
        refused(InputError, tmp_path, "has no rows.")
        nobody = tables.read(tmp_path, may_be_empty=True)
        assert (len(nobody), nobody.roll) == (0, ("q", "r"))
        (tmp_path / "q.csv").unlink()
        refused(InputError, tmp_path, "Every file in the folder", "is empty")

    @pytest.mark.parametrize("number", ["9223372036854775808", "1" + "0" * 30, "1e40"])
    def test_one_giant_does_not_make_a_column_of_texts(self, tmp_path: Path, number: str) -> None:
        """One party's number must not refuse everybody's table."""
        written(tmp_path / "p.csv", f"a\n1\n-2\n{number}\n")
        assert tables.read(tmp_path / "p.csv").samples.a.tolist() == [1.0, -2.0, float(number)]

    def test_one_file_without_rows_is_refused_unless_that_is_allowed(self, tmp_path: Path) -> None:
        written(tmp_path / "q.csv", "a,y\n")
        refused(InputError, tmp_path / "q.csv", "q.csv has no rows.", "leave the file out")
        assert len(tables.read(tmp_path / "q.csv", label_column="y", may_be_empty=True)) == 0

    def test_a_file_that_is_no_table(self, tmp_path: Path) -> None:
        written(tmp_path / "README.md", "hello")
        refused(ParameterError, tmp_path, "file = 'README.md' is not allowed.", "Allowed: a .csv")


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "t",
            "t.gz",
            ".gz",
            "t.csv.bz2",
            "t.parquet.gz",
            "t.npz.zst",
            "t.gz.csvx",
            ".csv.d",
        ],
    )
    def test_wrong_endings(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path / name, "a\n1\n")
        allowed = (
            "a .csv or .svm file (also .gz or .zst), a .parquet or .npz file, "
            "or a folder with one such file per party"
        )
        refused(
            ParameterError,
            path,
            f"file = {name!r} is not allowed.",
            f"Allowed: {allowed}.",
        )

    @pytest.mark.parametrize(
        "name", ["t.csv", "t.csv.gz", "t.parquet", "t.npz", "t.svm", "folder", "no/t.csv"]
    )
    def test_nothing_there(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FileNotFoundError, match="there is no such file or folder") as caught:
            tables.read(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name)


class TestWriting:
    @pytest.mark.parametrize("name", ["t.npz", "t.svm", "t.svm.gz"])
    def test_other_formats_are_only_read(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(
            ParameterError,
            match=r"out = .* is not allowed\. "
            r"Allowed: a \.csv \(also \.gz, \.zst\) or \.parquet file\.",
        ):
            tables.write(FRAME, tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_a_compressed_parquet_would_not_be_one(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match=r"file = 't\.parquet\.gz' is not allowed"):
            tables.write(FRAME, tmp_path / "t.parquet.gz")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"])
    def test_an_interrupted_write_leaves_the_old_file(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tables.write(FRAME, tmp_path / name)
        before = (tmp_path / name).read_bytes()
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            tables.write(FRAME.iloc[:1], tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="there is no such folder"):
            tables.write(FRAME, tmp_path / "no" / "t.csv")

    def test_texts_come_back(self, tmp_path: Path) -> None:
        texts = ["plain", "with, comma", 'with "quotes"', "two\nlines", "ünï ©ode", " spaces ", "'"]
        for name in ("t.csv", "t.csv.zst", "t.parquet"):
            tables.write(pd.DataFrame({"x": np.arange(len(texts)), "y": texts}), tmp_path / name)
            table = tables.read(tmp_path / name, label_column="y")
            assert table.labels is not None
            assert table.labels.tolist() == texts
