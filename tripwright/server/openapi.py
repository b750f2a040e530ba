"""The server's description of itself (OpenAPI 3.1). What a tool takes comes from the tools' own
schemas, and the examples from the world that is served, so each of them can be sent as it
stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripwright import __version__
from tripwright.server.answers import MAX_BODY_BYTES, MAX_PAGE_ROWS, Json, ServedTools, core_tools
from tripwright.tools.face import Face

_CALLS = """A call that a tool cannot serve (an unknown city, a wrong or missing argument, a body that is no JSON) is answered with status
200 and `"error": true`: the text is what the agent reads. Other status codes are faults of the request itself or of the server."""  # noqa: E501

_ANSWER = {
    "type": "object",
    "description": "What the agent reads, and the same as data.",
    "properties": {
        "text": {"type": "string", "description": "The answer, written as the face writes it."},
        "error": {
            "type": "boolean",
            "description": "Whether the tool could not do what was asked.",
        },
        "rows": {
            "type": "object",
            "description": (
                "The same as data: values row by row under the names of the world's fields, units,"
                " how many there are in all; or the problem, in a word."
            ),
        },
        "row_ends": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "After how many characters of the text each row stands there whole.",
        },
    },
    "required": ["text", "error", "rows", "row_ends"],
    "additionalProperties": False,
}
_PROBLEM = {
    "type": "object",
    "properties": {
        "detail": {"type": "string", "description": "What was wrong with the request, in one line."}
    },
    "required": ["detail"],
}
_SCHEMAS = {
    "type": "object",
    "properties": {
        "face": {"type": "string"},
        "faces": {
            "type": "array",
            "items": {"type": "string"},
            "description": "All faces there are.",
        },
        "schemas": {
            "type": "array",
            "items": {"type": "object"},
            "description": "The tools as OpenAI's API takes them.",
        },
    },
    "required": ["face", "faces", "schemas"],
}
_WORLD = {
    "type": "object",
    "description": "The manifest of the world; of live tools, who answers them and of which day.",
    "properties": {
        "name": {"type": "string"},
        "content_hash": {
            "type": "string",
            "description": (
                "Equal where the same is served. Every answer of a tool has it as x-world-hash."
            ),
        },
        "rows": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["name", "content_hash"],
}
_CALL = {
    "type": "object",
    "properties": {
        "name": {
            "description": "The tool. A name that is none is answered as an agent would see it."
        },
        "arguments": {"description": "An object, or the JSON text of one, as models write it."},
    },
    "required": ["name", "arguments"],
}


def openapi_document(served: ServedTools) -> Json:
    paths: Json = {
        "/tools": {"get": _list_tools(served), "post": _call_by_body(served)},
        **{
            f"/tools/{name}": {"post": _call_tool(name, faces, served)}
            for name, faces in _offered(served.faces).items()
        },
        "/world": {"get": _page("world", "What is served.", "World", "#/components/schemas/World")},
        "/health": {"get": _page("health", "Answers as soon as a worker can take calls.")},
        "/metrics": {
            "get": _page("metrics", "Counts of all workers for Prometheus.", media="text/plain")
        },
        "/openapi.json": {"get": _page("openapi", "This document.")},
        "/docs": {"get": _page("docs", "This document for people.", media="text/html")},
    }
    schemas = {
        "Answer": _ANSWER,
        "Problem": _PROBLEM,
        "Schemas": _SCHEMAS,
        "World": _WORLD,
        "Call": _CALL,
    }
    info = {
        "title": f"tripwright tools: {served.what}",
        "version": __version__,
        "description": f"{served.about}\n\n{_CALLS}",
    }
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _offered(faces: Mapping[str, Face]) -> dict[str, list[Face]]:
    """Name of a tool → the faces that call a tool so."""
    by_tool: dict[str, list[Face]] = {}
    for face in faces.values():
        for schema in face.schemas():
            by_tool.setdefault(schema["function"]["name"], []).append(face)
    return by_tool


def _call_tool(name: str, faces: Sequence[Face], served: ServedTools) -> Json:
    schemas: list[Json] = []
    samples = served.samples
    examples: Json = {}
    for face in faces:
        function = next(
            s["function"]
            for s in face.schemas(paged=not served.live)
            if s["function"]["name"] == name
        )
        description = function["description"]
        if function["parameters"] not in schemas:
            schemas.append(function["parameters"])
        core = face.offer.core_name(name)
        assert core is not None
        sample = face.offer.call_of(core, samples[core])[1] if core in samples else {}
        examples.setdefault(str(sample), {"summary": face.name, "value": sample})
    return {
        "operationId": name,
        "summary": description,
        "tags": ["tools"],
        "parameters": _wording_parameters([face.name for face in faces], served),
        "requestBody": _body(
            schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
            {e["summary"]: e for e in examples.values()},
        ),
        "responses": _responses(served),
    }


def _call_by_body(served: ServedTools) -> Json:
    offer, samples = served.faces[served.default_face].offer, served.samples
    faced = core_tools({served.default_face: served.faces[served.default_face]})
    core = next(
        (core for core in samples if offer.core_name(offer.name_of(core)) == core), faced[0]
    )
    name, arguments = offer.call_of(core, samples.get(core, {}))
    return {
        "operationId": "call",
        "summary": "Call a tool whose name is in the body.",
        "description": (
            "For names that do not fit into a path. RemoteToolBox calls all tools this way."
        ),
        "tags": ["tools"],
        "parameters": _wording_parameters(list(served.faces), served),
        "requestBody": _body(
            _reference("Call"),
            {served.default_face: {"value": {"name": name, "arguments": arguments}}},
        ),
        "responses": _responses(served),
    }


def _list_tools(served: ServedTools) -> Json:
    return {
        "operationId": "list_tools",
        "summary": "The tools of a face, with the schemas of their arguments.",
        "tags": ["tools"],
        "parameters": _wording_parameters(list(served.faces), served),
        "responses": {
            "200": _content("The tools.", _reference("Schemas")),
            "400": _content("No such face.", _reference("Problem")),
        },
    }


def _wording_parameters(faces: list[str], served: ServedTools) -> list[Json]:
    face: Json = {"type": "string", "enum": faces}
    has_default = served.default_face in faces
    if has_default:
        face["default"] = served.default_face
    parameters = [
        {
            "name": "face",
            "in": "query",
            "required": not has_default,
            "schema": face,
            "description": "How tools are called and answers written.",
        }
    ]
    if not served.live:
        rows = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_ROWS}
        about = "Gives long answers in pages; searches then take `page`."
        parameters.append(
            {"name": "page_rows", "in": "query", "schema": rows, "description": about}
        )
    return parameters


def _body(schema: Json, examples: Json) -> Json:
    return {
        "required": True,
        "content": {"application/json": {"schema": schema, "examples": examples}},
    }


def _responses(served: ServedTools) -> Json:
    silent = "A live service did not answer; the call may be made again."
    return {
        "200": _content("The tool's answer, errors for the agent included.", _reference("Answer")),
        "400": _content("No such face, or a parameter that is none.", _reference("Problem")),
        "413": _content(
            f"The body is larger than {MAX_BODY_BYTES:,} bytes.", _reference("Problem")
        ),
        "500": _content("A fault of the server.", _reference("Problem")),
        **({"503": _content(silent, _reference("Problem"))} if served.live else {}),
    }


def _page(
    operation: str,
    summary: str,
    title: str = "OK",
    schema: str | None = None,
    media: str = "application/json",
) -> Json:
    content_schema = (
        {"$ref": schema}
        if schema
        else {"type": "string"}
        if media.startswith("text/")
        else {"type": "object"}
    )
    return {
        "operationId": operation,
        "summary": summary,
        "tags": ["server"],
        "responses": {"200": _content(title, content_schema, media)},
    }


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(description: str, schema: Json, media: str = "application/json") -> Json:
    return {"description": description, "content": {media: {"schema": schema}}}
