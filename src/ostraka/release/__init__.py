"""The published model with its certificate: the only thing that leaves."""

from __future__ import annotations

from ostraka.release.release import Rehearsed, Release

__all__ = ["Rehearsed", "Release"]
