"""FastAPI's documentation page, with its scripts from this server and nobody else's."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

FILES = "/docs-files"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)


def add_docs(app: FastAPI) -> None:
    """GET /docs, of an app that was made with `docs_url=None`."""
    app.mount(FILES, StaticFiles(packages=[("fastapi_offline", "static")]))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
            swagger_css_url=f"{FILES}/swagger-ui.css",
            swagger_favicon_url=f"{FILES}/favicon.png",
        )
        return HTMLResponse(page.body, headers={"Content-Security-Policy": POLICY})
