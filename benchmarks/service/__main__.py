"""`python -m benchmarks.service`: the service under load, beside a plain one, in one run.

Prints tables, and writes service.json and service.md to benchmarks/results. If anything that was
acknowledged is lost, or a sum is not exact, it says so, writes nothing and ends with 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.service import report
from benchmarks.service.measure import DatabaseName, Tell, measure
from benchmarks.service.postgresql import Absent, run_postgresql
from benchmarks.service.prepare import People, Work, prepare_ballots, prepare_contributions
from benchmarks.tables import RESULTS, draw_table, write_results
from ostraka.public.promise import plural


def main() -> None:
    """Measure, check, print, write."""
    options = _read_options()
    console = Console()
    names: list[DatabaseName] = (
        list(get_args(DatabaseName)) if options.database == "both" else [options.database]
    )
    facts = {"machine": report.describe_machine(), "versions": report.list_versions()}
    if "postgresql" in names:
        try:
            with run_postgresql() as cluster:
                facts["versions"]["postgresql"] = cluster.version
        except Absent as reason:
            if options.database == "postgresql":
                sys.exit(f"There is no PostgreSQL: {reason}.")
            console.print(f"PostgreSQL is left out: {reason}.")
            names.remove("postgresql")
    with _progress(console) as progress:
        works = _prepare(options, progress)
        runs = [run for name in names for run in _run_all(name, options, works, progress)]
    wrong = [
        f"{run.database}, {run.server}, {run.measured.work.title}: {problem}"
        for run in runs
        for problem in run.measured.checked.problems
    ]
    if wrong:
        sys.exit("\n".join(["The service has not kept its word:", *wrong]))
    sections = report.arrange(runs, options.clients)
    for title, rows in sections.items():
        console.print(draw_table(title, rows))
    write_results(options.out, "service", sections, **facts)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.service", description=__doc__)
    add = parser.add_argument
    add("--database", choices=[*get_args(DatabaseName), "both"], default="both")
    add("--contributions", type=int, default=20_000, help="how many; 0 for none")
    add("--ballots", type=int, default=20_000, help="how many; 0 for none")
    add("--baseline", type=int, default=2_000, help="how many of each for the baseline; 0: none")
    add("--clients", type=int, default=128, help="how many send at a time")
    add("--workers", type=int, nargs="+", default=[1, 2], help="processes of the service")
    add("--out", type=Path, default=RESULTS, help="folder for service.json and service.md")
    return parser.parse_args()


def _prepare(options: argparse.Namespace, progress: Progress) -> tuple[People, list[Work]]:
    n_contributions, n_ballots = options.contributions, options.ballots
    task = progress.add_task("signing what is sent", total=n_contributions + n_ballots)
    people = People.create(max(n_contributions, n_ballots))

    def tick() -> None:
        progress.advance(task)

    works = []
    if n_contributions:
        works.append(prepare_contributions(people, n_contributions, tick))
    if n_ballots:
        works.append(prepare_ballots(people, n_ballots, tick))
    return people, works


def _run_all(
    database: DatabaseName,
    options: argparse.Namespace,
    prepared: tuple[People, list[Work]],
    progress: Progress,
) -> list[report.Run]:
    people, works = prepared
    some = [work.take(options.baseline) for work in works]
    runs = []
    for workers in [*([None] if options.baseline else []), *options.workers]:
        name = report.PLAIN if workers is None else f"ours, {plural('worker', workers)}"

        def tell(work: Work, name: str = name) -> Tell:
            called = f"{database}, {name}, {work.title}"
            task = progress.add_task(called, total=len(work.uploads))
            return lambda n: progress.update(task, completed=n)

        found = measure(
            database,
            people,
            some if workers is None else works,
            workers=workers,
            n_clients=options.clients,
            tell=tell,
        )
        runs += [report.Run(database, name, measured) for measured in found]
    return runs


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, refresh_per_second=2)


if __name__ == "__main__":
    main()
