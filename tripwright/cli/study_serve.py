"""`tripwright study serve`: the labelling page, for browsers on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def serve(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The folder that 'study make' wrote.")
    ],
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 for every network: then anybody there can label."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8330,
) -> None:
    """Serve the page on which raters label, until Ctrl-C or SIGTERM. A line on stderr says where.

    Every click is on disk before the page shows it as saved; raters come back by entering the same
    name. Several may label at once.

    Examples:
      tripwright study serve studies/first
      tripwright study serve studies/first --port 9000
    """
    from tripwright.evals.study.folder import Study
    from tripwright.server import study as study_pages
    from tripwright.server.log import say
    from tripwright.server.supervisor import Supervisor, open_port, url_of

    items = len(Study.open(study).items)
    with open_port(host, port) as listener:
        url = url_of(listener)
        settings = {
            "study": os.fspath(study.absolute()),
            "local_only": host in study_pages.LOOPBACK,
        }
        app = f"{study_pages.__name__}:{study_pages.make_app.__name__}"
        supervisor = Supervisor(app, settings, listener, 1)
        code = supervisor.run(
            lambda: say(
                f"serving the study '{study}' at {url} ({items} items); Ctrl-C stops, nothing is"
                " lost"
            )
        )
    raise typer.Exit(code)
