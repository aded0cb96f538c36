"""The term similarity matrix S: construction (theory T6), definiteness, storage, figures.

- ``term_similarity_matrix.py``: `TermSimilarityMatrix`, the public class;
- ``recipe.py``: `SimilarityRecipe`, how S is made, as a value;
- ``building.py``: S from a source, balanced; ``rules.py``: its limits;
- ``definiteness.py``: the scaling that makes S positive semidefinite;
- ``stored.py``: S in a folder; ``outside.py``: rows of words that are not terms;
- ``list_use.py``: which entries of your own lists have an effect.
"""
