"""Every error that Ostraka raises on purpose.

    OstrakaError
    ├── InputError (also a ValueError)      something given is not allowed
    │   ├── ShapeError                      arrays that do not fit together
    │   ├── NonFiniteError                  NaN or infinite numbers
    │   │   └── EntryError                  a gap or a text where nothing public says what it means
    │   ├── MissingColumnsError             a table without columns that are needed
    │   ├── SharedRowsError                 public samples that are private ones
    │   ├── FeatureNormError                a row outside the unit ball where a bound is promised
    │   ├── LabelError                      labels outside their range
    │   ├── UnknownClassError               a class that the poll does not have
    │   ├── EmptyPartyError                 a party without samples where samples are needed
    │   ├── TooFewPartiesError              fewer parties than the poll asks for
    │   ├── OtherPollError                  a contribution to another poll
    │   ├── NotOnRollError                  somebody whom the poll does not ask
    │   ├── ParameterError                  ε, λ or another parameter missing or outside its range
    │   │   └── UnusedOptionError           an option that the chosen method would have to ignore
    │   ├── RulesError                      a poll that breaks the rules of whoever is asked
    │   ├── ClassifierFileError             a classifier from a file did not answer
    │   ├── AccessError                     somebody whom a service does not know, or who may not
    │   ├── AbsentError                     something that a service does not have
    │   ├── StateError                      something that comes too early or too late
    │   ├── SizeError                       more bytes than there can be
    │   ├── RateError                       more requests than one sender may make
    │   ├── SignatureError                  a file that was changed, or is by somebody else
    │   ├── SealError                       an envelope for another server, poll or party
    │   │   └── KeyMismatchError            another key than the one that was sealed to
    │   └── WrongTypeError (also a TypeError) another kind of object than is needed
    ├── FormatError (also a ValueError)     a file or message that is not what it says it is
    ├── DownloadError (also an OSError)     a public data set that could not be fetched
    ├── ServiceError (also an OSError)      a service that does not answer, or not as one of ours
    ├── RehearsalError                      something seeded was about to be published
    ├── CloneError                          a cloned estimator was about to release
    ├── BudgetError                         a release costs more than a party has left
    ├── LedgerError                         a ledger that could not be used, or not that way
    └── PrecisionError                      a point was asked for more precisely than it is known

Each message says what is wrong, what was given, what is allowed, what to do, and, where something
could have happened, what did not. The facts are attributes, so that programs need not read the
text.

    room        what
    words       how errors speak
    root        what all of them have in common
    given       what is given and not allowed
    files       what is not what it says it is
    service     what a service refuses, or cannot do
    spending    what would be published or spent otherwise than it should
    told        warnings
    codes       what programs are told: exit codes, and statuses of HTTP
"""

from ostraka.errors.files import (
    ClassifierFileError,
    DownloadError,
    FormatError,
    KeyMismatchError,
    SealError,
    SignatureError,
    naming_file,
)
from ostraka.errors.given import (
    EmptyPartyError,
    EntryError,
    FeatureNormError,
    LabelError,
    MissingColumnsError,
    NonFiniteError,
    NotOnRollError,
    OtherPollError,
    ParameterError,
    RulesError,
    ShapeError,
    SharedRowsError,
    TooFewPartiesError,
    UnknownClassError,
    UnusedOptionError,
    WrongTypeError,
    count,
    number,
    printable,
)
from ostraka.errors.root import InputError, OstrakaError, nothing_spent
from ostraka.errors.service import (
    AbsentError,
    AccessError,
    RateError,
    ServiceError,
    SizeError,
    StateError,
)
from ostraka.errors.spending import (
    BudgetError,
    CloneError,
    LedgerError,
    PrecisionError,
    RehearsalError,
)
from ostraka.errors.told import (
    InputWarning,
    LedgerWarning,
    PrivacyWarning,
    ShiftWarning,
    warn_caller,
)
from ostraka.errors.words import NOTHING_HAPPENED, list_names, place_of, say_number, show, suggest

__all__ = [
    "OstrakaError",
    "InputError",
    "ShapeError",
    "NonFiniteError",
    "EntryError",
    "MissingColumnsError",
    "SharedRowsError",
    "FeatureNormError",
    "LabelError",
    "UnknownClassError",
    "EmptyPartyError",
    "TooFewPartiesError",
    "OtherPollError",
    "NotOnRollError",
    "ParameterError",
    "UnusedOptionError",
    "WrongTypeError",
    "ClassifierFileError",
    "FormatError",
    "DownloadError",
    "RehearsalError",
    "CloneError",
    "BudgetError",
    "LedgerError",
    "PrecisionError",
    "NOTHING_HAPPENED",
    "number",
    "count",
    "printable",
    "list_names",
    "naming_file",
    "place_of",
    "say_number",
    "suggest",
    "nothing_spent",
    "warn_caller",
    "show",
    "RulesError",
    "AccessError",
    "AbsentError",
    "StateError",
    "SizeError",
    "RateError",
    "ServiceError",
    "SignatureError",
    "SealError",
    "KeyMismatchError",
    "LedgerWarning",
    "PrivacyWarning",
    "InputWarning",
    "ShiftWarning",
]
