"""Command ``softcosine admin teach``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from softcosine.cli.derived import flag, option
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.options import EncoderCache, Overwrites, Reading, Summary
from softcosine.cli.output import check_file, counted, duration, print_result, size
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import fields_named


def teach_queries(
    inputs: Annotated[list[str], flag("--texts FILE", "Texts, as 'index' reads; repeatable.")],
    output: Annotated[Path, flag("--output -o FILE", "The file to write: .npz.")],
    reading: Reading,
    encoder: str = option("--encoder NAME", "Folder or name of a sentence encoder.", ...),
    dimensions: int = option("--dimensions N", "Coordinates of a text; even.", 256, min=2),
    epochs: int = option("--epochs N", "Passes over the texts.", 4, min=1),
    encoder_cache: EncoderCache = None,
    overwrite: Overwrites = False,
    as_json: Summary = False,
) -> None:
    """Fit a table of word pieces, so that queries get coordinates without the encoder.

      softcosine admin teach --encoder my-model/ --texts sentences.txt -o my.npz
      softcosine index faq.jsonl -o faq.index --encoder my-model/ --meaning-space my.npz
      softcosine search faq.index "bicycle tire repair" --ask static

    The encoder reads every text once, and every word piece of its tokenizer (WordPiece, BPE or
    Unigram); of more than 65,536, those of the texts. Then vectors of the pieces are fitted so that
    their sums approximate the vectors of the texts. Some 100,000 sentences of broad text in the
    language of the queries suffice. For minilm and multilingual there are tables.

    --encoder-cache keeps encoded texts, so that an interrupted run continues where it was. The
    fit takes about half a minute per 100,000 texts and epoch on two cores, and memory for all
    vectors. With few texts, more --epochs help.

    A tenth of the texts, at most 1,000, is held out and measured at the end: the mean cosine of a
    text's sum of pieces and its vector, and the share of the ten texts nearest to the vector that
    are among the ten nearest to the sum.

    JSON: file, encoder, dimensions, pieces, texts, held_out, mean_cosine, recall (null for fewer
    than two texts held out), bytes, seconds.
    """
    from softcosine.encoders.loading import load_encoder
    from softcosine.space.meaning_file import save_meaning
    from softcosine.space.table_fitting import (
        FitSettings,
        fit_meaning,
        measure_prediction,
        split_texts,
    )

    check_file(output, overwrite=overwrite)
    with Reporter() as report, saying_how_to_go_on(encoder_cache):
        model = load_encoder(encoder)
        documents = reading.documents(inputs, fields_named(None, reading.text_fields), report)
        texts, held_out = split_texts(str(document.text) for document in documents)
        space = fit_meaning(
            model, texts, dimensions=dimensions, settings=FitSettings(epochs=epochs),
            cache=encoder_cache, progress=report,
        )  # fmt: skip
        report("measuring", 0, None)
        measured = measure_prediction(space, model, held_out, cache=encoder_cache)
        save_meaning(space, output)
    assert space.table is not None
    known = measured.n_texts > 1
    facts: dict[str, Any] = {
        "file": str(output), "encoder": space.encoder, "dimensions": space.dimensions,
        "pieces": len(space.table), "texts": len(texts), "held_out": measured.n_texts,
        "mean_cosine": measured.mean_cosine if known else None,
        "recall": measured.recall if known else None,
        "bytes": output.stat().st_size, "seconds": report.seconds,
    }  # fmt: skip
    print_result(
        facts, as_json,
        f"Fitted {counted(facts['pieces'], 'word piece')} on {counted(len(texts), 'text')} in "
        f"{duration(facts['seconds'])}: {output} ({size(facts['bytes'])}).",
        f"{counted(measured.n_texts, 'text')} held out: mean cosine {measured.mean_cosine:.3f} to "
        f"the encoder, {measured.recall:.0%} of its ten nearest texts." if known else "",
        f"Use it: softcosine index FILE -o INDEX --encoder {encoder} --meaning-space {output}",
    )  # fmt: skip
