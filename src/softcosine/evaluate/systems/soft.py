"""Soft similarity, ranked by `SoftIndex`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.encoder import one_encoder, sentence_model
from softcosine.evaluate.systems.fitted_soft import FittedSoft, index_of
from softcosine.evaluate.systems.settings import (
    Kind,
    choice,
    flag,
    number,
    optional,
    setting,
    text,
    weights,
    whole,
)
from softcosine.evaluate.systems.similarities import SimilaritySettings
from softcosine.index.defaults import AUTOMATIC_WEIGHTS, ENCODER, RANKING, WEIGHTING, checked_fields
from softcosine.index.encoding import automatic_encoder
from softcosine.index.rankings import Ranking
from softcosine.index.requests import Ask, FirstStage
from softcosine.space.meaning import STATIC
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.encoders.encoder import Encoder as AnyEncoder
    from softcosine.space.meaning import MeaningSpace

_STAGES = Kind(
    "a number of terms or all, then perhaps candidates, such as 32 or all:1000",
    lambda given: str(FirstStage.parse(given)),
    lambda value: isinstance(value, str),
)


@dataclass(frozen=True, kw_only=True)
class Soft(SimilaritySettings):
    """`SoftIndex` with all its settings; the defaults are the same.

    Parameters
    ----------
    ranking : str
        See `softcosine.index.rankings`.
    tf, idf, k1, b
        See `softcosine.Weighting`; soft BM25 uses k1 and b.
    fields : mapping of str to float, optional
        Fields of the documents with scores of their own, and the weights of these scores; default:
        one score of the joined text.
    match : {"text", "fields"}
        Whether each field is compared with the whole text of the query, or with its field of the
        same name.
    expand : bool
        False finds only documents that share a term with the query.
    max_terms : int, optional
        Maximum number of query terms; those with the highest weights are used.
    keep_stop_words : bool
        Whether stop words of a query count beside other words.
    encoder : str, object with ``encode``, or None
        Encoder of the documents, for a ranking by words and meaning. As in an index of these
        documents, ``"auto"`` and ``"static"`` count for English and BM25, unless `plain`.
    encoder_cache : str or None
        As `cache` of the system ``encoder``, which shares it.
    ask : str or None
        How queries are encoded; None as `SoftIndex.search`.
    meaning : float or None
        Weight of the meaning; None for the default of the ranking.
    meaning_space : MeaningSpace, optional
        Projection and query table of the encoder.
    first_stage : str or None
        Terms and candidates of a first stage, such as ``32`` or ``all:1000``; see `FirstStage`.
    **settings
        See `SimilaritySettings`.

    Notes
    -----
    Pairs of texts are compared by soft cosine with any ranking, because it is symmetric. With an
    encoder other than ``"static"``, both texts are encoded as documents, and the similarity is
    the mean of the soft cosine and the cosine of the meaning, weighted as in the ranking by soft
    cosine.
    """

    called = "soft"
    ranking: str = setting(RANKING, choice(*get_args(Ranking)), "ranking function")
    tf: str = setting(
        WEIGHTING.tf, choice("raw", "log", "binary", "bm25"), "weight of the term frequency"
    )
    idf: str = setting(
        WEIGHTING.idf,
        choice("none", "smooth", "probabilistic", "bm25"),
        "inverse document frequency",
    )
    k1: float = setting(WEIGHTING.k1, number(0.0), "saturation of the term frequency")
    b: float = setting(WEIGHTING.b, number(0.0, 1.0), "strength of the length normalisation")
    fields: Mapping[str, float] | None = setting(
        None, optional(weights), "fields with scores of their own"
    )
    match: str = setting(
        "text", choice("text", "fields"), "text of the query to compare with a field"
    )
    expand: bool = setting(True, flag, "finds documents that share no term with the query")
    max_terms: int | None = setting(None, optional(whole(1)), "maximum number of query terms")
    keep_stop_words: bool = setting(False, flag, "uses stop words of queries")
    encoder: str | AnyEncoder | None = setting(  # noqa: RUF009
        ENCODER, optional(one_encoder), "encoder of documents"
    )
    encoder_cache: str | None = setting(
        "auto", optional(text("auto or a file")), "cache file of vectors"
    )
    ask: Ask | None = setting(  # noqa: RUF009
        None, optional(choice(*get_args(Ask)), none="default"), "how queries are encoded"
    )
    meaning: float | None = setting(
        None, optional(number(0.0), none="default"), "weight of the meaning"
    )
    meaning_space: MeaningSpace | None = None
    first_stage: str | None = setting(
        None, optional(_STAGES), "terms and candidates of a first stage"
    )

    def __post_init__(self) -> None:
        SimilaritySettings.__post_init__(self)
        if self.encoder == "none":
            object.__setattr__(self, "encoder", None)
        checked_fields(self.fields)
        if self.match == "fields" and self.fields is None:
            raise InvalidInputError(
                f"match of {self.called!r} is 'fields', and no fields are given; name them, such "
                "as fields=title:2+text:1."
            )
        if self.encoder is None and (self.ask, self.meaning, self.meaning_space) != (None,) * 3:
            raise InvalidInputError(
                f"ask, meaning and meaning_space of {self.called!r} are for documents with an "
                "encoder; add one, such as encoder=minilm."
            )

    def _rules(self) -> dict[str, Any]:
        return {**SimilaritySettings._rules(self), "joints": True}  # as an index

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSoft:
        """Index the documents and the background, which is never a result."""
        fields = [*(self.fields or ())]
        flat = documents.rows(fields, background)
        if fields:
            flat = [text for row in flat for text in row.values()]
        words = self.analyzed(flat, n_fields=max(1, len(fields)))
        encoder, weight = self._encoder(words.language, [*documents.texts, *background])
        model = None
        if encoder is not None and encoder != STATIC:
            model = sentence_model(encoder, self.encoder_cache)
        encoding: dict[str, Any] = {"encoder": None} if encoder is None else {
            "encoder": model or STATIC, "meaning_space": self.meaning_space, "meaning": weight,
        }  # fmt: skip
        index = index_of(
            documents, background, self.fields, plain=True, analyzer=words.analyzer,
            language=words.language,
            weighting=Weighting(self.tf, self.idf, self.k1, self.b), ranking=self.ranking,
            min_df=self.min_df, max_df=self.max_df, **encoding,
        )  # fmt: skip
        found = self.similarities(
            words.texts.joined(max(1, len(fields))),
            words.analyzer,
            words.texts.vocabulary,
            language=words.language,
        )
        found = replace(found, note=" ".join(filter(None, (found.note, words.note))))
        if found.source is not None:
            index = index.with_similarity(found.S, source=found.source)
        options = {
            "max_terms": self.max_terms, "keep_stop_words": self.keep_stop_words,
            "ask": None if self.meaning == 0.0 else self.ask,
        }  # fmt: skip
        stage = None if self.first_stage is None else FirstStage.parse(self.first_stage)
        return FittedSoft(
            index, documents, options, {"expand": self.expand, "first_stage": stage},
            of_fields=self.match == "fields", similarities=found, closed=self.leaves_terms_out,
            model=model,
        )  # fmt: skip

    def _encoder(self, language: str, texts: Sequence[str]) -> tuple[Any, float | None]:
        """Return what reads the documents in an index of them, and the weight of meaning."""
        encoder, weight = self.encoder, self.meaning
        if encoder is None or self.ask == "words" or weight == 0.0:
            return None, None
        if encoder not in (ENCODER, STATIC):
            return encoder, weight
        if self.meaning_space is not None:
            return STATIC, weight
        usual = 0.0 if self.plain else AUTOMATIC_WEIGHTS.get(self.ranking, 0.0)
        if not (weight or usual):
            return None, None
        automatic = encoder == ENCODER and self.language != "none"
        if automatic and (chosen := automatic_encoder(texts, len(texts), language)):
            return chosen.of_queries.name, weight
        return (STATIC, weight or usual) if language == "english" else (None, None)


@dataclass(frozen=True, kw_only=True)
class SoftCosine(Soft):
    """`Soft` with ranking by soft cosine."""

    called = "soft_cosine"
    ranking: str = setting("soft_cosine", choice(*get_args(Ranking)), "ranking function")
