"""JSON, changed by chance as a tree, so that it stays JSON; also where a text in it is JSON.

What no tree can say (a name twice, 1e400, a thousand brackets) is put into the text afterwards.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from fuzz.mutate import LETTERS, change_text, often

__all__ = ["change_json", "change_tree", "dump", "parse"]

DEEP: Final = 20_000
MANY: Final = 2500


class Raw(str):
    """A piece of text that stands in the JSON as it is."""


VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2, 3, 5, 255, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    2**22, 2**26, 2**38, 10**30, 10**308, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.0,
    2.0, -1.0, 1e-320, 5e-324,
    1e-12, 1e-300, 1e7, 9.9e6, 1e18, 1e154, 1e300, 1.7976931348623157e308, math.nan,
    math.inf, -math.inf,
    "", " ", "0", "1", "a", "A", "nan", "1e400", "party", "person", "row", "auto", "none", "null",
    [], [[]], {}, [None], [0], [1.0], ["a"], ["a", "a"], [True], {"a": 1}, {"": None},
    [[1, 2], [3]],
    Raw("1e400"), Raw("-1e400"), Raw("1e-400"), Raw("1.0"), Raw("1E0"), Raw("-0"),
    Raw('"\\ud800"'), Raw('"\\udc80\\ud800"'), Raw('"\\u0000"'),
    Raw("NaN"), Raw("Infinity"), Raw("truth"), Raw(""), Raw('"\\u001b[31m"'),
)  # fmt: skip
GIANTS: Final[tuple[Any, ...]] = (
    "x" * MANY, list(range(MANY)), [0.5] * MANY, ["a"] * MANY, [[]] * MANY, {"x" * MANY: 1},
    Raw("9" * 4300), Raw("9" * 5000), Raw("0." + "1" * 5000), Raw("[" * DEEP),
    Raw("[" * 900 + "]" * 900), Raw('{"a":' * 900 + "1" + "}" * 900),
)  # fmt: skip


def change_json(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """JSON of JSON; of anything else, another text."""
    tree = parse(data)
    if tree is None or rng.random() < 0.1:
        return change_text(data, rng, others)
    donor = parse(rng.choice(others)) if others else None
    for _ in range(often(rng)):
        tree = change_tree(tree, rng, donor)
    end = b"\n" if data.endswith(b"\n") else b""
    return _spoil(dump(tree), rng).encode("ascii", "replace") + end


def change_tree(tree: Any, rng: Random, donor: Any = None) -> Any:
    """The tree with another value, name or length somewhere, or a part of a donor's."""
    holder = {"": tree}
    places = list(_places(holder))
    within, key = rng.choice(places)
    if rng.random() < 0.3 and len(places) > 1:  # names and parts of the whole, not of its leaves
        within, key = rng.choice(places[: max(2, len(places) // 8)])
    old = within[key]
    do = rng.random()
    if do < 0.30:
        within[key] = _fresh(rng.choice(VALUES if rng.random() < 0.9 else GIANTS))
    elif do < 0.70:
        within[key] = _tweak(old, rng, donor)
    elif do < 0.80:
        other_within, other_key = rng.choice(places)
        within[key] = _fresh(other_within[other_key])
    elif do < 0.88 and donor is not None:
        other_within, other_key = rng.choice(list(_places({"": donor})))
        within[key] = _fresh(other_within[other_key])
    elif isinstance(within, dict) and within is not holder:
        _rename(within, key, rng)
    elif within is not holder:
        del within[key]
    return holder[""]


def dump(tree: Any) -> str:
    """As ours are written: sorted, without spaces, in ASCII."""
    raw: list[str] = []

    def marked(node: Any) -> Any:
        if isinstance(node, Raw):
            raw.append(str(node))
            return f"\0{len(raw) - 1}\0"
        if isinstance(node, dict):
            return {name: marked(each) for name, each in node.items()}
        return [marked(each) for each in node] if isinstance(node, list) else node

    try:
        text = json.dumps(marked(tree), sort_keys=True, separators=(",", ":"))
    except ValueError:  # a whole number of more digits than Python writes
        return "{}"
    return re.sub(r'"\\u0000(\d+)\\u0000"', lambda found: raw[int(found[1])], text)


def parse(text: bytes) -> Any:
    """A tree; None of what is none, or is deeper than we go."""
    try:
        tree = json.loads(text)
        return tree if _is_shallow(tree, 40) else None
    except (ValueError, RecursionError):
        return None


def _is_shallow(tree: Any, levels: int) -> bool:
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in parts)


def _spoil(text: str, rng: Random) -> str:
    """Now and then what no tree can say."""
    do = rng.random()
    names = list(re.finditer(r'[{,]("(?:[^"\\]|\\.)*"):', text)) if do < 0.1 else []
    if do < 0.06 and names:
        found = rng.choice(names)
        return f"{text[: found.end()]}null,{found[1]}:{text[found.end() :]}"
    if do < 0.08:
        return text.replace(",", ", ").replace(":", ": ")
    if do < 0.1 and names:  # the same name, written otherwise
        found = rng.choice(names)
        name = found[1][1:-1]
        letter = f"\\u{ord(name[0]):04x}{name[1:]}" if name and name[0] != "\\" else name
        return f'{text[: found.start(1)]}"{letter}"{text[found.end(1) :]}'
    return text


def _places(within: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree, from the outside in; not each of thousands."""
    keys: Sequence[Any] = list(within) if isinstance(within, dict) else range(min(len(within), 50))
    for key in keys:
        yield within, key
        if isinstance(within[key], dict | list):
            yield from _places(within[key])


def _fresh(value: Any) -> Any:
    """So that nothing stands in two places at once."""
    if isinstance(value, dict):
        return {name: _fresh(each) for name, each in value.items()}
    return [_fresh(each) for each in value] if isinstance(value, list) else value


def _tweak(old: Any, rng: Random, donor: Any) -> Any:
    """Something near."""
    if isinstance(old, bool) or old is None:
        return rng.choice((not old, None, 0, 1, "true"))
    if isinstance(old, int):
        return rng.choice(
            (old + 1, old - 1, -old, 2 * old, old * 1000, float(old % 2**60), str(old % 2**60))
        )
    if isinstance(old, float):
        near = (math.nextafter(old, math.inf), math.nextafter(old, -math.inf), -old)
        far = (old * 2.0, old / 2.0, old * 1e100, old / 1e100, old * 1.001, old * 0.999)
        return rng.choice((*near, *far, round(old) if math.isfinite(old) else 0, str(old)))
    if isinstance(old, str):
        return _other_text(old, rng, donor)
    if isinstance(old, list):
        return _other_list(old, rng)
    return {**old, rng.choice(("", "x", "format", "ostraka")): None}


def _other_text(old: str, rng: Random, donor: Any) -> str:
    inner = parse(old.encode("utf-8", "surrogatepass")) if old[:1] in ("{", "[") else None
    if inner is not None and rng.random() < 0.9:
        return _spoil(dump(change_tree(inner, rng, donor)), rng)
    if rng.random() < 0.2:
        return rng.choice(
            (old.upper(), old + " ", " " + old, old[::-1], old * 2, rng.choice(LETTERS))
        )
    changed = change_text(old.encode("utf-8", "surrogatepass"), rng, ())
    return changed.decode("utf-8", "surrogateescape")


def _other_list(old: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(old)) if old else 0
    return rng.choice(
        (
            old[:at] + old[at + 1 :],
            [_fresh(each) for each in (*old, *old[at : at + 1])],
            old[::-1],
            [],
            [_fresh(each) for each in old * rng.choice((2, 1000))][:MANY],
            [old],
        )
    )


def _rename(within: dict[str, Any], key: str, rng: Random) -> None:
    if rng.random() < 0.6:
        del within[key]
    else:
        within[rng.choice((key + "_", key.upper(), rng.choice(LETTERS)))] = within.pop(key)
