"""Command ``softcosine encode``."""

from __future__ import annotations

import time

from softcosine.cli.options import (
    AnyIndex,
    Encoder,
    EncoderCache,
    Meaning,
    MeaningSpace,
    Summary,
    Wait,
)
from softcosine.errors import InvalidInputError
from softcosine.index.writer.lock import WRITER_TIMEOUT

__all__ = ["encode"]

_LEAST_RATED = 100  # documents; loading the encoder takes as long as reading fewer


def encode(
    index: AnyIndex,
    encoder: Encoder = None,
    encoder_cache: EncoderCache = None,
    meaning: Meaning = None,
    meaning_space: MeaningSpace = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Encode the documents of an index that no encoder has read yet.

      softcosine encode faq.index --encoder minilm
      softcosine encode faq.index
      softcosine encode faq.index --encoder-cache faq.cache
      softcosine encode faq.index --meaning 30

    The first call gives an index coordinates of meaning, as 'index --encoder' does. Later calls
    encode documents that were added without the encoder. The command reads the stored texts, so it
    cannot be used after 'index --no-texts'. All documents are encoded in one commit, or none.
    --encoder-cache keeps encoded texts, so that an interrupted run continues where it was.
    --meaning stores another default weight of meaning in the index.

    JSON: index, encoder, new (documents encoded by this call), encoded (of all), documents,
    per_second, weights (of meaning in each ranking), segments, generation, bytes, seconds.
    """
    from softcosine.cli.failures import saying_how_to_go_on
    from softcosine.cli.output import counted
    from softcosine.cli.progress import Reporter
    from softcosine.cli.remote import is_served, served_index, written_there
    from softcosine.cli.writing import changing, show_change, written

    started = time.perf_counter()
    if is_served(index):
        with (
            Reporter() as report,
            served_index(
                index, encoder_cache=encoder_cache, meaning_space=meaning_space,
                wait=wait != WRITER_TIMEOUT,
            ) as served,
        ):  # fmt: skip
            report("encoding", 0, None)
            n_new = served.encode(encoder, meaning=meaning)["result"]["encoded"]
            own = served.info()["meaning"]
            facts = written_there(served, index, started) | {
                "encoder": own["encoder"],
                "new": n_new,
                "encoded": own["encoded"],
                "weights": own["weights"],
            }
        show_change(facts, f"Encoded {counted(n_new, 'document')} by {own['encoder']}", as_json)
        return
    with (
        Reporter() as report,
        saying_how_to_go_on(encoder_cache),
        changing(index, wait=wait, progress=report) as (opened, writer),
    ):
        if opened.snapshot.meaning is None and encoder is None:
            raise InvalidInputError(
                f"{index} has no encoder yet; choose one, such as --encoder minilm."
            )
        if not opened.snapshot.settings.texts:
            raise InvalidInputError(
                f"{index} does not store the texts that an encoder would read (--no-texts); build "
                "it again by 'index --encoder'."
            )
        first = opened.snapshot.meaning is None
        n_new = writer.encode(
            encoder, cache=encoder_cache, meaning=meaning, meaning_space=meaning_space
        )
        per_second = n_new / (time.perf_counter() - started)
        if n_new or first or meaning is not None:
            report("committing", 0, None)
            writer.commit()
    snapshot = opened.snapshot
    assert snapshot.meaning is not None
    name, n_left = snapshot.meaning.encoder, len(opened) - snapshot.n_encoded
    facts = written(opened, index, started) | {
        "encoder": name,
        "new": n_new,
        "encoded": snapshot.n_encoded,
        "per_second": per_second,
        "weights": dict(snapshot.settings.meaning_weights),
        "note": f"{counted(n_left, 'document')} without text: nothing to encode." if n_left else "",
    }
    done = f"Encoded {counted(n_new, 'document')} by {name}"
    if n_new >= _LEAST_RATED:
        done += f", {per_second:,.0f} a second"
    if not n_new:
        done = f"Nothing to encode: every text has coordinates by {name}"
    if meaning is not None:
        done += f"; the weight of meaning in {opened.ranking} is {meaning:g}"
    show_change(facts, done, as_json)
