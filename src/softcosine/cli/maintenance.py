"""Commands ``softcosine info``, ``admin check`` and ``backup``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from softcosine.cli.derived import argument, option
from softcosine.cli.failures import show_warning
from softcosine.cli.opening import any_index, name_of
from softcosine.cli.options import AnyIndex, Index, Json, Overwrites
from softcosine.cli.output import (
    counted,
    duration,
    neighbors_told,
    print_json,
    print_result,
    show_facts,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.errors import CorruptIndexError
from softcosine.index.requests import TITLES
from softcosine.index.wire import wire

if TYPE_CHECKING:
    from softcosine.index.directory.commit import Commit
    from softcosine.matrix.list_use import ListUse


def info(index: AnyIndex, as_json: Json = False) -> None:
    """Show the contents, settings, source of similarities and size of an index.

      softcosine info faq.index
      softcosine info big.shards

    JSON: index; documents, deleted (not merged away yet), segments, counted (documents behind the
    term weights), terms, postings, generation (number of the commit), commit, epoch, frozen, fields
    of name and weight, positions, texts (true if stored), ranking, weighting, analyzer, language,
    note, meaning (null without encoder; else encoder, dimensions, query_table, encoded,
    weights), ranked_by (a line), records (fields of the files that made it), and similarity:
    n_terms, n_neighbors, mean_neighbors, and so on. Of an index of a server also name and aliases;
    of one in a folder also bytes, and list_use (null without synonym lists): n_entries, n_used,
    n_in_queries (with one word in no document), reasons, and the first hundred unused, of left,
    right and reason; of a sharded index also shards, of folder, checksum and n_docs.
    """
    from softcosine.index.search.searchable import Searchable
    from softcosine.storage.remote import is_sharded

    with any_index(index) as opened:
        facts, use = {"index": name_of(index), **opened.info()}, None
        if isinstance(opened, Searchable):
            use = opened.list_use
            facts["list_use"] = wire(use)
            if (folder := Path(opened.path or index)).is_dir():
                facts["bytes"] = bytes_of(folder)
            if is_sharded(index):
                from softcosine.cluster.manifest import ShardsManifest

                facts["shards"] = wire(ShardsManifest.read(index).shards)
    if as_json:
        print_json(facts)
    else:
        _show(facts, use)


def check(index: Index, as_json: Json = False) -> None:
    """Check the checksums and the consistency of an index.

      softcosine admin check faq.index
      softcosine admin check big.shards

    The command compares every file of the last commit with its checksum, postings with the terms of
    the documents, ids with documents, and the stored similarities and lengths with their
    definitions. It also works during a write. Of a sharded index, it checks every
    shard, and that they belong together.

    JSON: index, generation, files, bytes, seconds; for a sharded index shards (their number) in
    place of generation. At the first error, for a sharded index the first of each shard, the
    command prints the file or array and ends with exit code 1.
    """
    from softcosine.storage.remote import is_sharded

    with Reporter() as report:
        if is_sharded(index):
            commits = _checked_shards(index, report)
            facts = {"shards": len(commits) - 1}
        else:
            commits = [_checked(index, report)]
            facts = {"generation": commits[0].number}
    n_files, n_bytes = sum(map(files_of, commits)), sum(bytes_of(one.path) for one in commits)
    own = {"files": n_files, "bytes": n_bytes, "seconds": report.seconds}
    told = f"{name_of(index)} is intact: {n_files} files, {size(n_bytes)}, checked in "
    told += f"{duration(report.seconds)}."
    print_result({"index": name_of(index), **facts, **own}, as_json, told)


def _checked(index: Path, report: Reporter) -> Commit:
    """Return the commit of an index; the error says how to repair it."""
    from softcosine.index.directory.check import check_index
    from softcosine.index.directory.remote_store import open_store
    from softcosine.storage.remote import url_of

    store = open_store(index)
    try:
        return check_index(store, report)
    except CorruptIndexError as error:
        advice = "Restore a backup, or index its documents anew."
        if url_of(index) is not None:  # an overwritten copy keeps its equal parts
            command = f"softcosine admin backup FOLDER {name_of(index)}"
            advice = f"Delete it there, and run '{command}'."
        raise CorruptIndexError(f"{error} {advice}") from error


def _checked_shards(index: Path, report: Reporter) -> list[Commit]:
    """Return the commits of the epoch and of all shards; print what is wrong with each."""
    from softcosine.cluster.sharded_check import check_shards

    found = check_shards(index, report)
    for name, message in found.damage.items():
        show_warning(f"{name}: {message}")
    if found.damage:
        raise CorruptIndexError(
            f"{len(found.damage)} of {len(found.commits) + len(found.damage)} folders of "
            f"{name_of(index)} are damaged: {', '.join(found.damage)}. Restore them from a backup."
        )
    return list(found.commits.values())


def backup(
    index: Index,
    to: Annotated[Path, argument("TO", "The folder to write, or a URL: s3://bucket/folder.")],
    overwrite: Overwrites = False,
    links: bool = option("--links", "Share the files by hard links: fast, on one disk.", False),
    verify: bool = option("--verify/--no-verify", "Compare the checksum of every file.", True),
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

    JSON: index, path, commit (its checksum), n_docs, n_bytes, seconds.
    """
    from softcosine.cluster.sharded_backup import back_up_shards
    from softcosine.index.directory.backup import back_up
    from softcosine.index.directory.remote_store import open_store
    from softcosine.storage.remote import is_sharded

    how: dict[str, Any] = {"links": links, "verify": verify, "overwrite": overwrite}
    with Reporter() as report:
        if is_sharded(index):
            made = back_up_shards(index, to, **how, progress=report)
        else:
            made = back_up(open_store(index), to, **how, progress=report)
    facts = {"index": name_of(index), **wire(replace(made, path=name_of(to)))}
    told = f"Copied {counted(made.n_docs, 'document')} in {duration(report.seconds)}: "
    told += f"{name_of(to)} ({size(made.n_bytes)})."
    print_result({**facts, "seconds": report.seconds}, as_json, told)


def files_of(generation: Commit) -> int:
    """Return the number of files of a commit, including manifests."""
    return sum(len(part.files) + 1 for part in generation.parts.values()) + 1


def bytes_of(folder: str | Path) -> int:
    """Return the size on disk of a folder; a file with several names counts once.

    Files deleted meanwhile are not counted.
    """
    sizes = {}
    for path in Path(folder).rglob("*"):
        with suppress(FileNotFoundError):
            facts = path.stat()
            if path.is_file():
                sizes[facts.st_dev, facts.st_ino] = facts.st_size
    return sum(sizes.values())


def _show(facts: dict[str, Any], use: ListUse | None) -> None:
    on_disk = f"{counted(facts['segments'], 'segment')}, generation {facts['generation']:,}"
    if "bytes" in facts:
        on_disk = f"{size(facts['bytes'])} in {on_disk}"
    elif "commit" in facts:
        on_disk += f", commit {facts['commit']}"
    deleted = facts["deleted"]
    more = f", and {deleted:,} deleted, which take space until a merge" if deleted else ""
    sizes = [one["n_docs"] for one in facts.get("shards", [])] or [0]
    texts = "texts" if facts["texts"] else "no texts"
    bound = "from 0 to 1" if "cosine" in facts["ranking"] else "no upper bound"
    weights = ("k1", "b") if facts["ranking"].endswith("bm25") else ("tf", "idf")
    older = f", computed for {counted(facts['counted'], 'document')}"
    unnamed = "a source without a name" if facts["terms"] else "chosen by the first documents"
    show_facts(facts["index"], {
        "documents": f"{facts['documents']:,}{more}",
        "shards": f"{len(sizes):,}, of {min(sizes):,} to {max(sizes):,} documents"
        if "shards" in facts else "",
        "fields": ", ".join(
            f"{one['name']} (weight {one['weight']:g})" for one in facts["fields"]
        ) if len(facts["fields"]) > 1 else "",
        "terms": f"{facts['terms']:,}",
        "words": _words(facts["analyzer"]),
        "stored": f"{texts}, positions" if facts["positions"] else texts,
        "ranked by": facts["ranked_by"],
        "ranking": f"{facts['ranking']} ({TITLES[facts['ranking']]}, {bound})",
        "weights": ", ".join(f"{name} {facts['weighting'][name]}" for name in weights)
        + (older if facts["counted"] != facts["documents"] else ""),
        "similar words": neighbors_told(facts["similarity"]),
        "source": facts["note"] or unnamed,
        "your lists": "" if use is None else str(use),
        "meaning": _meaning(facts),
        "on disk": on_disk,
        "epoch": f"{facts['epoch']}{', frozen' if facts['frozen'] else ''}",
        "aliases": ", ".join(facts.get("aliases", ())),
    })  # fmt: skip


def _words(analyzer: dict[str, Any]) -> str:
    n_lemmas, phrases = analyzer.get("lemmas") or 0, analyzer.get("phrases") or ()
    words = {
        f"stemmed ({analyzer['stemmer']})" if analyzer["stemmer"] else "not stemmed": True,
        f"without {analyzer['stop_words']} stop words": analyzer["stop_words"],
        f"segmented ({analyzer['segmenter']})": analyzer["segmenter"],
        f"up to {analyzer['max_ngram']} words per term": analyzer["max_ngram"] > 1,
        counted(n_lemmas, "lemma"): n_lemmas,
        f"{counted(len(phrases), 'phrase')} from your lists": phrases,
    }
    return ", ".join(text for text, applies in words.items() if applies)


def _meaning(facts: dict[str, Any]) -> str:
    """Return the encoder, how many documents have coordinates, and what their cosines weigh."""
    if (meaning := facts["meaning"]) is None:
        return ""
    mean = meaning["mean_cosine"]
    return (
        f"{meaning['encoder']}, {meaning['dimensions']} dimensions"
        f"{'' if meaning['query_table'] else ' (no query table)'}; {meaning['encoded']:,} of "
        f"{counted(facts['documents'], 'document')} "
        f"{'by the query table' if meaning['encoder'] == 'static' else 'encoded'}; weight "
        f"{meaning['weights'].get(facts['ranking'], 0):g} in {facts['ranking']}"
        f"{'' if mean is None else f', of what is above the mean cosine {mean:g}'}"
    )
