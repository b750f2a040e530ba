"""The description of the server as a page for people: no scripts, nothing from elsewhere, so it
opens where there is no internet."""

from __future__ import annotations

import json
import shlex
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
section { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding-top: .6rem }
h2 { font-size: 1.05rem; margin: .4rem 0 } h2 code { font-weight: 600 } p { margin: .3rem 0 }
pre { background: color-mix(in srgb, currentColor 7%, transparent); padding: .6rem .8rem; border-radius: 6px; overflow-x: auto }
code, pre { font: .88rem ui-monospace, monospace } ul { margin: .3rem 0 } .faces { opacity: .7 }
"""  # noqa: E501


def docs_page(document: dict[str, Any], base_url: str) -> str:
    """HTML of an OpenAPI document; the commands in it go to `base_url`."""
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    sections = "\n".join(
        _section(path, method, operation, base_url.rstrip("/"))
        for path, method, operation in operations
    )
    info = document["info"]
    about = "".join(
        f"<p>{escape(part)}</p>" for part in info["description"].replace("`", "").split("\n\n")
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style><h1>{escape(info['title'])}</h1>{about}"
        f'<p>For programs: <a href="openapi.json">openapi.json</a></p>\n{sections}\n</html>\n'
    )


def _section(path: str, method: str, operation: dict[str, Any], base_url: str) -> str:
    parts = [
        f"<section><h2><code>{method.upper()}"
        f" {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"
    ]
    parts += [f"<p>{escape(operation['description'])}</p>"] if "description" in operation else []
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "face":
            parts.append(
                f'<p class="faces">Faces: {escape(", ".join(parameter["schema"]["enum"]))}</p>'
            )
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for schema in content.get("schema", {}).get("anyOf", [content.get("schema", {})]):
        rows = [
            _argument(name, argument, schema["required"])
            for name, argument in schema.get("properties", {}).items()
        ]
        parts += [f"<ul>{''.join(rows)}</ul>"] if rows else []
    for face, example in content.get("examples", {}).items():
        body = shlex.quote(json.dumps(example["value"], ensure_ascii=False))
        url = shlex.quote(f"{base_url}{path}?face={face}")
        parts.append(f"<pre>{escape(f'curl -d {body} {url}')}</pre>")
    return "".join([*parts, "</section>"])


def _argument(name: str, schema: dict[str, Any], required: list[str]) -> str:
    choices = f" One of {', '.join(schema['enum'])}." if "enum" in schema else ""
    optional = "" if name in required else " Optional."
    kind = f" ({schema['type']})" if "type" in schema else ""
    return (
        f"<li><code>{escape(name)}</code>{kind}:"
        f" {escape(schema.get('description', '') + choices + optional)}</li>"
    )
