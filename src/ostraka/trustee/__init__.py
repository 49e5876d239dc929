"""The second server, which holds the other half of every contribution.

    module     whose        what
    request    coordinator  who is in, and the envelopes to the trustee: frozen and signed
    desk       trustee      opens them, adds up, charges, adds its own noise, answers once
    answer     trustee      the noisy sum of its shares, signed
    joining    coordinator  adds its own shares of the very same parties

Guarantee (desk.proof.md): ε holds against everybody as long as one of the two is honest.
"""

from ostraka.trustee.answer import Answer
from ostraka.trustee.desk import Desk
from ostraka.trustee.joining import Asking, Joining, check_coordinator
from ostraka.trustee.request import Request

__all__ = ["Answer", "Asking", "Desk", "Joining", "Request", "check_coordinator"]
