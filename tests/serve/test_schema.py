"""The OpenAPI document: complete, and random requests made of it never break the server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from killing import ended
from serve_answers import FAQ
from softcosine.operations import OPERATIONS


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_every_reference_of_the_document_resolves(client):
    told = client.get("/openapi.json").json()
    schemas = told["components"]["schemas"]
    found = set(references(told))
    assert found
    for one in found:
        assert re.fullmatch(r"#/components/schemas/(\w+)", one)
        assert one.rpartition("/")[2] in schemas
    for path in told["paths"].values():
        for operation in path.values():
            assert operation["description"]


def test_every_list_of_a_request_has_a_maximum(client):
    told = client.get("/openapi.json").json()
    schemas = told["components"]["schemas"]
    bodies = [
        [operation.get("requestBody", {}), operation.get("parameters", [])]
        for path in told["paths"].values()
        for operation in path.values()
    ]
    names, left = set(), {one.rpartition("/")[2] for one in references(bodies)}
    while left:
        names |= left
        found = {one.rpartition("/")[2] for name in left for one in references(schemas[name])}
        left = found - names

    def lists(value):
        if isinstance(value, dict):
            if value.get("type") == "array":
                yield value
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            yield from lists(one)

    found = [one for name in names for one in lists(schemas[name])] + list(lists(bodies))
    assert len(found) > 10
    assert [one for one in found if "maxItems" not in one] == []


def test_answers_have_the_documented_fields(client):
    told = client.get("/openapi.json").json()["components"]["schemas"]
    answer = client.post(f"{FAQ}/search", json={"q": "tea", "explain": True, "facets": ["n"]})
    record = answer.json()
    assert set(told["SearchAnswer"]["required"]) <= set(record)
    assert set(record) <= set(told["SearchAnswer"]["properties"])
    assert set(record["hits"][0]) == set(told["HitAnswer"]["properties"])
    assert set(client.get(FAQ).json()) == set(told["IndexAnswer"]["properties"])


def test_every_option_of_a_request_is_one_of_its_route(client):
    told = client.get("/openapi.json").json()
    for name in set(OPERATIONS) - {"neighbors"}:  # by GET, as terms
        route = told["paths"][f"/v1/indexes/{{i}}/{name.replace('_', '-')}"]["post"]
        reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = told["components"]["schemas"][reference.rpartition("/")[2]]
        assert set(OPERATIONS[name].request.__struct_fields__) <= set(schema["properties"])


# Of schemathesis: how a body of JSON lines is sent.
LINES = """
import json, schemathesis
@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return json.dumps(value).encode()
"""
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,unsupported_method"
)


@pytest.mark.skipif(
    find_spec("schemathesis") is None and "SCHEMATHESIS" not in os.environ,
    reason="schemathesis is not installed",
)
def test_random_requests_never_break_the_server(root, tmp_path):
    """SCHEMATHESIS names a folder with the package, if it is not installed here."""
    server = subprocess.Popen(
        [sys.executable, "-m", "softcosine", "serve", str(root), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with ended(server):
        address = re.search(r"http://\S+", server.stdout.readline())[0]
        (tmp_path / "schemathesis.toml").write_text(
            'hooks = "lines.py"\n'
            'parameters = { i = "faq", "path.id" = "tea", t = "tea", name = "best" }\n'
            "[checks.not_a_server_error]\n"  # a deadline of a millisecond may pass
            'expected-statuses = ["2xx", "3xx", "4xx", 504]\n'
        )
        (tmp_path / "lines.py").write_text(LINES)
        environment = dict(os.environ)
        if folder := os.environ.get("SCHEMATHESIS"):
            environment["PYTHONPATH"] = folder
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
                *("--checks", CHECKS),
                *("--phases", "fuzzing", "-n", os.environ.get("SCHEMATHESIS_EXAMPLES", "5")),
                *("--seed", "1", "--no-color"),
                *("--exclude-operation-id-regex", "^delete_index$"),
            ],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=550, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[:9000] + done.stderr[-2000:]
    assert server.returncode == 0
    assert json.loads((root / "faq" / "manifest.json").read_text())
