"""What every party has spent: charged before anything is drawn, never forgotten, never rounded.

    Budget   the most that a party may lose over all releases: ε, or ρ, or (ε, δ)
    Cost     what one release promises, and therefore costs each party that takes part
    Ledger   `charge`, then draw and publish, then `settle`; a file, or any other `Storage`
    Charge   one line of it; open until a release is recorded, but already counted as spent

Guarantee: whatever is released after being charged, and however it was chosen from earlier
releases, every party's total loss stays within its budget. Proof: `book.proof.md`.
"""

from ostraka.ledger.amounts import Amount, Budget, Cost, Kind
from ostraka.ledger.book import Ledger, digest_of
from ostraka.ledger.sqlite import SqliteFile
from ostraka.ledger.storage import Account, Charge, Rows, Storage

__all__ = [
    "Ledger",
    "Budget",
    "Cost",
    "Charge",
    "Account",
    "Amount",
    "Kind",
    "Storage",
    "Rows",
    "SqliteFile",
    "digest_of",
]
