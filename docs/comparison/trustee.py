"""What a trustee costs in accuracy, and what liars cost where nobody can check them.

Usage: python docs/comparison/trustee.py DATA_FOLDER > docs/comparison/trustee.md

`auto` at pure ε, on 3 splits with 10 draws of noise each; mean and standard deviation of accuracy
on test rows. Liars send the negative of what the honest ones have in sum: 20 of 200 as long as the
ball allows, which is checked without a trustee; or one, 200 times as long, which a seal hides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from ostraka.datasets import load
from ostraka.experiments.compare import CompareSettings, draw_split
from ostraka.experiments.noise_trials import judge_scores
from ostraka.experiments.tasks import Split
from ostraka.methods.base import Work
from ostraka.poll import Poll
from ostraka.sealing import Card, Servers
from ostraka.signing import SecretKey
from ostraka.solve.losses import Array
from ostraka.tally import Tally
from ostraka.tally.domain import Ball

TASKS = {"har": 1000, "kdd99": 5000, "digits": 200}
EPSILONS = (1.0, 3.0, 10.0)
SPLITS, DRAWS = 3, 10
KEYS = (SecretKey.from_seed(bytes([number]) * 32) for number in (1, 2))
CARDS = tuple(Card.of(name, key) for name, key in zip(("coordinator", "trustee"), KEYS))
SERVERS = Servers(coordinator=CARDS[0], trustee=CARDS[1])


def main(folder: str) -> None:
    """Print both tables."""
    print(
        "| task | M | ε | coordinator alone | with a trustee | as if M were |\n" + "|---" * 6 + "|"
    )
    for task, n_parties in TASKS.items():
        data = load(task, folder)
        settings = CompareSettings(task=task)
        drawn = [draw_split(data, settings, n_parties, trial) for trial in range(SPLITS)]
        for epsilon in EPSILONS:
            cells = [tell(measure(drawn, epsilon, servers)) for servers in (None, SERVERS)]
            alike = round(n_parties / 2**0.5)
            print(f"| {task} | {n_parties} | {epsilon:g} | {' | '.join(cells)} | {alike} |")
    print("\n| digits, M = 200, ε = 3, with a trustee | accuracy |\n|---|---|")
    drawn = [draw_split(load("digits", folder), CompareSettings(task="digits"), 200, 0)]
    for words, n_liars, length in (
        ("nobody lies", 0, 0.0),
        ("20 liars within the ball", 20, 1.0),
        ("1 liar at 200 times the ball", 1, 200.0),
    ):
        print(f"| {words} | {tell(measure(drawn, 3.0, SERVERS, n_liars, length))} |")


def measure(
    splits: list[Split],
    epsilon: float,
    servers: Servers | None,
    n_liars: int = 0,
    length: float = 0.0,
) -> list[float]:
    """Accuracies."""
    return [
        accuracy
        for number, drawn in enumerate(splits)
        for accuracy in _measure(drawn, epsilon, servers, n_liars, length, number)
    ]


def _measure(
    drawn: Split, epsilon: float, servers: Servers | None, n_liars: int, length: float, number: int
) -> Iterator[float]:
    poll = Poll.create(
        drawn.auxiliary,
        epsilon=epsilon,
        parties=len(drawn.parties),
        samples_each=len(drawn.parties.labels) // len(drawn.parties),
        servers=servers,
    )
    tally = Tally(poll, rehearsal=True)
    for names, block in poll.blocks(drawn.parties, Work()):
        tally.add_block(names, block)
    mechanism = poll.mechanism(tally.n_units)
    vector = _lie(poll, tally.total.astype(np.float64), tally.n_parties, n_liars, length)
    mean = vector * (mechanism.grid / mechanism.divisor)
    for noise in mechanism.rehearse(np.random.default_rng(number), DRAWS):
        model, _ = poll.conclude(mean + noise, mechanism)
        yield float(judge_scores(model.score_features(drawn.test.features), drawn.test))


def _lie(poll: Poll, total: Array, n_parties: int, n_liars: int, length: float) -> Array:
    """With liars in the place of as many honest parties, on average."""
    assert isinstance(poll.domain, Ball)
    size = np.abs(total).sum() if poll.domain.norm == "l1" else np.linalg.norm(total)
    lie = -total / size * poll.domain.length * length * n_liars
    return np.asarray(total * (1.0 - n_liars / n_parties) + lie)


def tell(found: list[float]) -> str:
    """Mean and deviation."""
    return f"{np.mean(found):.3f} ± {np.std(found):.3f}"


if __name__ == "__main__":
    main(sys.argv[1])
