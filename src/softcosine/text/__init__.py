"""From texts to term counts and weights: words, vocabularies, weighting schemes."""
