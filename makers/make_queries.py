"""Makes the query table of softcosine-multilingual, and prints its table of sources.

See README.md beside this file for how to run it.
"""

from __future__ import annotations

import argparse
import gzip
import html
import os
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from meaning_texts import (
    BLOCK,
    NO_TEXT,
    Words,
    forbidden,
    runs_of,
    texts_of_records,
    words_of,
)
from softcosine.encoders.loading import load_encoder
from softcosine.space.meaning_file import save_meaning
from softcosine.space.table_fitting import FitSettings, fit_meaning, measure_prediction, split_texts

TARGET = Path(__file__).parents[1] / (
    "packages/softcosine-multilingual/src/softcosine_multilingual/data/queries.npz"
)
# Number of texts of each language.
LANGUAGES = {
    "de": 6000, "cs": 6000, "it": 6000, "fr": 2500, "es": 2500, "pt": 2500, "nl": 2500, "pl": 2500,
    "ru": 2500, "sv": 2500, "da": 2500, "en": 2500,
}  # fmt: skip
# Packages of a language, how many texts in turn come from each, and how they are read.
PACKAGES = {
    "libreoffice-help-{}": (3, "html"), "gimp-help-{}": (1, "html"), "debian-faq-{}": (1, "html"),
    "debian-edu-doc-{}": (1, "html"), "aptitude-doc-{}": (1, "html"), "fortunes-{}": (3, "fortune"),
    "manpages-{}": (1, "man"),
    "gnucash-docs/usr/share/doc/gnucash-docs/gnucash-guide-{}": (1, "html"),
}  # fmt: skip
_REGIONS = {("pt", "libreoffice-help-{}"): "pt-br", ("pt", "debian-edu-doc-{}"): "pt-br"}
_CHARSETS = {"cs": "latin-2", "pl": "latin-2", "ru": "koi8-r"}  # of fortunes not in UTF-8
_MOST = 150_000  # texts of a source
_ENGLISH = re.compile(r" (the|and|with|this) ", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|\n\s*\n")
_ROFF = re.compile(r"\\f.|\\-|\\&|\\\(..|\\s[+-]?\d")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="unpacked Debian packages")
    parser.add_argument("--translations", type=Path, required=True, help="package descriptions")
    parser.add_argument("--cache", type=Path, required=True, help="file of encoded texts")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    given = parser.parse_args()
    evaluation = os.environ.get("SOFTCOSINE_DATA")
    if evaluation is None:
        print("SOFTCOSINE_DATA is not set: texts are not compared with the evaluation data.")
    texts = collect(
        given.packages, given.translations, None if evaluation is None else Path(evaluation)
    )
    encoder = load_encoder("multilingual")
    kept, held_out = split_texts(texts)
    space = fit_meaning(
        encoder, kept, dimensions=320, settings=FitSettings(epochs=10), cache=given.cache,
        progress=lambda stage, done, total: print(f"\r{stage}: {done:,} of {total:,}", end=""),
    )  # fmt: skip
    save_meaning(space, given.output)
    print(f"\n{space}, {given.output.stat().st_size / 1e6:.2f} MB")
    print(measure_prediction(space, encoder, held_out, cache=given.cache))


def collect(packages: Path, translations: Path, evaluation: Path | None) -> list[str]:
    """Return texts of all languages, from all sources of a language in turn."""
    questions = [] if evaluation is None else evaluation.glob("questions/*/*.jsonl.gz")
    runs, whole = forbidden(texts_of_records(questions))
    rng = random.Random(0)
    texts: list[str] = []
    print("| language | texts | left out | sources |\n|---|---|---|---|")
    for language, most in LANGUAGES.items():
        seen: set[Words] = set()
        n_left_out = 0
        sources: dict[str, tuple[int, list[str]]] = {}
        for name, weight, sentences in _sources(packages, translations, language):
            usable: list[str] = []
            for sentence in sentences:
                words = words_of(sentence)
                if words in seen or (language != "en" and _ENGLISH.search(sentence)):
                    continue
                seen.add(words)
                if words in whole or not runs.isdisjoint(runs_of(words)):
                    n_left_out += 1
                else:
                    usable.append(sentence)
                if len(usable) == _MOST:
                    break
            rng.shuffle(usable)
            sources[name] = weight, usable
        taken = dict.fromkeys(sources, 0)
        chosen: list[str] = []
        while len(chosen) < most:
            before = len(chosen)
            for name, (weight, usable) in sources.items():
                chosen += usable[taken[name] : taken[name] + weight]
                taken[name] += weight
            if len(chosen) == before:
                break
        texts += chosen[:most]
        print(f"| {language} | {len(chosen[:most]):,} | {n_left_out} | {', '.join(sources)} |")
    return texts


def _sources(
    packages: Path, translations: Path, language: str
) -> Iterator[tuple[str, int, Iterator[str]]]:
    """Yield the name, weight and sentences of each source of a language."""
    region = "pt%5fBR" if language == "pt" else language
    (descriptions,) = translations.glob(f"*Translation-{region}")
    yield "package descriptions", 3, _of_descriptions(descriptions)
    yield "wesnoth-1.16-data", 3, _of_wesnoth(packages / "wesnoth-1.16-data", language)
    for pattern, (weight, kind) in PACKAGES.items():
        code = _REGIONS.get((language, pattern), language)
        name = pattern.format("br" if (language, kind) == ("pt", "fortune") else code)
        if (folder := packages / name).is_dir():
            if kind == "html":
                yield name, weight, _of_html(folder)
            elif kind == "man":
                yield name, weight, _of_manuals(folder)
            else:
                yield name, weight, _of_fortunes(folder, _CHARSETS.get(language, "latin-1"))


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph that are neither long nor code."""
    for sentence in _SENTENCE_END.split(text):
        plain = re.sub(r"\s+", " ", sentence).strip()
        letters = sum(c.isalpha() or c == " " for c in plain)
        usable = 3 <= len(plain.split()) <= 40 and len(plain) <= 300 and letters > 0.85 * len(plain)
        if usable and plain[0].isalnum() and plain.isprintable():
            yield plain


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and not path.is_symlink():
            yield path


def _of_html(folder: Path) -> Iterator[str]:
    for path in _files(folder, "*.html"):
        for block in BLOCK.finditer(NO_TEXT.sub(" ", path.read_text("utf-8", "replace"))):
            yield from _sentences(html.unescape(re.sub(r"<[^>]+>", "", block[2])))


def _of_fortunes(folder: Path, charset: str) -> Iterator[str]:
    for path in _files(folder / "usr/share/games/fortunes", "*"):
        if path.suffix not in (".dat", ".u8") and path.name not in ("sk", "off"):
            content = path.read_bytes()
            try:
                text = content.decode()
            except UnicodeDecodeError:
                text = content.decode(charset)
            for entry in text.split("\n%"):
                yield from _sentences(entry)


def _of_manuals(folder: Path) -> Iterator[str]:
    for path in _files(folder, "*.gz"):
        if "man" in path.relative_to(folder).parts:
            text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            text = re.sub(r"^[.'].*$", "\n", text, flags=re.M)
            text = _ROFF.sub(lambda match: "-" if match[0] == "\\-" else "", text)
            for paragraph in re.split(r"\n\s*\n", text):
                if "\\" not in paragraph:
                    yield from _sentences(paragraph)


def _of_wesnoth(folder: Path, language: str) -> Iterator[str]:
    """Yield the sentences of gettext's compiled messages; the English ones are their keys."""
    code = {"pt": "pt_BR", "en": "it"}.get(language, language)
    for path in _files(folder, f"locale/{code}/LC_MESSAGES/*.mo"):
        data = path.read_bytes()
        n, keys, messages = struct.unpack_from("<III", data, 8)

        def entry(table: int, number: int, data: bytes = data) -> bytes:
            length, start = struct.unpack_from("<II", data, table + 8 * number)
            return data[start : start + length].split(b"\x04")[-1].split(b"\0")[0]

        for number in range(n):
            key, message = entry(keys, number), entry(messages, number)
            if key and (language == "en" or key != message):
                text = (key if language == "en" else message).decode("utf-8", "replace")
                text = re.sub(r"<[^>]+>|\$\w+\|?", " ", text)
                if "{" not in text and "=" not in text:
                    yield from _sentences(text)


def _of_descriptions(path: Path) -> Iterator[str]:
    for record in path.read_text("utf-8", "replace").split("\n\n"):
        found = re.search(r"^Description-(?!md5)[\w-]+: (.*)\n((?: .*\n?)*)", record, re.M)
        if found:
            long = re.sub(r"^ \.$", "\n", found[2], flags=re.M)
            yield from _sentences(f"{found[1]}\n\n{long}")


if __name__ == "__main__":
    main()
