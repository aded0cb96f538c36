"""The page at ``/`` and its files, under a Content-Security-Policy without inline code."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, route

# No other host, no inline script or style, no frame around the page, and no text that becomes
# markup: `require-trusted-types-for` lets a browser refuse `innerHTML`.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class _File(NamedTuple):
    content: bytes
    kind: str
    tag: str


def _read() -> dict[str, _File]:
    found = {}
    for file in files("softcosine.serve").joinpath("page").iterdir():
        kind = _TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            content = file.read_bytes()
            found[file.name] = _File(content, kind, hashlib.sha256(content).hexdigest()[:32])
    return found


_FILES = _read()


@route("GET", "/", public=True)
@route("GET", "/page/{name}", public=True)
async def page_file(call: Call[None]) -> Response:
    """Return a file of the page; browsers keep it, and ask whether it is still the same."""
    name = call.path.get("name", "index.html")
    if (file := _FILES.get(name)) is None:
        raise Problem("not-found", f"the page has no file {name:.100}.")
    headers = {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": f'"{file.tag}"',
    }
    if call.not_modified(file.tag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
