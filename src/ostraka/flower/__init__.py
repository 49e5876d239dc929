"""The same poll over Flower: nodes instead of files by mail, the same bytes and the same one door.

    room          what
    settings      what a coordinator says in the run config, and a node in its own
    wire          what messages hold: a poll's bytes one way, contributions' bytes the other
    counting      the one place where bytes that a node sent become a counted contribution
    asking        send the poll to nodes as they come, take their answers, until a deadline
    coordinator   a `ServerApp`: ask, then publish as `ostraka release` does
    node          a `ClientApp`: heed the site's rules, contribute as `ostraka contribute` does

Nothing is computed here that the library does not compute: what a node sends are the bytes of its
contribution's file, and what the server publishes goes through the same tally and the same door.

Not promised: whoever starts a run sends the app whose code every node executes, and the server, and
the SuperLink between, see every contribution. See docs/how-to/flower.md.
"""

try:
    import flwr.app as _  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "A poll over Flower needs one more package. Install it with: pip install 'ostraka[flower]'"
    ) from error

from ostraka.flower.coordinator import server
from ostraka.flower.node import Rows, client, create_client, create_sharded_client

__all__ = ["Rows", "client", "create_client", "create_sharded_client", "server"]
