"""A server over a folder with one small index, for each test its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import softcosine as sc
from sharded import in_folders
from softcosine.serve import Limits, ServeSettings, create_app

TEXTS = {
    "bike": "a puncture in the bike's tyre",
    "tea": "the tea is getting cold",
    "pot/1": "a pot of green tea",
    "car": "repair of a flat tyre of the car",
}
METADATA = [{"n": 1, "kind": "wheels"}, {"n": 2, "kind": "drink"}, {"n": 3, "kind": "drink"}, None]
PAIRS = {("bicycle", "bike"): 0.9, ("tyre", "tire"): 0.8, ("tea", "coffee"): 0.4}


def small_index() -> sc.SoftIndex:
    """Return an index in memory with a person's pairs."""
    return sc.SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, metadata=METADATA, source=sc.PairSimilarity(PAIRS),
        language="english", ranking="soft_bm25", encoder=None,
    )  # fmt: skip


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the index, which tests copy."""
    path = tmp_path_factory.mktemp("saved") / "faq"
    small_index().save(path)
    return path


@pytest.fixture(scope="session")
def saved_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of shards of the same documents, whose epoch has more words."""
    epoch = small_index()
    with epoch.writer() as writer:
        writer.add("words", "coffee kettle samovar")
        writer.freeze()
    rows = zip(range(len(TEXTS)), TEXTS, TEXTS.values(), METADATA, strict=True)
    return in_folders(epoch, tmp_path_factory.mktemp("saved") / "shards", list(rows), 3)


@pytest.fixture
def variant() -> str:
    """Return the fixture of the index; modules whose tests run on both kinds have their own."""
    return "saved"


@pytest.fixture
def root(tmp_path: Path, variant: str, request: pytest.FixtureRequest) -> Path:
    """Return a folder of indexes."""
    folder = tmp_path / "indexes"
    folder.mkdir()
    shutil.copytree(request.getfixturevalue(variant), folder / "faq")
    return folder


@pytest.fixture
def serving(root: Path) -> Iterator[Callable[..., TestClient]]:
    """Return a function that starts a server with some settings."""
    started: list[TestClient] = []

    def start(path: Path = root, *, limits: Any = None, **settings: Any) -> TestClient:
        app = create_app(ServeSettings(path, Limits(**(limits or {})), **settings))
        client = TestClient(app, raise_server_exceptions=False)
        client.__enter__()
        started.append(client)
        return client

    yield start
    for client in started:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serving: Callable[..., TestClient]) -> TestClient:
    """Return a client of a server with the default settings."""
    return serving()
