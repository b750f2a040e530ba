"""The registry of domains: the one place that names them. A new one is a row here, or an entry
point `tripwright.domains` of a package of yours (docs/new-domain.md).

Rows are names of modules, and types are imported for checking alone, so that asking for the verbs
of all domains loads no other part of the house: `tripwright --help` does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tripwright.errors import UserError, named, object_or_none

if TYPE_CHECKING:
    from tripwright.agent.dialect import Dialect
    from tripwright.domains.domain import Domain
    from tripwright.domains.place import Place
    from tripwright.tools.face import Face

ROWS = {  # name → the module that holds its `DOMAIN`
    "travelplanner": "tripwright.domains.travelplanner.domain",
    "deeptravel": "tripwright.domains.deeptravel.domain",
}


@cache
def own_domains() -> Mapping[str, Domain]:
    """The house's own by name. For texts that are made while a module is imported: looking for
    others opens files."""
    return {name: import_module(module).DOMAIN for name, module in ROWS.items()}


def own_names(members: str) -> str:
    """What the house's own domains have, such as their "dialects", for the help of one verb."""
    having = attrgetter(members)
    found = (each for domain in own_domains().values() for each in having(domain))
    return ", ".join(dict.fromkeys(getattr(each, "name", each) for each in found))


@cache
def domains() -> Mapping[str, Domain]:
    """All of them by name, the house's own first. Raises UserError where a name of a domain, a
    dialect or a face comes twice."""
    registry = {module: import_module(module).DOMAIN for module in _modules()}
    registry |= {f"load_domain('{name}')": domain for name, domain in _given.items()}
    owners = dict[tuple[str, str], str]()
    for module, domain in registry.items():
        here = f"'{domain.name}' ({module})"
        parts = [
            ("domain", domain),
            *(("dialect", each) for each in domain.dialects),
            *(("face", each) for each in domain.faces),
        ]
        for kind, each in parts:
            if (there := owners.setdefault((kind, each.name), here)) != here:
                raise UserError(
                    f"The {kind} '{each.name}' is of two domains: {there} and {here}. Rename one,"
                    " or uninstall its package."
                )
    return {domain.name: domain for domain in registry.values()}


_given = dict[str, "Domain"]()  # to `load_domain`


def load_domain(domain: str | Domain) -> Domain:
    """A domain by its name: "travelplanner", "deeptravel", or one that an installed package brings.
    A `Domain` of yours is known from then on in this process, by its own name and those of its
    dialects; another one of the same name takes its place.

        trips = tripwright.load_domain("travelplanner")
        print(list(trips.baselines), [dialect.name for dialect in trips.dialects])

    Raises UserError for an unknown name, and for a name that another domain has.
    """
    if isinstance(domain, str):
        return domain_named(domain)
    before = _given.get(domain.name)
    _given[domain.name] = domain
    domains.cache_clear()
    try:
        return domains()[domain.name]
    except UserError:
        _given.pop(domain.name)
        _given.update({domain.name: before} if before is not None else {})
        domains.cache_clear()
        raise


def verb_packages() -> Iterator[ModuleType]:
    """The packages `verbs` of the domains that have one, each with rows for the command line
    (`cli/verbs.py`): VERBS and GROUPS."""
    for module in _modules():
        folder, _, _ = module.rpartition(".")
        if folder and find_spec(f"{folder}.verbs") is not None:
            yield import_module(f"{folder}.verbs")


@cache
def _modules() -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            (*ROWS.values(), *(point.module for point in entry_points(group="tripwright.domains")))
        )
    )


def domain_named(name: str) -> Domain:
    return named("domain", name, domains())


def fact_title(name: str) -> str:
    """What people read in place of a fact's name: 'is_not_absent' → 'Complete information'; where
    no domain has a title for it, its words."""
    titles = (domain.report.titles.get(name) for domain in domains().values())
    words = name.removeprefix("is_").replace("_", " ")
    return next(filter(None, titles), words[:1].upper() + words[1:])


def dialects() -> dict[str, Dialect]:
    return {dialect.name: dialect for domain in domains().values() for dialect in domain.dialects}


def dialect_named(name: str) -> Dialect:
    return named("dialect", name, dialects())


def domain_of(dialect: Dialect | str) -> Domain:
    """The domain whose dialect it is, also with changed limits."""
    spoken = dialect_named(dialect if isinstance(dialect, str) else dialect.name)
    return next(domain for domain in domains().values() if spoken in domain.dialects)


def domain_of_file(path: Path) -> Domain | None:
    """Of a file of requests, by its first line: the domain whose requests must have the most of its
    fields. None where no domain fits, or two do: its reader says what is wrong."""
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    return domain_of_request(object_or_none(first))


def domain_of_request(request: Any) -> Domain | None:
    """Of a request, or of its record: the domain whose requests must have the most of its fields.
    None where no domain fits, or two do: its reader says what is wrong."""
    found = dict[str, int]()
    for name, domain in domains().items():
        if isinstance(request, domain.requests.kind):
            return domain
        fields = domain.requests.fields
        here = fields.intersection(request) if isinstance(request, Mapping) else ()
        if 2 * len(here) > len(fields):
            found[name] = len(here)
    best = [name for name, count in found.items() if count == max(found.values())]
    return domains()[best[0]] if len(best) == 1 else None


def faces(among: Iterable[Domain] | None = None) -> dict[str, Face]:
    return {
        face.name: face
        for domain in (domains().values() if among is None else among)
        for face in domain.faces
    }


def face_named(name: str, among: Mapping[str, Face] | None = None) -> Face:
    return named("face", name, faces() if among is None else among)


def domain_of_face(name: str) -> Domain:
    face = face_named(name)
    return next(domain for domain in domains().values() if face in domain.faces)


# ---- whose place a folder is


def alike(domain: Domain) -> list[Domain]:
    """The domains that live in the same kind of world, itself among them."""
    kind = domain.generator and domain.generator.world
    return [
        each
        for each in domains().values()
        if each is domain or (each.generator and each.generator.world is kind)
    ]


@contextmanager
def open_folder(
    folder: Path, domain_of_requests: Domain | None = None
) -> Iterator[tuple[Domain, Place]]:
    """The place, and the first domain that knows the folder; with `domain_of_requests`, among those
    that live in the same kind of world. Raises the UserError of the first that was tried where none
    does."""
    from tripwright.domains.place import PlaceOptions

    errors: list[UserError] = []
    with ExitStack() as stack:
        for domain in alike(domain_of_requests) if domain_of_requests else domains().values():
            try:
                place = stack.enter_context(domain.open(PlaceOptions(world=folder)))
                break
            except UserError as error:
                errors.append(error)
        else:
            raise errors[0]
        yield domain, place


@contextmanager
def open_worlds(folders: Iterable[Path]) -> Iterator[list[Any]]:
    """The source of each folder: whatever its domain judges in."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_folder(folder))[1].source for folder in folders]
