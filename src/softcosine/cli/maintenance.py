"""Commands ``softcosine info``, ``admin check``, ``backup`` and ``salvage``."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from softcosine.cli.failures import show_warning
from softcosine.cli.opening import any_index, facts_of, is_served, name_of
from softcosine.cli.options import AnyIndex, Index, Json, Overwrites
from softcosine.cli.output import (
    RANKINGS,
    console,
    counted,
    duration,
    print_json,
    print_table,
    printable,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.errors import CorruptIndexError

if TYPE_CHECKING:
    from softcosine.client import RemoteIndex
    from softcosine.index.directory.commit import Commit
    from softcosine.index.soft_index import SoftIndex
    from softcosine.matrix.list_use import ListUse


def info(
    index: AnyIndex,
    as_json: Json = False,
) -> None:
    """Show the contents, settings, source of similarities and size of an index.

      softcosine info faq.index
      softcosine info big.shards

    JSON: index, generation (number of the commit), epoch, frozen, documents, deleted (not merged
    away yet), segments, counted (documents behind the term weights), terms, postings, fields of
    name and weight, positions, texts (true if stored), bytes, ranking, weighting, analyzer,
    language, note, meaning (null without encoder; else encoder, dimensions, query_table, encoded,
    estimated, weights), and similarity: n_terms, n_neighbors, mean_neighbors, and so on; list_use
    (null without synonym lists): entries, used, in_queries (with one word in no document), reasons,
    and the first hundred unused, of left, right and reason. Of an index of a server: what that
    answers. Of a sharded index also shards, of folder and documents.
    """
    use = None
    if is_served(index):
        with any_index(index) as served:
            facts = cast("RemoteIndex", served).info()
    else:
        facts, use = _facts_of_folder(index)
        facts["list_use"] = None if use is None else use.to_dict()
    if as_json:
        print_json(facts)
    else:
        _show(name_of(index), {**facts, "list_use": "" if use is None else str(use)})


def _facts_of_folder(index: Path) -> tuple[dict[str, Any], ListUse | None]:
    from softcosine.cluster.opening import epoch_path
    from softcosine.index.soft_index import SoftIndex

    folder = Path(epoch_path(index))
    opened = SoftIndex.open(folder)
    facts = _facts(opened, folder)
    if folder != index:
        facts |= _facts_of_shards(index, facts)
    return facts, opened.list_use


def check(index: Index, as_json: Json = False) -> None:
    """Check the checksums and the consistency of an index.

      softcosine admin check faq.index
      softcosine admin check big.shards

    The command compares every file of the last commit with its checksum, postings with the terms of
    the documents, ids with documents, and the stored similarities and lengths with their
    definitions. It also works during a write. 'admin salvage' copies the intact segments of a
    damaged index. Of a sharded index, it checks every shard, and that they belong together.

    JSON: index, generation, files, bytes, seconds; for a sharded index shards (their number) in
    place of generation. At the first error, for a sharded index the first of each shard, the
    command prints the file or array and ends with exit code 1.
    """
    from softcosine.cluster.opening import is_sharded
    from softcosine.index.directory.check import check_index
    from softcosine.index.directory.remote_store import open_store
    from softcosine.storage.remote import url_of

    started = time.perf_counter()
    if is_sharded(index):
        commits = _checked_shards(index)
        facts = {"shards": len(commits) - 1}
    else:
        store = open_store(index)
        with Reporter() as report:
            try:
                commits = [check_index(store, report)]
            except CorruptIndexError as error:
                advice = (
                    f"Restore a backup, or run 'softcosine admin salvage {index} -o NEW' to copy "
                    "the intact segments."
                )
                if url_of(index) is not None:  # an overwritten copy keeps its equal parts
                    command = f"softcosine admin backup FOLDER {name_of(index)}"
                    advice = f"Delete it there, and run '{command}'."
                raise CorruptIndexError(f"{error} {advice}") from error
        facts = {"generation": commits[0].number}
    seconds = time.perf_counter() - started
    n_files = sum(map(files_of, commits))
    n_bytes = sum(bytes_of(one.path) for one in commits)
    if as_json:
        own = {"files": n_files, "bytes": n_bytes, "seconds": seconds}
        print_json({"index": name_of(index), **facts, **own})
    else:
        console().print(
            f"{printable(name_of(index))} is intact: {n_files} files, {size(n_bytes)}, checked in "
            f"{duration(seconds)}."
        )


def _checked_shards(index: Path) -> list[Commit]:
    """Return the commits of the epoch and of all shards; print what is wrong with each."""
    from softcosine.cluster.sharded_check import check_shards

    with Reporter() as report:
        found = check_shards(index, report)
    for name, message in found.damage.items():
        show_warning(f"{name}: {message}")
    if found.damage:
        raise CorruptIndexError(
            f"{len(found.damage)} of {len(found.commits) + len(found.damage)} folders of "
            f"{name_of(index)} are damaged: {', '.join(found.damage)}. Restore them from a backup "
            "of this commit, or the whole sharded index from any, or build it anew."
        )
    return list(found.commits.values())


def backup(
    index: Index,
    to: Annotated[
        Path,
        typer.Argument(metavar="TO", help="The folder to write, or a URL: s3://bucket/folder."),
    ],
    overwrite: Overwrites = False,
    links: Annotated[
        bool,
        typer.Option(
            "--links", help="Use hard links: fast, but no protection against a disk failure."
        ),
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compare the checksum of every file.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Copy the last commit of an index, even during a write.

      softcosine admin backup faq.index /backups/faq.index
      softcosine admin backup faq.index /backups/faq.index --overwrite
      softcosine admin backup faq.index s3://bucket/faq.index
      softcosine admin backup big.shards /backups/big.shards
      softcosine admin backup s3://bucket/big.shards big.shards

    The copy is a complete index and appears under its name when it is finished. --links shares the
    files by hard links, if the file system supports them, so damage to one index damages the other.
    An overwritten URL gets the new parts only.

    JSON: index, backup, commit (its checksum), documents, bytes, seconds.
    """
    from softcosine.cluster.opening import is_sharded
    from softcosine.cluster.sharded_backup import back_up_shards
    from softcosine.index.directory.backup import back_up
    from softcosine.index.directory.remote_store import open_store

    started = time.perf_counter()
    how: dict[str, Any] = {"links": links, "verify": verify, "overwrite": overwrite}
    with Reporter() as report:
        if is_sharded(index):
            made = back_up_shards(index, to, **how, progress=report)
        else:
            made = back_up(open_store(index), to, **how, progress=report)
    seconds = time.perf_counter() - started
    if as_json:
        print_json(
            {
                "index": name_of(index),
                "backup": name_of(to),
                "commit": made.commit,
                "documents": made.n_docs,
                "bytes": made.n_bytes,
                "seconds": seconds,
            }
        )
        return
    console().print(
        f"Copied {counted(made.n_docs, 'document')} in {duration(seconds)}: "
        f"{printable(name_of(to))} ({size(made.n_bytes)})."
    )


def salvage(
    index: Index,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the new index (required).")
    ],
    overwrite: Overwrites = False,
    as_json: Json = False,
) -> None:
    """Copy the intact segments of a damaged index to a new index.

      softcosine admin salvage faq.index -o salvaged.index

    Use it if 'admin check' reports damage and there is no backup. Every file is read; a segment
    with a missing or changed file is left out. Add its documents again with 'add'. The manifest and
    the vocabulary must be intact. If the source of the similarities is lost, a message says what
    follows. The damaged index does not change.

    JSON: index, documents, lost (documents of the segments left out), damage (a list of messages).
    """
    from softcosine.index.soft_index import SoftIndex

    report = SoftIndex.salvage(index, output, overwrite=overwrite)
    if as_json:
        print_json(
            {
                "index": str(output),
                "documents": report.n_docs,
                "lost": report.n_lost,
                "damage": list(report.damage),
            }
        )
        return
    for message in report.damage:
        console().print(printable(message), soft_wrap=True)  # no line breaks in paths
    told, shown = counted(report.n_docs, "document"), printable(str(output))
    if report.n_lost:
        console().print(f"{shown} has {told}; up to {report.n_lost:,} were lost.")
    else:
        console().print(f"{shown} has all {told}.")


def files_of(generation: Commit) -> int:
    """Return the number of files of a commit, including manifests."""
    return sum(len(part.files) + 1 for part in generation.parts.values()) + 1


def bytes_of(folder: Path) -> int:
    """Return the size on disk of a folder; files deleted meanwhile are not counted."""
    n_bytes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            n_bytes += path.stat().st_size if path.is_file() else 0
    return n_bytes


def _facts(opened: SoftIndex, path: Path) -> dict[str, Any]:
    analyzer = opened.analyzer.to_dict()
    similarity = opened.S.statistics(eigenvalue=False).to_dict()
    del similarity["smallest_eigenvalue"]
    similarity["balanced"] = opened.S.scales is not None
    similarity["shrunk"] = float(opened.S.settings.get("shrunk", 1.0))
    from softcosine.index.directory.manifest import IndexSettings
    from softcosine.index.directory.remote_store import open_store

    snapshot = opened.snapshot
    settings = IndexSettings.from_dict(open_store(path).read().settings)
    return {
        "index": name_of(path),
        "generation": snapshot.generation,
        "epoch": opened.epoch,
        "frozen": opened.frozen,
        **_sizes(opened),
        "counted": snapshot.statistics[0].n_docs,
        "terms": len(opened.vocabulary),
        "fields": [{"name": one.name, "weight": one.weight} for one in opened.fields],
        "positions": settings.positions,
        "texts": settings.texts,
        "bytes": bytes_of(opened.path or path),
        "ranking": opened.ranking,
        "weighting": opened.weighting.to_dict(),
        "analyzer": {
            **analyzer,
            "stop_words": len(analyzer["stop_words"]),
            **({"lemmas": len(analyzer["lemmas"])} if "lemmas" in analyzer else {}),
        },
        "language": opened.language,
        "note": opened.note,
        "meaning": facts_of(opened),
        "similarity": similarity,
    }


def _sizes(opened: SoftIndex) -> dict[str, int]:
    segments = opened.snapshot.segments
    return {
        "documents": len(opened),
        "deleted": sum(segment.n_docs - segment.n_live for segment in segments),
        "segments": opened.snapshot.n_segments,
        "postings": sum(own.n_postings for segment in segments for own in segment.fields),
    }


def _facts_of_shards(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a sharded index has in place of the facts of its epoch."""
    from softcosine.cluster.manifest import ShardsManifest
    from softcosine.index.soft_index import SoftIndex

    manifest = ShardsManifest.read(path)
    opened = [SoftIndex.open(path / one.folder) for one in manifest.shards]
    sizes, meanings = [_sizes(one) for one in opened], [facts_of(one) or {} for one in opened]
    if meaning := facts["meaning"]:
        meaning |= {name: sum(one[name] for one in meanings) for name in ("encoded", "estimated")}
    return {
        "index": name_of(path),
        **{name: sum(one[name] for one in sizes) for name in sizes[0]},
        "bytes": facts["bytes"] + sum(bytes_of(one.path) for one in opened if one.path is not None),
        "shards": [{"folder": one.folder, "documents": one.n_docs} for one in manifest.shards],
    }


def _show(name: str, facts: dict[str, Any]) -> None:
    """Print the facts of an index, or those that a server answers."""
    from rich.table import Table

    on_disk = f"{counted(facts['segments'], 'segment')}, generation {facts['generation']:,}"
    if "bytes" in facts:
        on_disk = f"{size(facts['bytes'])} in {on_disk}"
    elif "commit" in facts:
        on_disk += f", commit {facts['commit']}"
    lines = {
        "documents": _documents(facts),
        "shards": _shards(facts.get("shards", [])),
        "fields": _fields(facts["fields"]),
        "terms": f"{facts['terms']:,}",
        **_kept(facts),
        **_ranked(facts),
        "similar words": _similar(facts["similarity"]),
        "source": facts["note"] or _unnamed_source(facts),
        "your lists": facts["list_use"],
        "meaning": _meaning(facts),
        "on disk": on_disk,
        "epoch": f"{facts['epoch']}{', frozen' if facts['frozen'] else ''}",
        "aliases": ", ".join(facts.get("aliases", ())),
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    for key, value in lines.items():
        if value:
            table.add_row(key, printable(value))
    console().print(printable(name), style="bold")
    print_table(table)


def _documents(facts: dict[str, Any]) -> str:
    deleted = facts.get("deleted", 0)
    more = f", and {deleted:,} deleted, which take space until a merge" if deleted else ""
    return f"{facts['documents']:,}{more}"


def _shards(shards: list[dict[str, Any]]) -> str:
    if not shards:
        return ""
    sizes = [one["documents"] for one in shards]
    return f"{len(shards):,}, of {min(sizes):,} to {max(sizes):,} documents"


def _fields(fields: list[dict[str, Any]]) -> str:
    """Return names and weights of the fields; an empty string for one field."""
    if len(fields) == 1:
        return ""
    return ", ".join(f"{one['name']} (weight {one['weight']:g})" for one in fields)


def _words(analyzer: dict[str, Any]) -> str:
    words = [f"stemmed ({analyzer['stemmer']})" if analyzer["stemmer"] else "not stemmed"]
    if analyzer["stop_words"]:
        words.append(f"without {analyzer['stop_words']} stop words")
    if analyzer["segmenter"]:
        words.append(f"segmented ({analyzer['segmenter']})")
    if analyzer["max_ngram"] > 1:
        words.append(f"up to {analyzer['max_ngram']} words per term")
    if analyzer.get("lemmas"):
        words.append(counted(analyzer["lemmas"], "lemma"))
    if analyzer.get("phrases"):
        words.append(f"{counted(len(analyzer['phrases']), 'phrase')} from your lists")
    return ", ".join(words)


def _kept(facts: dict[str, Any]) -> dict[str, str]:
    """Return how an index in a folder keeps its texts."""
    if "positions" not in facts:
        return {}
    texts = "texts" if facts["texts"] else "no texts"
    stored = f"{texts}, positions" if facts["positions"] else texts
    return {"words": _words(facts["analyzer"]), "stored": stored}


def _ranked(facts: dict[str, Any]) -> dict[str, str]:

    ranking, weighting = facts["ranking"], facts["weighting"]
    named = ("k1", "b") if ranking.endswith("bm25") else ("tf", "idf")
    weights = ", ".join(f"{name} {weighting[name]}" for name in named)
    if facts.get("counted", facts["documents"]) != facts["documents"]:
        weights += f", computed for {counted(facts['counted'], 'document')}"
    return {"ranking": f"{ranking} ({RANKINGS[ranking]})", "weights": weights}


def _unnamed_source(facts: dict[str, Any]) -> str:
    return "a source without a name" if facts["terms"] else "chosen by the first documents"


def _similar(S: dict[str, Any]) -> str:
    return (
        f"{S['n_terms_with_neighbors']:,} of {S['n_terms']:,} terms have some; "
        f"{S['mean_neighbors']:.1f} per term on average, {S['max_neighbors']} at most; mean "
        f"similarity {S['mean_similarity']:.2f}"
    )


def _meaning(facts: dict[str, Any]) -> str:
    """Return the encoder, how many documents have coordinates, and what their cosines weigh."""
    if (meaning := facts["meaning"]) is None:
        return ""
    n_docs, n_encoded = facts["documents"], meaning["encoded"]
    encoded = (
        "all documents"
        if n_encoded == n_docs
        else f"{n_encoded:,} of {counted(n_docs, 'document')}"
    )
    encoded += " encoded" if meaning["encoder"] != "static" else " by the query table"
    if meaning["estimated"]:
        encoded += f", {meaning['estimated']:,} estimated"
    table = "" if meaning["query_table"] else " (no query table)"
    own = facts["ranking"]
    weights = ", ".join(
        f"{weight:g} in {name}"
        for name, weight in sorted(meaning["weights"].items(), key=lambda pair: pair[0] != own)
    )
    return (
        f"{meaning['encoder']}, {meaning['dimensions']} dimensions{table}; {encoded}; weight "
        f"{weights}"
    )
