"""Makes the bundled space of meaning, ``space/data/meaning.npz``, and prints its table of sources.

See README.md beside this file for how to run it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path

from meaning_texts import Folders, collect
from softcosine.encoders.loading import MINILM, load_encoder
from softcosine.space.meaning_file import save_meaning
from softcosine.space.table_fitting import fit_meaning, measure_prediction, split_texts

TARGET = Path(__file__).parents[1] / "src/softcosine/space/data/meaning.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="unpacked Debian packages")
    parser.add_argument("--translations", type=Path, required=True, help="package descriptions")
    parser.add_argument("--wordnet", type=Path, required=True, help="WordNet's data files")
    parser.add_argument("--cache", type=Path, required=True, help="file of encoded texts")
    parser.add_argument("--texts", type=Path, help="also write the sentences, and only that")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    given = parser.parse_args()
    evaluation = os.environ.get("SOFTCOSINE_DATA")
    if evaluation is None:
        print("SOFTCOSINE_DATA is not set: sentences are not compared with the evaluation data.")
    taken = collect(
        Folders(given.packages, given.translations, given.wordnet),
        None if evaluation is None else Path(evaluation),
    )
    print("| source | licence | usable | left out | taken |\n|---|---|---|---|---|")
    for one in taken:
        print(
            f"| {one.source.name} | {one.source.licence} | {one.n_usable:,} | {one.n_left_out:,} | "
            f"{len(one.sentences):,} |"
        )
    texts = [sentence for one in taken for sentence in one.sentences]
    if given.texts is not None:
        given.texts.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return
    encoder = load_encoder(MINILM, device="cpu")  # by torch, in float32
    space = fit_meaning(
        encoder, texts, cache=given.cache,
        progress=lambda stage, done, total: print(f"\r{stage}: {done:,} of {total:,}", end=""),
    )  # fmt: skip
    save_meaning(space, given.output)
    print(f"\n{space}; SHA-256 for similarity/bundled.py:")
    print(hashlib.sha256(given.output.read_bytes()).hexdigest())
    _, some = split_texts(texts)
    print("on sentences of the fit:", measure_prediction(space, encoder, some, cache=given.cache))


if __name__ == "__main__":
    main()
