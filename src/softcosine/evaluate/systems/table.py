"""Table of systems by name, and the parser of specs such as ``bm25:k1=0.9``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.systems.settings import Settings
from softcosine.evaluate.systems.system import System


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table of systems.

    Attributes
    ----------
    place : str
        Module and class.
    what : str
        One-line description for people, with its cost.
    extra : str
        Required extra of the package; empty for none.
    """

    place: str
    what: str
    extra: str = ""

    def settings(self) -> type[Settings]:
        """Return the class; optional packages are imported by ``fit``."""
        module, name = self.place.split(":")
        found: type[Settings] = getattr(
            import_module(f"softcosine.evaluate.systems.{module}"), name
        )
        return found


SYSTEMS: dict[str, Entry] = {
    "cosine": Entry("cosine:Cosine", "cosine of tf-idf vectors"),
    "bm25": Entry("bm25:BM25", "BM25 by bm25s", "evaluate"),
    "soft": Entry("soft:Soft", "soft similarity with the defaults and settings of SoftIndex"),
    "soft_cosine": Entry("soft:SoftCosine", "soft, ranked by soft cosine"),
    "expansion": Entry(
        "expansion:Expansion", "queries expanded by similar terms, without soft norms", "evaluate"
    ),
    "lsi": Entry("lsi:LSI", "cosine in a latent space (SVD)", "evaluate"),
    "lda": Entry("lda:LDA", "similarity of topics; minutes for 10,000 texts", "evaluate"),
    "mean_vector": Entry("mean_vector:MeanVector", "cosine of mean word vectors"),
    "rwmd": Entry("wmd:RWMD", "relaxed word mover's distance; linear in the lengths of the texts"),
    "wmd": Entry(
        "wmd:WMD", "word mover's distance by POT; milliseconds per pair of texts", "evaluate"
    ),
    "gensim": Entry(
        "gensim_soft_cosine:GensimSoftCosine", "soft cosine by gensim; for tiny data", "gensim"
    ),
    "encoder": Entry(
        "encoder:Encoder", "cosine of a sentence encoder's vectors, all-MiniLM-L6-v2", "encoder"
    ),
}


def named(name: str, **settings: Any) -> System:
    """Return a system by name, with settings as keyword arguments of its class.

    Raises
    ------
    InvalidInputError
        If the system or a setting is unknown, or a setting is out of range; the message lists the
        valid ones.

    Examples
    --------
    >>> named("bm25", k1=0.9, b=0.4).name
    'bm25:k1=0.9,b=0.4'
    """
    cls = _class(name)
    known = [own for own, _, _ in cls.listed()]
    for given in settings:
        if given not in (*known, *cls.__dataclass_fields__):
            raise InvalidInputError(
                f"{name!r} has no setting {given!r}; it has {', '.join(known)}."
            )
    made: Any = cls(**settings)
    system: System = made
    return system


def from_spec(spec: str) -> System:
    """Return the system of a spec.

    Parameters
    ----------
    spec : str
        ``name`` or ``name:setting=value,setting=value``. Put values with commas in double quotes;
        join lists by ``+``. A spec with settings is the name of the system.

    Raises
    ------
    InvalidInputError
        If the spec is malformed, or its system or a setting is unknown.

    Examples
    --------
    >>> from_spec("soft:exponent=3,ranking=soft_cosine").name
    'soft:exponent=3,ranking=soft_cosine'
    """
    name, colon, rest = spec.strip().partition(":")
    cls = _class(name)
    given: dict[str, str] = {}
    for piece in _pieces(rest) if colon else ():
        setting, equals, value = piece.partition("=")
        setting = setting.strip()
        if not equals or not setting:
            raise InvalidInputError(
                f"{piece.strip()!r} in the system {spec!r} is no setting; write setting=value, "
                f"such as {name}:{_example(cls)}."
            )
        if setting in given:
            raise InvalidInputError(f"the system {spec!r} has {setting} twice; say it once.")
        given[setting] = value.replace('"', "").strip()
    return named(name, label=spec.strip() if given else None, **cls.read(given))


def split_specs(text: str) -> list[str]:
    """Split comma-separated specs, as on the command line.

    An element with ``=`` before any colon is a setting of the system before it.

    Examples
    --------
    >>> split_specs("cosine,soft:exponent=3,ranking=soft_cosine,bm25")
    ['cosine', 'soft:exponent=3,ranking=soft_cosine', 'bm25']
    """
    specs: list[str] = []
    for piece in _pieces(text):
        head, equals, _ = piece.partition("=")
        if specs and equals and ":" not in head:
            specs[-1] += ("," if ":" in specs[-1] else ":") + piece.strip()
        else:
            specs.append(piece.strip())
    return specs


def described(name: str) -> str:
    """Return the description of a system and its settings, one per line."""
    lines = [f"{name}: {SYSTEMS[name].what}"]
    lines += [f"  {setting}={default}  {what}" for setting, default, what in _class(name).listed()]
    return "\n".join(lines)


def _class(name: str) -> type[Settings]:
    if name not in SYSTEMS:
        raise InvalidInputError(
            f"there is no system {name!r}; choose one of {', '.join(SYSTEMS)}, with settings as in "
            "bm25:k1=0.9,b=0.4."
        )
    return SYSTEMS[name].settings()


def _example(cls: type[Settings]) -> str:
    setting, default, _ = cls.listed()[-1]
    return f"{setting}={default}"


def _pieces(text: str) -> Iterator[str]:
    """Split a text at commas outside double quotes."""
    piece, quoted = "", False
    for character in text:
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            yield piece
            piece = ""
            continue
        piece += character
    if quoted:
        raise InvalidInputError(f"{text!r} has a double quote that is not closed.")
    yield piece
