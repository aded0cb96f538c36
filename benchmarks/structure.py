"""How large the package is, and how much of it a command passes through.

Run ``python benchmarks/structure.py``. Lines are counted by folder: code, docstrings, and the rest
(comments and blank lines). A profile hook in the command's process counts the files and functions
of the package that ``softcosine index`` and ``softcosine search`` enter, and how often control
passes from one file of the package to another.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from measure import REPOSITORY, write_report

SOURCE = REPOSITORY / "src" / "softcosine"
TEXTS = (
    "How do I fix a flat tyre on my bike?",
    "The kettle takes ages to boil water for tea",
    "My dog barks at the mailman every morning",
)
OPEN = "open"
_SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def docstring_lines(tree: ast.AST) -> set[int]:
    """Numbers of the lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                lines.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return lines


def count_lines(file: Path) -> Counter[str]:
    """Count the lines of a file: code, docstring, all."""
    text = file.read_text("utf-8")
    documented = docstring_lines(ast.parse(text))
    coded: set[int] = set()
    with file.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in _SKIPPED:
                coded.update(range(token.start[0], token.end[0] + 1))
    return Counter(
        files=1, code=len(coded - documented), docstrings=len(documented), all=text.count("\n")
    )


def by_folder() -> list[dict[str, object]]:
    """Lines by folder of the package, the whole last."""
    counted: dict[str, Counter[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE).parts
        counted.setdefault(place[0] if len(place) > 1 else ".", Counter()).update(count_lines(file))
    counted["all"] = sum(counted.values(), Counter())
    return [
        {
            "folder": name,
            "files": own["files"],
            "lines of code": own["code"],
            "lines of docstrings": own["docstrings"],
            "lines in all": own["all"],
        }
        for name, own in counted.items()
    ]


def crossed(arguments: Sequence[str]) -> dict[str, int]:
    """Run a command, or search an index again that is open; what of the package that entered."""
    run = command(arguments) if arguments[0] != OPEN else second_search(*arguments[1:])
    entered: Counter[tuple[str, str]] = Counter()
    changes, last = 0, ""

    def hook(frame: FrameType, event: str, _: object) -> None:
        nonlocal changes, last
        file = frame.f_code.co_filename
        name = frame.f_code.co_name  # "<module>", "<genexpr>" and the like are no functions
        if event == "call" and file.startswith(str(SOURCE)) and not name.startswith("<"):
            entered[file, frame.f_code.co_qualname] += 1
            changes += file != last
            last = file

    sys.setprofile(hook)
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    return {
        "files": len({file for file, _ in entered}),
        "functions": len(entered),
        "calls": entered.total(),
        "changes of file": changes,
    }


def command(arguments: Sequence[str]) -> Callable[[], object]:
    """Return a command, imported but not run."""
    from softcosine.cli.app import main as run_command

    return lambda: run_command(arguments)


def second_search(path: str, query: str) -> Callable[[], object]:
    """Return a search of an index that has answered it before."""
    from softcosine import SoftIndex

    index = SoftIndex.open(path)
    index.search(query)
    return lambda: index.search(query)


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands that are followed, each after those before it."""
    texts = folder / "faq.txt"
    texts.write_text("\n".join(TEXTS) + "\n", "utf-8")
    index = str(folder / "faq.index")
    return {
        "softcosine index": ["index", str(texts), "-o", index],
        "softcosine search": ["search", index, "bicycle puncture"],
        "SoftIndex.search, once open": [OPEN, index, "bike tyre"],
    }


def follow() -> list[dict[str, object]]:
    """Follow each command in a process of its own, with warm caches."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        for command, arguments in commands(Path(name)).items():
            output = Path(name, "counted.json")
            subprocess.run(
                [sys.executable, __file__, "--follow", str(output), *arguments],
                env={**os.environ, "SOFTCOSINE_HOME": name},
                stdout=subprocess.DEVNULL,
                check=True,
            )
            rows.append({"command": command, **json.loads(output.read_text("utf-8"))})
    return rows


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--follow"]:
        Path(arguments[1]).write_text(json.dumps(crossed(arguments[2:])), "utf-8")
        return
    crossing = (
        "Functions of the package that the command enters, those that importing runs aside; a "
        "change of file is a call that enters another file than the call before.",
    )
    print(write_report("structure", "What a command passes through", follow(), {}, notes=crossing))
    print(write_report("lines", "Lines of the package", by_folder(), {}, script="structure"))


if __name__ == "__main__":
    main(sys.argv[1:])
