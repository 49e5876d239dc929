"""Warnings: what is allowed, and that people should know."""

from __future__ import annotations

import inspect
import warnings

__all__ = ["LedgerWarning", "PrivacyWarning", "InputWarning", "ShiftWarning", "warn_caller"]


class LedgerWarning(UserWarning):
    """A release was made and charged, but could not be recorded: its charge stays open."""


class PrivacyWarning(UserWarning):
    """Something is allowed, but protects less than people may think.

    Told from public things, or to whoever holds the rows.
    """


class InputWarning(UserWarning):
    """Something given is allowed, but probably not meant.

    Told from public things, before anything is drawn.
    """


class ShiftWarning(UserWarning):
    """The parties' samples are not distributed like the auxiliary ones.

    Told from what was released, so it costs nothing.
    """


def warn_caller(told: str, kind: type[Warning]) -> None:
    """Warn at the line outside of Ostraka that led here, however deep it is."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "ostraka":
        frame, level = frame.f_back, level + 1
    warnings.warn(told, kind, stacklevel=level)
