"""The tables for trying the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ostraka.experiments.ward_tables import CLASSES, N_WARDS, make_patients, write_ward_tables
from ostraka.public.describe import describe_columns


def test_they_have_what_tables_have(tmp_path: Path) -> None:
    write_ward_tables(tmp_path)
    public = pd.read_csv(tmp_path / "public.csv")
    kinds = {column.name: column.kind for column in describe_columns(public).columns}
    assert kinds == {
        "age": "number",
        "pressure": "number",
        "smokes": "category",
        "arrival": "category",
        "admitted": "date",
        "cost": "number",
    }
    columns = describe_columns(public).columns
    assert columns[0].width == 2, "ages have gaps"
    assert columns[-1].unit is not None, "costs have a long tail"  # type: ignore[union-attr]
    wards = sorted((tmp_path / "wards").iterdir())
    assert len(wards) == N_WARDS
    everybody = pd.read_csv(tmp_path / "hospitals.csv")
    assert len(everybody) == sum(len(pd.read_csv(ward)) for ward in wards)
    assert set(everybody["outcome"]) == set(CLASSES)


def test_neither_class_is_rare_and_the_columns_tell() -> None:
    frame = make_patients(4000, np.random.default_rng(1))
    stays = (frame["outcome"] == "ward").to_numpy()
    assert 0.35 < stays.mean() < 0.65
    old = frame["age"].fillna(56).to_numpy(dtype=float) > 56
    assert (stays == old).mean() > 0.7
