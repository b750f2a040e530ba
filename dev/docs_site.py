"""What mkdocs does beside rendering docs/ (`hooks` in mkdocs.yml).

A page has its place in the repository as its path, so that the same links work in the folder and on
the site. What pages link to outside docs/ becomes a page of its source, and the notebook a page.
"""

import json
import logging
import posixpath
from pathlib import Path

from markdown_it import MarkdownIt
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT, NOTEBOOK = Path(__file__).parents[1], "examples/tripwright.ipynb"
PLAIN = MarkdownIt("commonmark").enable("table")  # as a reader of the folder has it


def on_files(files, config):
    for file in files:
        if file.src_dir == config.docs_dir or file.generated_by:
            _ = file.url, file.abs_src_path  # before its path changes, on which they depend
            file.src_uri = f"docs/{file.src_uri}"
    start = File.generated(config, "README.md", content=(ROOT / "README.md").read_text())
    style = File.generated(config, "dev/site.css", content=(ROOT / "dev/site.css").read_text())
    site = Files([*files, start, style])
    _add(site, config, NOTEBOOK, notebook(), "notebook")
    for file in list(site.documentation_pages()):
        for block in PLAIN.parse(file.content_string):
            for token in block.children or ():
                href = str(token.attrGet("href") or token.attrGet("src") or "").partition("#")[0]
                if href and ":" not in href:
                    path = posixpath.join(posixpath.dirname(file.src_uri), href)
                    _add_source(site, config, posixpath.normpath(path))
    return site


def on_page_content(html, page, **_):
    """The site has to have the lists, tables and code that a reader of the folder has."""
    plain = PLAIN.render(page.markdown)
    for tag in ("<li", "<table", "<pre"):
        if (here := html.count(tag)) != (there := plain.count(tag)):
            found = f"{page.file.src_uri}: {here} times {tag}>, in plain Markdown {there}"
            logging.getLogger("mkdocs.hooks.docs_site").warning(found)


def _add(site, config, path, text, place):
    """A page of its own text at `place` of the site, which links to `path` find."""
    file = File.generated(config, path, content=text)
    file.dest_uri, file.is_documentation_page = f"{place}/index.html", lambda: True
    site.append(file)
    return file


def _add_source(site, config, path):
    source = ROOT / path
    if site.get_file_from_path(path) or not source.exists():
        return
    text = f"---\nsearch: {{ exclude: true }}\n---\n\n# `{path}`\n\n"
    if source.is_dir():
        for name in sorted(each.name for each in source.iterdir() if each.is_file()):
            _add_source(site, config, f"{path}/{name}")
            text += f"- [{name}]({posixpath.basename(path)}/{name})\n"
    else:
        text += f"``````{source.suffix[1:]}\n{source.read_text()}\n``````\n"
    _add(site, config, path, text, f"source/{path}").inclusion = InclusionLevel.NOT_IN_NAV


def notebook():
    text = ""
    for cell in json.loads((ROOT / NOTEBOOK).read_text())["cells"]:
        said = "".join(cell["source"])
        text += f"{said}\n\n" if cell["cell_type"] == "markdown" else f"```python\n{said}\n```\n\n"
        for output in cell.get("outputs", ()):
            if image := output.get("data", {}).get("image/png"):
                text += f"![](data:image/png;base64,{''.join(image.split())})\n\n"
            elif said := "".join(output.get("text", ())):
                text += f"```text\n{said}\n```\n\n"
    return text
