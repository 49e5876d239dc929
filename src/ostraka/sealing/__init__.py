"""What lets two servers add up what neither of them can read.

card       who a server is: its name, the key that it signs with, the key that is sealed to
envelope   a message that one server alone can open
shares     one vector as two, each of which looks like chance
"""

from ostraka.sealing.card import Card, Servers
from ostraka.sealing.envelope import Opener, Sealed

__all__ = ["Card", "Opener", "Sealed", "Servers"]
