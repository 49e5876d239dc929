"""Made-up tables of forty hospital wards, with everything that tables have: for trying the
commands.

Numbers with gaps, texts, dates, yes and no, costs with a long tail; each ward has a file of its
own, and a public table comes from the same kind of source. Nothing in them is about anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets import tables

__all__ = ["CLASSES", "N_WARDS", "make_patients", "write_ward_tables"]

CLASSES: Final = ("home", "ward")
N_WARDS: Final = 40
PATIENTS_EACH: Final = 50
N_PUBLIC: Final = 500
N_NEW: Final = 1000


def make_patients(n: int, generator: np.random.Generator) -> Any:
    """So many patients, and where each of them went: a pandas table."""
    import pandas as pd

    age = generator.integers(18, 95, n).astype(np.float64)
    pressure = generator.normal(125.0 + 0.3 * (age - 50.0), 15.0)
    smokes = generator.random(n) < 0.35
    arrival = generator.choice(["walked in", "ambulance", "transfer"], n, p=[0.6, 0.3, 0.1])
    days = generator.integers(0, 365, n)
    cost = np.exp(generator.normal(6.0, 2.5, n))
    risk = (age - 55.0) / 12.0 + (pressure - 128.0) / 15.0 + 1.5 * smokes
    risk += np.select([arrival == "ambulance", arrival == "transfer"], [1.5, 0.5], -0.8)
    stays = risk + generator.logistic(0.0, 0.5, n) > 0.4
    frame = pd.DataFrame(
        {
            "age": age,
            "pressure": pressure.round(1),
            "smokes": np.where(smokes, "yes", "no"),
            "arrival": arrival,
            "admitted": pd.Timestamp("2025-01-01") + pd.to_timedelta(days, unit="D"),
            "cost": cost.round(2),
            "outcome": np.where(stays, "ward", "home"),
        }
    )
    frame["admitted"] = frame["admitted"].dt.strftime("%Y-%m-%d")
    frame["age"] = frame["age"].where(_seldom(generator, n, 0.05)).astype("Int64")
    frame["smokes"] = frame["smokes"].where(_seldom(generator, n, 0.1))
    return frame


def write_ward_tables(folder: Path) -> None:
    """public.csv, wards/ward-1.csv to ward-40.csv, hospitals.csv with all of them, new.csv."""
    import pandas as pd

    generator = np.random.default_rng(0)
    (folder / "wards").mkdir(parents=True, exist_ok=True)
    public, new = (make_patients(n, generator) for n in (N_PUBLIC, N_NEW))
    tables.write(public.drop(columns="outcome"), folder / "public.csv")
    tables.write(new, folder / "new.csv")
    wards = {f"ward-{k}": make_patients(PATIENTS_EACH, generator) for k in range(1, N_WARDS + 1)}
    for name, ward in wards.items():
        tables.write(ward, folder / "wards" / f"{name}.csv")
    everybody = pd.concat([ward.assign(ward=name) for name, ward in wards.items()])
    tables.write(everybody, folder / "hospitals.csv")


def _seldom(generator: np.random.Generator, n: int, share: float) -> NDArray[np.bool_]:
    """Where something is known."""
    return generator.random(n) >= share
