"""All pairs of similar documents, nearest neighbours and groups of near duplicates."""
