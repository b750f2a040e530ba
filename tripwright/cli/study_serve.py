"""`tripwright study serve`: the labelling page, for browsers on this machine."""

from __future__ import annotations

from functools import partial
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
    from tripwright.server.guard import LOOPBACK
    from tripwright.server.serving import open_port, serve_app, url_of

    items = len(Study.open(study).items)
    with open_port(host, port) as listener:
        line = (
            f"serving the study '{study}' at {url_of(listener)} ({items} items); Ctrl-C stops,"
            " nothing is lost"
        )
        make = partial(study_pages.make_app, str(study), host in LOOPBACK)
        raise typer.Exit(serve_app(make, listener, 1, line))
