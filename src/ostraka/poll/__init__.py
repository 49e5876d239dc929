"""What everybody agrees on before anybody is asked: `Poll`, one immutable value and one file.

poll           the value: what is in it, what it promises, how it is kept
making         how one is made, from public things alone
asking         what parties send, on a machine of their own or many in one process
after_noise    what comes of what was released
format         the file
"""

from __future__ import annotations

from ostraka.poll.after_noise import ENOUGH
from ostraka.poll.poll import Poll

__all__ = ["ENOUGH", "Poll"]
