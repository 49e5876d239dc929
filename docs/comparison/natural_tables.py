"""Tables with natural parties, from the public files fars.csv.gz and bank.csv.gz: make compare runs
it before it compares methods on them.

    fars-states    traffic accidents in the USA, a party for each state
    fars-ages      the same, a party for each state and ten years of age, up to seventy and over
    fars-dealt     the same, without parties: they are dealt out at random
    bank-groups    customers of a bank, a party for each job, education and marital status
    bank-dealt     the same, dealt out
    fars-fatal     accidents, dealt out: who died, and who did not
    digits-odd     scikit-learn's digits, dealt out: odd or even

Usage: python docs/comparison/natural_tables.py DATA_FOLDER OUT_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_digits


def main(source: Path, out: Path) -> None:
    """Write the tables."""
    out.mkdir(parents=True, exist_ok=True)
    fars = pd.read_csv(source / "fars.csv.gz").drop(columns=["RACE", "HISPANIC_ORIGIN"])
    states = fars.pop("CASE_STATE")
    decades = (fars["AGE"] // 10).clip(upper=7).astype(str)
    unknown = {"AGE": [99], "ALCOHOL_TEST_RESULT": [95, 96, 97, 98, 99]}
    for column, values in unknown.items():
        fars[column] = fars[column].where(~fars[column].isin(values))
    fars.assign(party=states).to_csv(out / "fars-states.csv", index=False)
    fars.assign(party=states + "/" + decades).to_csv(out / "fars-ages.csv", index=False)
    fars.to_csv(out / "fars-dealt.csv", index=False)
    bank = pd.read_csv(source / "bank.csv.gz").drop(columns=["duration"])
    bank["pdays"] = bank["pdays"].where(bank["pdays"] != 999)
    groups = bank["job"] + "/" + bank["education"] + "/" + bank["marital"]
    bank.assign(party=groups).to_csv(out / "bank-groups.csv", index=False)
    bank.to_csv(out / "bank-dealt.csv", index=False)
    fatal = fars.pop("INJURY_SEVERITY").eq("Fatal_Injury").map({True: "yes", False: "no"})
    fars.assign(fatal=fatal).to_csv(out / "fars-fatal.csv", index=False)
    digits, names = load_digits(return_X_y=True, as_frame=True)
    digits.assign(odd=(names % 2).map({1: "yes", 0: "no"})).to_csv(
        out / "digits-odd.csv", index=False
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
