"""A short hunt with hostile bytes, the same in every run; `make fuzz` is the long one."""

from __future__ import annotations

from random import Random

import pytest

from fuzz.judge import judge
from fuzz.targets import TARGETS

ROUNDS = 4


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_in_out_comes_a_value_or_an_error_of_ours(name: str) -> None:
    target, rng = TARGETS[name], Random(4)
    seeds = list(target.seeds())
    for seed in seeds:
        found = judge(target, seed)
        assert found is None, f"a valid one: {found.kind}\n{found.told}"
    for _ in range(ROUNDS * target.short):
        data = target.mutate(rng.choice(seeds), rng, seeds)
        found = judge(target, data)
        assert found is None, f"{found.kind}\n{found.told}\n{data[:1000]!r}"
