"""What travels between a party's machine and a coordinator's service, beside polls and releases.

    module      what                                        who signs it
    code        a single-use code that lets somebody join   requests: code and party; answers: the
                                                            service
    upload      a contribution on its way                   the party
    receipt     "your contribution has arrived"             the service
    manifest    the frozen list of what is counted          the service
    succession  another key in place of a service's own      the service, by the old key
    states      how far a poll has come                     nobody

Each is a value with one form in bytes, checked when it is read. Nothing here knows about networks
or databases.
"""

from ostraka.exchange.code import JoinCode, JoinRequest, admission
from ostraka.exchange.manifest import Manifest
from ostraka.exchange.receipt import Receipt
from ostraka.exchange.succession import Succession, follow
from ostraka.exchange.upload import Upload, commit

__all__ = [
    "JoinCode",
    "JoinRequest",
    "Manifest",
    "Receipt",
    "Succession",
    "Upload",
    "admission",
    "commit",
    "follow",
]
