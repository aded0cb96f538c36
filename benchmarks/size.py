"""How large the house is: lines by room and their ceilings, what a query crosses, what is public.

Run ``make size``, or ``python benchmarks/size.py --check`` for the ceilings alone. Prints, and
writes nothing. Lines are lines of code: without docstrings, comments and blanks. A room may have
the lines that ``.ci/ceilings.json`` says.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import tempfile
import tokenize
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / "src" / "softcosine"
CEILINGS = REPOSITORY / ".ci" / "ceilings.json"
INTERNALS = REPOSITORY / ".ci" / "internals.txt"  # what evaluation and laboratory may import
APART = ("evaluate", "lab")  # not counted in the sum of the library
_SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def count(file: Path) -> Counter[str]:
    """Count the lines of code, functions and classes of a file."""
    tree = ast.parse(file.read_text("utf-8"))
    lines: set[int] = set()
    with file.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in _SKIPPED:
                lines.update(range(token.start[0], token.end[0] + 1))
    counted = Counter(files=1)
    for node in ast.walk(tree):
        counted["functions"] += isinstance(node, _FUNCTIONS)
        counted["classes"] += isinstance(node, ast.ClassDef)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Module)) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    counted["lines"] = len(lines)
    return counted


def rooms(folder: Path = SOURCE) -> dict[str, Counter[str]]:
    """Count by room, which is a folder of the package; "." for the modules beside them."""
    counted: dict[str, Counter[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        place = file.relative_to(folder).parts
        counted.setdefault(place[0] if len(place) > 1 else ".", Counter()).update(count(file))
    return counted


def above(counted: dict[str, Counter[str]]) -> list[str]:
    """Return the rooms with more lines than their ceiling."""
    ceilings = json.loads(CEILINGS.read_text("utf-8"))
    return [
        f"{room} has {own['lines']:,} lines of code, and its ceiling is {ceilings.get(room, 0):,}"
        for room, own in counted.items()
        if own["lines"] > ceilings.get(room, 0)
    ]


def spelled(options: set[str], least: int) -> list[str]:
    """Return the places that spell so many of some options together."""
    places = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
                case ast.Call():
                    names = [one.arg or "" for one in node.keywords]
                case ast.Dict():
                    names = [str(one.value) for one in node.keys if isinstance(one, ast.Constant)]
                case ast.ClassDef():
                    names = [
                        one.target.id
                        for one in node.body
                        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                    ]
                case _:
                    continue
            if len(options.intersection(names)) >= least:
                places.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    return places


def private_modules() -> list[str]:
    """Return the private modules that evaluation and laboratory import."""
    import softcosine

    public = {"softcosine", "softcosine.errors", *softcosine._HOMES.values()}
    imported = set()
    for room in APART:
        for file in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    imported.add(node.module)
    own = tuple(f"softcosine.{room}" for room in APART)
    return sorted(
        one
        for one in imported - public
        if one.startswith("softcosine.") and not one.startswith(own)
    )


def unlisted() -> list[str]:
    """Return the differences of `private_modules` and the list of them."""
    listed = set(INTERNALS.read_text("utf-8").split())
    return [
        f"{one} is imported by {' or '.join(APART)}, or stands in .ci/{INTERNALS.name}, not both."
        for one in sorted(listed ^ set(private_modules()))
    ]


def crossed(run: Callable[[], object]) -> str:
    """Return how many files and functions of the package a call enters, and how often."""
    entered: Counter[tuple[str, str]] = Counter()

    def hook(frame: FrameType, event: str, _: object) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(str(SOURCE)) and not name.startswith("<"):
            entered[file, frame.f_code.co_qualname] += 1

    sys.setprofile(hook)
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    files = len({file for file, _ in entered})
    return f"{files} files, {len(entered)} functions, {entered.total():,} calls"


def names() -> Iterator[tuple[str, str]]:
    """Yield names of characters, which every Python has: a collection without a download."""
    for code in range(0x20, 0x1F9FF):
        name = unicodedata.name(chr(code), "")
        if name and unicodedata.ucd_3_2_0.name(chr(code), "") and "IDEOGRAPH" not in name:
            yield f"{code:x}", name.lower()


QUERIES = ["right arrow", "infinite", "kitten", "+greek small alfa", "smiling fase", "not equal"]
WORDS: dict[str, Any] = {"ask": "words"}
SEARCHES: list[dict[str, Any]] = [
    {},
    {"ranking": "soft_cosine"},
    {"ranking": "soft_bm25", **WORDS},
    {"mmr": 0.5},
    {"ranking": "inner_product", "offset": 3},
    {"sort": "-n", "k": 20},
    {"correct": True},
    {"where": {"n": {">": 20}}, "fill": True},
    {"first_stage": 8},
    {"ranking": "soft_bm25"},
    {"facets": ["n"], "k": 3},
    {"facets": ["n"], "k": 3, **WORDS},
    {"expand": False},
    {"expand": False, "ranking": "soft_cosine", **WORDS},
    {"min_score": 5.0},
    {"min_score": 1.0, "ranking": "expanded_cosine", "k": 40},
    {"ranking": "soft_bm25", "first_stage": 4, **WORDS},
    {"max_terms": 1, "keep_stop_words": True},
]


def answers(index: Any, searches: list[dict[str, Any]]) -> Iterator[str]:
    """Yield ids and scores of searches, to the bit, with facets, explanations and `scores`."""
    for options in searches:
        for hits in index.search_batch(QUERIES, syntax=True, **options):
            yield from (f"{hit.id} {hit.score.hex()}" for hit in hits)
            yield from (f"{hits.facets[key]}" for key in hits.facets)
    ids = list(index)[300:340]
    for hit in index.similar(ids[0]):
        yield f"{hit.id} {hit.score.hex()}"
    for query in QUERIES:
        for ranking in ("soft_tf_bm25", "soft_bm25", "soft_cosine"):
            yield from (one.hex() for one in index.scores(query, ids, ranking=ranking).tolist())
            for hit in index.search(query, ranking=ranking, k=2):
                parts = index.explain(query, hit.id, ranking=ranking).parts
                yield from (f"{one} {one.contribution.hex()}" for one in parts)


def digest() -> str:
    """Return a checksum of a fixed set of searches, to the bit.

    Of one field, two fields, and shards that answer as one index; and of neighbors of rows.
    """
    from softcosine import (
        ShardedIndex,
        ShardPlan,
        SoftIndex,
        SoftNeighbors,
        TermSimilarityMatrix,
    )

    ids, texts = zip(*list(names())[:6000], strict=True)
    metadata = [{"n": len(text)} for text in texts]
    index = SoftIndex.from_texts(texts, ids=ids, metadata=metadata, encoder="static")
    lines = list(answers(index, SEARCHES))
    halves = SoftIndex.create(fields={"head": 2.0, "rest": 1.0}, encoder="static")
    with halves.writer() as writer:
        for id, text, own in zip(ids[:3000], texts, metadata, strict=False):
            head, _, rest = text.partition(" ")
            writer.add(id, {"head": head, "rest": rest}, own)
    lines += answers(halves, SEARCHES)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "names.jsonl")
        records = [
            json.dumps({"id": id, "text": text, **own})
            for id, text, own in zip(ids[:2000], texts, metadata, strict=False)
        ]
        source.write_text("\n".join(records), "utf-8")
        plan = ShardPlan([source], docs_per_shard=700, encoder="static")
        with ShardedIndex.open(plan.build(Path(name, "names.shards"))) as shards:
            lines += answers(shards, SEARCHES)
    rows = [[max(0, (7 * row + 3 * term) % 11 - 6) for term in range(40)] for row in range(200)]
    near = [[0.75 ** abs(one - other) for other in range(40)] for one in range(40)]
    S = TermSimilarityMatrix.from_matrix(near)
    for ranking in ("soft_cosine", "soft_bm25", "soft_tf_bm25"):
        matches = SoftNeighbors(S, ranking=ranking).fit(rows).search(rows[:20], k=7)
        lines += [f"{matches.ids.tolist()} {[one.hex() for one in matches.scores.flat]}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def commands() -> tuple[list[str], dict[str, int]]:
    """Return the commands at the top, and the number of options of some."""
    import typer

    from softcosine.cli.app import app

    group: Any = typer.main.get_command(app)
    shown = [name for name, one in group.commands.items() if not one.hidden]
    options = {}
    for name in ("search", "index"):
        params = group.commands[name].loaded.params
        options[name] = sum(one.param_type_name == "option" for one in params)
    return shown, options


def crossings() -> Iterator[tuple[str, str]]:
    """Yield what a query and a document cross, once everything is imported and warm."""
    from softcosine import SoftIndex
    from softcosine.cli.app import main as run_command

    with tempfile.TemporaryDirectory() as name:
        texts = Path(name, "faq.txt")
        texts.write_text("how to mend a flat tyre\nthe kettle boils water\na dog barks\n", "utf-8")
        path = str(Path(name, "faq.index"))
        yield "softcosine index", crossed(lambda: run_command(["index", str(texts), "-o", path]))
        yield "softcosine search", crossed(lambda: run_command(["search", path, "bike tyre"]))
        index = SoftIndex.open(path)
        index.search("bike tyre")
        yield "SoftIndex.search, warm", crossed(lambda: index.search("bike tyre"))


def main() -> None:
    counted = rooms()
    advice = "Take lines out, or say in docs/decisions.md what more buy."
    wrong = [f"{line}. {advice}" for line in above(counted)] + unlisted()
    if "--check" not in sys.argv:
        report(counted)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(1)
    print("No room is above its ceiling (.ci/ceilings.json).")


def report(counted: dict[str, Counter[str]]) -> None:
    """Print everything."""
    import softcosine
    from softcosine.index.options import IndexOptions
    from softcosine.index.requests import SearchOptions

    print(f"{'room':<16}{'lines':>8}{'files':>8}{'functions':>11}{'classes':>9}")
    library = sum((own for room, own in counted.items() if room not in APART), Counter[str]())
    every = sum(counted.values(), Counter[str]())
    tests = sum(rooms(REPOSITORY / "tests").values(), Counter[str]())
    for room, own in (*counted.items(), ("library", library), ("all", every), ("tests", tests)):
        print(
            f"{room:<16}{own['lines']:>8,}{own['files']:>8,}{own['functions']:>11,}"
            f"{own['classes']:>9,}"
        )
    print(f"library: all but {', '.join(APART)}\n")
    places = spelled({*SearchOptions.__struct_fields__}, 4)
    print(f"{len(places)} places spell four or more options of a search: {', '.join(places)}")
    places = spelled({*IndexOptions.__struct_fields__}, 5)
    print(
        f"{len(places)} places spell five or more options of making an index: {', '.join(places)}"
    )
    print(f"{len(softcosine.__all__)} public names")
    shown, options = commands()
    print(f"{len(shown)} commands at the top: {', '.join(shown)}")
    print("options: " + ", ".join(f"{n} of {name}" for name, n in options.items()))
    private = private_modules()
    print(f"{len(private)} private modules are imported by {', '.join(APART)}")
    installed = sum(
        one.stat().st_size for one in SOURCE.rglob("*") if one.suffix != ".pyc" and one.is_file()
    )
    print(f"{installed / 1e6:.1f} MB installed")
    with tempfile.TemporaryFile("w+") as output:  # what the commands print
        kept, sys.stdout = sys.stdout, output
        try:
            lines = list(crossings())
        finally:
            sys.stdout = kept
    for what, crossing in lines:
        print(f"{what}: {crossing}")
    print(f"checksum of a fixed set of searches: {digest()}\n")


if __name__ == "__main__":
    main()
