"""What a service refuses, or cannot do."""

from __future__ import annotations

from ostraka.errors.root import InputError, OstrakaError

__all__ = ["AccessError", "AbsentError", "StateError", "SizeError", "RateError", "ServiceError"]


class AccessError(InputError):
    """Somebody whom the service does not know, or who may not do this."""

    def __init__(self, problem: str, remedy: str, *, known: bool = False) -> None:
        self.known = known
        super().__init__(problem, remedy)


class AbsentError(InputError):
    """Something that the service does not have."""


class StateError(InputError):
    """Something that comes too early or too late: a poll that is closed, a code that was used."""


class SizeError(InputError):
    """More bytes than there can be."""

    def __init__(self, what: str, *, got: int | None, most: int) -> None:
        self.what, self.got, self.most = what, got, most
        given = "of unknown length" if got is None else f"of {got:,} bytes"
        super().__init__(
            f"{what} {given} was not read.",
            f"Allowed: up to {most:,} bytes, with their number in the header Content-Length.",
        )


class RateError(InputError):
    """More requests in a short time than one sender may make."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(
            "Too many requests came from you.",
            f"Wait {seconds} {'second' if seconds == 1 else 'seconds'}, then try again.",
        )


class ServiceError(OstrakaError, OSError):
    """A service that does not answer, or not as one of ours.

    `operator`: what whoever runs it should know, in place of a trace of where it happened.
    """

    def __init__(self, address: str, problem: str, remedy: str, *, operator: str = "") -> None:
        self.address, self.problem, self.remedy = address, problem, remedy
        self.operator = operator
        super().__init__(f"The service at {address} {problem}. {remedy}")
