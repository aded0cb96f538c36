"""Kinds of objects, and the relations by which their similarities spread (theory T13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from softcosine.lab.snos.scaling import Lambdas

# The order of the two kinds in a round.
FEATURES, OBJECTS = 0, 1


@dataclass(frozen=True, slots=True)
class Influence:
    """A kind from which similarities spread to another.

    Attributes
    ----------
    of : int
        Number of the kind.
    C : csr_array of shape (n of the other kind, n of this one)
        The relation times the square root of its λ: C S Cᵀ is added.
    """

    of: int
    C: csr_array


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of objects.

    Attributes
    ----------
    n : int
        Number of objects.
    influences : sequence of Influence
    measured : bool
        Whether the trace includes the changes of this kind.
    """

    n: int
    influences: Sequence[Influence]
    measured: bool = True


def two_kinds(B: csr_array, lambdas: Lambdas) -> tuple[Kind, Kind]:
    """Features and objects; features follow from objects, so only objects are measured."""
    first, second = np.sqrt(lambdas)
    features = Kind(B.shape[0], [Influence(OBJECTS, csr_array(B * second))], measured=False)
    objects = Kind(B.shape[1], [Influence(FEATURES, csr_array(B.T * first))])
    return features, objects
