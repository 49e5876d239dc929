"""`ostraka fetch`: a release, or a poll, from a service, checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.members import AT, PLAIN, at_poll
from ostraka.cli.options import FORCE, SITE
from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.client import Client, Membership
    from ostraka.release import Release
    from ostraka.signing import Signature

EXAMPLES = examples(
    "ostraka fetch https://polls.example.org/polls/3f2a... --out model.ostraka",
    "ostraka fetch https://polls.example.org/polls/3f2a... --poll --out stroke.poll",
    "ostraka fetch https://polls.example.org/polls/3f2a... --list --out stroke.list",
)


def fetch(
    address: Annotated[str, typer.Argument(help=AT)],
    *,
    out: Annotated[Path, option(None, "Where to write it.", of="file")],
    poll: Annotated[
        bool, option(None, "The poll's own file instead of its release.", "--poll")
    ] = False,
    list_: Annotated[
        bool,
        option(None, "The signed list of what is counted instead, for who came by file.", "--list"),
    ] = False,
    force: Annotated[bool, FORCE] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Get the release of a poll, check it, and write it with its signature beside it.

    What was changed on the way, is not signed by the service that you have joined, or does not
    follow from the poll, is not written.
    """
    from ostraka.errors import ParameterError
    from ostraka.files import check_new, check_writable, write_atomically
    from ostraka.signing.signature import path_of

    if poll and list_:
        raise ParameterError("--list", got="with --poll", allowed="one of the two")
    check_new(out, force)
    if not list_:
        check_new(path_of(out), force)
    check_writable(out)
    member, where = at_poll(site, address, "admin", "party", "reader", plain=plain)
    with member.session() as (member, client):
        if list_:
            _write_list(member, client, where.digest, out)
            return
        if poll:
            from ostraka.client.sending import fetch_poll

            content = fetch_poll(member, client, where.digest).to_bytes()
            signature = client.poll_signature(where.digest)
            told = {"What next?": f"Read it: ostraka poll show {out}"}
        else:
            release, signature = get_release(member, client, where.digest)
            content = release.to_bytes()
            from ostraka.cli.inspect import answers, price

            told = answers(release, out, price(release))
    write_atomically(out, content)
    write_atomically(path_of(out), signature.to_bytes())
    signed = f"{path_of(out)}, by {member.service}, the service that you have joined."
    print_answers({"Wrote": str(out), "Signed": signed, **told})


def _write_list(member: Membership, client: Client, digest: str, out: Path) -> None:
    from ostraka.client.sending import fetch_list
    from ostraka.files import write_atomically

    listed = fetch_list(member, client, digest)
    keys = [member.service, *(link.old for link in client.identity().earlier)]  # of old receipts
    signers = " ".join(f"--signer {key}" for key in keys)
    write_atomically(out, listed.to_bytes())
    print_answers(
        {
            "Wrote": f"{out}: {listed.parties:,} commitments, signed by {member.service}.",
            "What next?": "Send it to whoever has contributed by file. They check their receipt: "
            f"ostraka verify NAME.receipt --list {out} {signers}",
        }
    )


def get_release(member: Membership, client: Client, digest: str) -> tuple[Release, Signature]:
    """A poll's release, if it is signed by the service and follows from the poll."""
    from ostraka.client.sending import fetch_poll
    from ostraka.release import Release
    from ostraka.verifying import check_release, check_signature

    content, signature = client.release(digest)
    check_signature(content, signature, member.service)
    release = Release.from_bytes(content)
    check_release(release, fetch_poll(member, client, digest))
    return release, signature
