"""What programs are told: for every kind of error an exit code, and the status of an HTTP answer.

Scripts tell errors apart by the exit code, which is the same whether a step ran on files or at a
service. Documented in docs/how-to/command-line.md.

Why not 4xx for errors of this machine (a missing file, a full disk): what goes wrong inside a
service is its own fault, and its answer does not say which file.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostraka.errors.files import (
    ClassifierFileError,
    DownloadError,
    FormatError,
    SealError,
    SignatureError,
)
from ostraka.errors.given import (
    EmptyPartyError,
    FeatureNormError,
    LabelError,
    NonFiniteError,
    OtherPollError,
    ParameterError,
    RulesError,
    ShapeError,
    TooFewPartiesError,
    UnknownClassError,
    WrongTypeError,
)
from ostraka.errors.root import InputError, OstrakaError
from ostraka.errors.service import (
    AbsentError,
    AccessError,
    RateError,
    ServiceError,
    SizeError,
    StateError,
)
from ostraka.errors.spending import (
    BudgetError,
    CloneError,
    LedgerError,
    PrecisionError,
    RehearsalError,
)

__all__ = ["CODES", "Codes", "codes_of", "kind_of", "revive"]


class Codes(NamedTuple):
    """What a program is told of an error."""

    exit: int
    status: int


CODES: Final[dict[type[Exception], Codes]] = {
    ShapeError: Codes(10, 422),
    NonFiniteError: Codes(11, 422),
    FeatureNormError: Codes(12, 422),
    LabelError: Codes(13, 422),
    UnknownClassError: Codes(14, 422),
    EmptyPartyError: Codes(15, 422),
    TooFewPartiesError: Codes(16, 409),
    OtherPollError: Codes(17, 422),
    ParameterError: Codes(18, 422),
    WrongTypeError: Codes(18, 422),
    InputError: Codes(19, 422),
    FormatError: Codes(20, 400),
    RehearsalError: Codes(21, 422),
    CloneError: Codes(22, 422),
    PrecisionError: Codes(23, 500),
    ClassifierFileError: Codes(24, 422),
    SignatureError: Codes(25, 422),
    RulesError: Codes(26, 422),
    AccessError: Codes(27, 403),
    StateError: Codes(28, 409),
    AbsentError: Codes(29, 404),
    FileNotFoundError: Codes(30, 500),
    PermissionError: Codes(31, 500),
    OSError: Codes(32, 500),
    ImportError: Codes(33, 500),
    DownloadError: Codes(34, 500),
    ServiceError: Codes(35, 502),
    RateError: Codes(36, 429),
    SizeError: Codes(37, 413),
    SealError: Codes(38, 422),
    BudgetError: Codes(40, 409),
    LedgerError: Codes(41, 503),
    ValueError: Codes(19, 500),
}
"""The most specific class that fits gives the codes.

A plain ValueError is scikit-learn refusing the input.
"""


def codes_of(error: BaseException) -> Codes | None:
    """What programs are told of an error; None of one that is a bug of ours."""
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), None)


def kind_of(error: BaseException) -> str:
    """The name of the class that gave the codes, by which a service calls an error."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind in CODES)


def revive(kind: str, text: str) -> OstrakaError:
    """An error of a service, of the kind that it would have here, with the service's words."""
    named = {each.__name__: each for each in CODES if issubclass(each, OstrakaError)}
    found = named.get(kind, InputError)
    told = type(found.__name__, (found,), {"__str__": lambda self: str(self.args[0])})
    error: OstrakaError = Exception.__new__(told)
    error.args = (text,)
    error.__dict__["name"] = ""  # of a parameter, as it is called over there
    return error
