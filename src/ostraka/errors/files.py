"""Files and messages that are not what they say, or not to be had."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ostraka.errors.root import InputError, OstrakaError
from ostraka.errors.words import one_line

__all__ = [
    "FormatError",
    "naming_file",
    "ClassifierFileError",
    "SignatureError",
    "SealError",
    "KeyMismatchError",
    "DownloadError",
]

LONGEST_PROBLEM = 1000
"""What is wrong is said with parts of the file, which may be of any length."""


class FormatError(OstrakaError, ValueError):
    """A file or message that is not what it says it is."""

    def __init__(self, what: str, problem: str) -> None:
        self.what, self.problem, self.file = what, one_line(problem, LONGEST_PROBLEM), ""
        self.outcome = "Nothing was loaded."
        super().__init__(what)

    def __str__(self) -> str:
        name = repr(self.file) if self.file else "This"
        return f"{name} is not a valid {self.what}: {self.problem}. {self.outcome}"


@contextlib.contextmanager
def naming_file(path: object) -> Iterator[None]:
    """Let what is refused within say which file it is."""
    try:
        yield
    except FormatError as error:
        error.file = str(path)
        raise


class ClassifierFileError(InputError):
    """A classifier from a file did not answer."""

    def __init__(self, file: str, cause: str, problem: str, remedy: str) -> None:
        self.file, self.cause = file, cause
        super().__init__(f"The classifier {file} {problem}.", remedy)


class SignatureError(InputError):
    """A file that was changed, or that is not by whom it should be."""


class SealError(InputError):
    """An envelope that is for another server, poll or party, or that was changed."""

    def __init__(self, party: str, role: str) -> None:
        self.party, self.role = party, role
        super().__init__(
            f"What party {party} has sealed to the {role} does not open: it was changed, or sealed "
            "for something else.",
            "Ask the party to contribute to this poll again.",
        )


class KeyMismatchError(SealError):
    """Another key than the one that parties have sealed to."""

    def __init__(self, got: str, wanted: str) -> None:
        self.party, self.role, self.got, self.wanted = "", "coordinator", got, wanted
        InputError.__init__(
            self,
            f"Parties have not sealed what they sent to the key {got}.",
            f"Give the secret key of {wanted}.",
        )


class DownloadError(OstrakaError, OSError):
    """A public data set that could not be fetched."""

    def __init__(
        self,
        file: str,
        folder: str,
        tried: tuple[tuple[str, str], ...],
        *,
        about: str,
        variable: str,
    ) -> None:
        self.file, self.folder, self.tried, self.about, self.variable = (
            file,
            folder,
            tried,
            about,
            variable,
        )
        reasons = "; ".join(f"{address} ({reason})" for address, reason in tried)
        problem = (
            f"could not be downloaded. Tried: {reasons}"
            if tried
            else f"is not in the folder {folder}, and no public address has it"
        )
        super().__init__(
            f"{file} {problem}. It is {about}. Put it into the folder {folder} by hand, or let "
            f"the environment variable {variable} "
            "name the folder that holds it. Nothing was loaded."
        )
