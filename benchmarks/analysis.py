"""How fast raw text becomes a document-term matrix, against scikit-learn and bm25s.

Run ``python benchmarks/analysis.py``; ``--tiny`` takes few documents and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import bm25s
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from measure import (
    Timing,
    data_folder,
    interleave,
    parser_of,
    peak_memory,
    read_jsonl,
    write_report,
)
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.words import normalize

# The word rule of softcosine.text.words for text without scripts that lack spaces: one group, in
# which scikit-learn looks for the word. [^\W_] stands for letters, digits and their marks.
ALIKE = (
    r"([a-z](?:\+\+|\#(?![^\W_]))"
    r"|[^\W_]+(?:(?<=\d)\.(?=\d)[^\W_]+|'(?=[^\W\d_])[^\W_]+)*?)"
    r"(?:(?<=[+\#])|(?:'s)*(?![^\W_]|'(?=[^\W\d_])|(?<=\d)\.(?=\d)))"
)


def check_alike(texts: Sequence[str]) -> None:
    """Exit unless both libraries, under one rule for words, count exactly the same."""
    vectorizer = CountVectorizer(token_pattern=ALIKE, preprocessor=normalize)
    theirs = csr_array(vectorizer.fit_transform(texts))
    analyzed = analyze(texts)
    ours = analyzed.counts()
    if tuple(vectorizer.get_feature_names_out()) != analyzed.vocabulary.terms:
        raise SystemExit("the vocabularies differ; the times would compare different work.")
    if (theirs != ours).nnz:
        raise SystemExit("the counts differ; the times would compare different work.")


def contestants(texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    stemming = Analyzer("english", stop_words="english")
    return {
        "softcosine: analyze, counts": lambda: analyze(texts).counts(),
        "scikit-learn CountVectorizer, its own words": lambda: CountVectorizer().fit_transform(
            texts
        ),
        "scikit-learn CountVectorizer, our words": lambda: CountVectorizer(
            token_pattern=ALIKE
        ).fit_transform(texts),
        "bm25s.tokenize (no counts)": lambda: bm25s.tokenize(
            list(texts), stopwords=None, show_progress=False
        ),
        "softcosine, stemmed, without stop words": lambda: analyze(texts, stemming).counts(),
    }


def main() -> None:
    options = parser_of(__doc__, runs=7, tiny=True).parse_args()
    path = data_folder() / "classification" / "20news_bydate.jsonl.gz"
    texts = [record["text"] for record in read_jsonl(path)]
    if options.tiny:
        texts = texts[:100]
    # The check needs text whose words the pattern can describe: no combining marks are left.
    plain = [text for text in texts if text.isascii() and not has_long_word(text)]
    check_alike(plain)

    racing = contestants(texts)
    for contestant in racing.values():  # compile and warm up before memory is looked at
        contestant()
    memory = {name: peak_memory(contestant) for name, contestant in racing.items()}
    timings = interleave(racing, runs=1 if options.tiny else options.runs)
    ours = next(iter(timings.values()))
    rows = [described(timing, ours, memory[name]) for name, timing in timings.items()]
    if options.tiny:
        return
    title = "From raw text to a document-term matrix: 20 Newsgroups"
    parameters = {
        "documents": len(texts),
        "characters": sum(map(len, texts)),
        "running words": int(analyze(texts).offsets[-1]),
        "timed rounds": options.runs,
        "threads": 1,
    }
    notes = [
        f"Checked first: under one rule for words, CountVectorizer and softcosine give the same "
        f"vocabulary and the same counts on the {len(plain)} documents that are plain ASCII "
        "without runs of more than 64 characters.",
        "All contestants run in turn in every round; the file is read beforehand.",
        "Memory is the rise of the peak during one call; what an earlier call left to reuse does "
        "not show.",
    ]
    print(write_report("analysis", title, rows, parameters, notes=notes))


def described(timing: Timing, ours: Timing, memory: float | None) -> dict[str, object]:
    return {**timing.row(relative_to=ours), "peak memory MiB": memory}


def has_long_word(text: str) -> bool:
    return re.search(r"[\w.']{65}", text) is not None


if __name__ == "__main__":
    main()
