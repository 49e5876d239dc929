"""Exit codes: one per kind of error, so that scripts can tell them apart.

Documented in docs/how-to/command-line.md.
"""

from __future__ import annotations

from ostraka import errors

__all__ = ["EXIT_CODES", "INTERRUPTED", "code_of"]

INTERRUPTED = 130

EXIT_CODES: dict[type[Exception], int] = {
    errors.ShapeError: 10,
    errors.NonFiniteError: 11,
    errors.FeatureNormError: 12,
    errors.LabelError: 13,
    errors.UnknownClassError: 14,
    errors.EmptyPartyError: 15,
    errors.TooFewPartiesError: 16,
    errors.OtherPollError: 17,
    errors.ParameterError: 18,
    errors.WrongTypeError: 18,
    errors.InputError: 19,
    errors.FormatError: 20,
    errors.DownloadError: 34,
    errors.ClassifierFileError: 24,
    errors.SignatureError: 25,
    errors.RulesError: 26,
    errors.RehearsalError: 21,
    errors.CloneError: 22,
    errors.PrecisionError: 23,
    errors.BudgetError: 40,
    errors.LedgerError: 41,
    ValueError: 19,
    FileNotFoundError: 30,
    PermissionError: 31,
    OSError: 32,
    ImportError: 33,
}
"""The most specific class that fits gives the code.

A plain ValueError is scikit-learn refusing the input.
"""


def code_of(error: BaseException) -> int | None:
    """The exit code of an error, or None for one that is a bug of ours."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), None)
