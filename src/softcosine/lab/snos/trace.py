"""Changes of each round of SNOS, and the stopping rule (theory T13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from softcosine._progress import Progress
from softcosine._validation import check_number, check_whole

# Changes that grow by less, or are smaller than this relative to the entries, are rounding.
_ROUNDING = 1e-9
# Entries this large have diverged, as far as floating point can show.
_CEILING = 1e9


@dataclass(frozen=True, slots=True)
class Change:
    """Changes of one round.

    Attributes
    ----------
    norm : float
        Frobenius norm of the change of the objects' similarities.
    greatest : float
        Largest change of an entry.
    largest : float
        Largest off-diagonal entry afterwards.
    affine : bool
        Whether the round was the same affine map as the one before, that is, kept the same entries.
    """

    norm: float
    greatest: float
    largest: float
    affine: bool = True


@dataclass(frozen=True, slots=True)
class Round:
    """One line of a trace.

    Attributes
    ----------
    number : int
        From 1.
    change : Change
    ratio : float
        Its norm divided by that of the round before; NaN in the first. Without truncation it
        never decreases, and above 1 the iteration diverges.
    """

    number: int
    change: Change
    ratio: float


@dataclass(frozen=True, slots=True)
class Trace:
    """All rounds, and the outcome.

    Attributes
    ----------
    rounds : tuple of Round
    converged : bool
        Whether no entry changed by more than the tolerance in the last round.
    diverged : str or None
        Why the similarities diverged; None if they did not.
    """

    rounds: tuple[Round, ...]
    converged: bool
    diverged: str | None = None

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.rounds)

    def __str__(self) -> str:
        lines = ["round      change  ratio  greatest   largest"]
        lines += [
            f"{r.number:5d}  {r.change.norm:10.3e}  {r.ratio:5.3f}  {r.change.greatest:8.2e}"
            f"  {r.change.largest:8.4f}"
            for r in self.rounds
        ]
        end = "converged" if self.converged else self.diverged or "stopped before it converged"
        return "\n".join([*lines, end])


class Learner(Protocol):
    """Runs rounds: learns features from objects, then objects from features."""

    def round(self) -> Change:
        """Replace the similarities by those of the next round."""
        ...


def learned(
    learner: Learner,
    *,
    max_iterations: int,
    tolerance: float,
    progress: Progress | None = None,
) -> Trace:
    """Run rounds until no entry changes by more than `tolerance`, or divergence is certain.

    The affine part of a round is self-adjoint and positive semidefinite (theory T13), so the ratio
    of successive changes never decreases: once above 1, it stays there.
    """
    rounds: list[Round] = []
    for number in range(1, max_iterations + 1):
        change = learner.round()
        before = rounds[-1].change.norm if rounds else np.nan
        ratio = change.norm / before if before else np.nan
        rounds.append(Round(number, change, ratio))
        if progress is not None:
            progress(number, max_iterations)
        if change.greatest <= tolerance:
            return Trace(tuple(rounds), converged=True)
        if not change.largest < _CEILING or (
            change.affine
            and ratio > 1.0 + _ROUNDING
            and change.greatest > _ROUNDING * max(1.0, change.largest)
        ):
            return Trace(tuple(rounds), converged=False, diverged=_growth(rounds[-1]))
    return Trace(tuple(rounds), converged=False)


def check_rounds(max_neighbors: object, max_iterations: object, tolerance: object) -> None:
    """Raise InvalidInputError if a setting of the rounds is out of range."""
    for name, value in (("max_neighbors", max_neighbors), ("max_iterations", max_iterations)):
        if name == "max_neighbors" and value is None:
            continue
        check_whole(name, value)
    check_number("tolerance", tolerance, least=0)


def _growth(last: Round) -> str:
    return (
        f"the similarities grow without bound: in round {last.number} they changed "
        f"{last.ratio:.3g} times as much as in the one before, and the largest is "
        f"{last.change.largest:.3g}"
    )
