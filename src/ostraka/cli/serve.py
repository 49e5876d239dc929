"""`ostraka serve`: the coordinator as a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.help import Command, Group, examples, option
from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.service.settings import Settings
    from ostraka.service.starting import Started

EXAMPLES = examples(
    "ostraka serve",
    "ostraka serve --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem \\\n"
    "    --address https://polls.example.org",
    "ostraka serve --database postgresql://ostraka@db/ostraka \\\n    --workers 4 --behind-proxy",
)
PLACE, REACH, PROMISE, STAFF = "Where things are", "Who can reach it", "Promise", "Staff"
DEFAULT_DATA = Path("ostraka-data")
DATA = option(
    PLACE, "The folder for database, files and key. Only you may look into it.", of="folder"
)
DATABASE = option(
    PLACE,
    "Another database than SQLite in the data folder: postgresql://USER:PASSWORD@HOST/NAME. "
    "A password can come from PGPASSWORD or a .pgpass file instead.",
    of="url",
)
FILES = option(
    PLACE,
    "Another place for large files than the data folder: a path or a URL that fsspec knows, such "
    "as s3://bucket/ostraka. Several hosts need one that all of them reach.",
    of="url",
)
KEY = option(PLACE, "The service's secret key, if not in the data folder.", of="file")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

app = typer.Typer(
    name="serve",
    cls=Group,
    invoke_without_command=True,
    rich_markup_mode="rich",
    epilog=EXAMPLES,
    help="Run the coordinator as a service: parties join, contribute and look at results over "
    "HTTPS.\n\n"
    "The first start makes everything in the data folder and prints a link for the first admin.",
)


@app.callback()
def serve(
    context: typer.Context,
    *,
    data: Annotated[Path, DATA] = DEFAULT_DATA,
    database: Annotated[str | None, DATABASE] = None,
    files: Annotated[str | None, FILES] = None,
    key: Annotated[Path | None, KEY] = None,
    host: Annotated[
        str, option(REACH, "The address to listen at; 0.0.0.0 is all of them.", of="host")
    ] = "127.0.0.1",
    port: Annotated[int, option(REACH, "The port to listen at.", of="number")] = 8470,
    address: Annotated[
        str | None,
        option(REACH, "How parties reach it, for links, if not by host and port.", of="address"),
    ] = None,
    tls_certificate: Annotated[
        Path | None, option(REACH, "The certificate, with its chain, in PEM.", of="file")
    ] = None,
    tls_key: Annotated[Path | None, option(REACH, "The certificate's key.", of="file")] = None,
    behind_proxy: Annotated[
        bool,
        option(
            REACH,
            "A proxy on this machine speaks TLS with the parties, and says from where they come.",
            "--behind-proxy",
        ),
    ] = False,
    workers: Annotated[
        int, option(REACH, "How many processes answer, on one port.", of="number")
    ] = 1,
    name: Annotated[
        str,
        option(REACH, "How people call it, where a poll has a trustee, too.", of="name"),
    ] = "coordinator",
    rate: Annotated[
        float,
        option(REACH, "Requests a second that one token may make for long.", of="number"),
    ] = 50.0,
    epsilon: Annotated[
        float | None,
        option(
            PROMISE,
            "At the first start: the most ε that every party may lose in all. Default 10, with δ "
            "1e-5.",
            of="number",
        ),
    ] = None,
    delta: Annotated[
        float | None, option(PROMISE, "The same for δ, with --epsilon.", of="number")
    ] = None,
    protects: Annotated[
        str | None,
        option(
            PROMISE,
            "At the first start: of whom the budget is. party (default), or person, if the polls "
            "will protect single persons.",
            of="party|person",
        ),
    ] = None,
    grid: Annotated[
        float,
        option(
            PROMISE,
            "A release appears a multiple of so many seconds after its making began, so that "
            "nobody sees how long it took.",
            of="seconds",
        ),
    ] = 5.0,
    oidc_issuer: Annotated[
        str | None,
        option(STAFF, "Who vouches for staff by OpenID Connect tokens.", of="address"),
    ] = None,
    oidc_audience: Annotated[
        str | None, option(STAFF, "What the issuer calls this service.", of="name")
    ] = None,
    oidc_admin: Annotated[
        list[str] | None,
        option(STAFF, "The mail address of an admin; may be repeated.", of="mail"),
    ] = None,
    oidc_reader: Annotated[
        list[str] | None,
        option(STAFF, "The mail address of a reader; may be repeated.", of="mail"),
    ] = None,
) -> None:
    """Run the service until it is stopped."""
    settings = _settings(
        data=str(data),
        database=database,
        files=files,
        key=None if key is None else str(key),
        epsilon=epsilon,
        delta=delta,
        protects=protects,
        name=name,
        rate=rate,
        grid=grid,
        issuer=oidc_issuer,
        audience=oidc_audience,
        admins=tuple(oidc_admin or ()),
        readers=tuple(oidc_reader or ()),
    )
    if context.invoked_subcommand is not None:
        context.obj = settings
        return
    _check_reach(host, port, tls_certificate, tls_key, behind_proxy)
    _check_start(host, port, workers, tls_certificate, tls_key)
    from ostraka.service.running import is_running
    from ostraka.service.starting import prepare

    scheme = "http" if tls_certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    where = (address or f"{scheme}://{shown}:{port}").rstrip("/")
    started = prepare(settings)
    _say_start(started, settings, where, others=is_running(started.service.database))
    started.service.database.close()
    _run(settings, host, port, workers, tls_certificate, tls_key, behind_proxy)


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka serve migrate",
        "ostraka serve --database postgresql://ostraka@db/ostraka migrate",
    ),
)
def migrate(context: typer.Context) -> None:
    """Make the tables, or bring those of an earlier Ostraka to this one's form.

    Stop every process of the service, and make a backup, before. Options stand before the word
    migrate.
    """
    from ostraka.service.starting import migrate_database

    before, after = migrate_database(context.obj)
    if before == after:
        typer.echo(f"The tables are of version {after} already. Nothing was changed.")
        return
    came = "an empty database" if before is None else f"version {before}"
    typer.echo(f"The tables are now of version {after}; before, it was {came}.")


@app.command(cls=Command, epilog=examples("ostraka serve link", "ostraka serve link --name ann"))
def link(
    context: typer.Context,
    *,
    name: Annotated[str, option(None, "What the admin is called in the log.", of="name")] = "admin",
    address: Annotated[
        str, option(None, "How the admin reaches the service.", of="address")
    ] = "http://127.0.0.1:8470",
) -> None:
    """Print a link with which an admin can join, once, within a week.

    For whoever has this machine, and has lost the link of the first start, or every admin's token.
    Options of serve stand before the word link.
    """
    from ostraka.service.starting import first_code, open_service

    service = open_service(context.obj)
    typer.echo(_join_command(address.rstrip("/"), str(first_code(service, name))))
    service.database.close()


@app.command(
    cls=Command,
    epilog=examples("ostraka serve rotate", "ostraka serve rotate --stolen"),
)
def rotate(
    context: typer.Context,
    *,
    stolen: Annotated[
        bool,
        option(
            None,
            "Somebody else may have the old key. It does not vouch for the new one, so everybody "
            "joins again with a new code.",
            "--stolen",
        ),
    ] = False,
) -> None:
    """Give the service another key. Stop all of its processes, and make a backup, before.

    The old key vouches for the new one, so whoever has joined notices nothing. Copy the new key to
    every other host of the service. Options of serve stand before the word rotate.
    """
    from ostraka.service.rotation import rotate as rotate_key
    from ostraka.service.starting import open_service

    service = open_service(context.obj)
    path = context.obj.key_path
    made = rotate_key(service, path, stolen=stolen)
    service.database.close()
    then = (
        "Start the service. Join again yourself, with another link (ostraka serve link) and "
        "--again. Then invite everybody again (ostraka invite --again), and send the codes by a "
        "way that you trust; they join with --again, too."
        if stolen
        else "Start the service. Whoever has joined follows by themselves."
    )
    print_answers({"The new key": str(made), "Its secret part": str(path), "What next?": then})


def _settings(**given: Any) -> Settings:
    from ostraka.service.settings import Settings

    return Settings(**given)


def settings_of(data: Path, database: str | None, files: str | None, key: Path | None) -> Settings:
    """Where a service is, for commands that do not run it."""
    named = None if key is None else str(key)
    return _settings(data=str(data), database=database, files=files, key=named)


def _check_reach(
    host: str, port: int, certificate: Path | None, key: Path | None, behind_proxy: bool
) -> None:
    """Refuse to show tokens to a whole network."""
    from ostraka.errors import InputError, ParameterError, count

    count("port", port, 1, 65535)
    if (certificate is None) is not (key is None):
        raise ParameterError("--tls-key", got=None, allowed="together with --tls-certificate")
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))
    if host not in LOOPBACK and certificate is None and not behind_proxy:
        raise InputError(
            f"At {host} others could listen to tokens and contributions: there is no encryption.",
            "Give --tls-certificate and --tls-key; or --behind-proxy, if a proxy does it.",
        )


def _check_start(
    host: str, port: int, workers: int, certificate: Path | None, key: Path | None
) -> None:
    """Refuse what would fail after the link was shown."""
    import socket
    import ssl

    from ostraka.errors import InputError, count

    count("workers", workers, 1, 64)
    if certificate is not None and key is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        except ssl.SSLError:
            raise InputError(
                f"{certificate} and {key} are not a certificate and its key, in PEM.",
                "Give those that belong together, the key without a password. Nothing was started.",
            ) from None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"{host} and port {port} cannot be used: {(error.strerror or 'no').lower()}.",
                "If another program is there, another ostraka serve perhaps, choose another "
                "--port. Nothing was started.",
            ) from None


def _say_start(started: Started, settings: Settings, where: str, *, others: bool) -> None:
    told = {
        "The service": where,
        "Its key": f"{started.service.key.public}. Whoever joins compares it by the code.",
        "Its data": f"{settings.folder}: what is not elsewhere. Only you may look into it. Make "
        "backups: ostraka backup",
        f"A {started.service.ledger().protects} may lose": f"{started.budget} over all polls, "
        "unless an admin gives a party another budget before its first one.",
    }
    with started.service.database.read() as connection:
        if started.service.is_archive(connection):
            told["Mind"] = (
                "This is an ARCHIVE, restored from a backup since which polls may have been "
                "closed: it shows everything, and opens, takes in and closes nothing."
            )
    if others:
        told["Who else?"] = (
            "Another process of this service is running, here or on another host. They share its "
            "data, and both answer."
        )
    if started.code is not None:
        told["For the first admin"] = _join_command(where, str(started.code))
    print_answers(told)


def _join_command(where: str, code: str) -> str:
    return f"ostraka join '{where}/join#{code}'"


def _run(
    settings: Settings,
    host: str,
    port: int,
    workers: int,
    certificate: Path | None,
    key: Path | None,
    behind_proxy: bool,
) -> None:
    import os
    import tempfile

    import uvicorn

    from ostraka.service.api.watching import MULTIPROCESS, log_settings

    settings.export()
    with tempfile.TemporaryDirectory(prefix="ostraka-metrics-") as numbers:
        if workers > 1:
            os.environ[MULTIPROCESS] = numbers
        uvicorn.run(
            "ostraka.service.api.app:create_worker",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            ssl_certfile=None if certificate is None else str(certificate),
            ssl_keyfile=None if key is None else str(key),
            proxy_headers=behind_proxy,
            server_header=False,
            access_log=False,
            log_config=log_settings(),
            timeout_graceful_shutdown=20,
        )
