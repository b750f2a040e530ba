"""Whose place a folder is: a world as TravelPlanner and DeepTravel share it, or what a domain of
another kind keeps there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tripwright.domains import domains
from tripwright.domains.domain import Domain, Place, PlaceOptions
from tripwright.errors import UserError


def alike(domain: Domain) -> list[Domain]:
    """The domains that live in the same kind of world, itself among them."""
    return [each for each in domains().values() if each.world is domain.world]


@contextmanager
def open_worlds(folders: Iterable[Path]) -> Iterator[list[Any]]:
    """The source of each folder: whatever its domain judges in."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_folder(folder))[1].source for folder in folders]


@contextmanager
def open_folder(
    folder: Path, domain_of_requests: Domain | None = None
) -> Iterator[tuple[Domain, Place]]:
    """The place, and the first domain that knows the folder; with `domain_of_requests`, among those
    that live in the same kind of world. Raises the UserError of the first that was tried where none
    does."""
    with ExitStack() as stack:
        errors: list[UserError] = []
        for domain in alike(domain_of_requests) if domain_of_requests else domains().values():
            try:
                place = stack.enter_context(domain.open_place(PlaceOptions(world=folder)))
                break
            except UserError as error:
                errors.append(error)
        else:
            raise errors[0]
        yield domain, place
