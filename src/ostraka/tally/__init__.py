"""What a coordinator adds up: which contributions are allowed, and their exact sum."""

from __future__ import annotations

from ostraka.tally.tally import Tally

__all__ = ["Tally"]
