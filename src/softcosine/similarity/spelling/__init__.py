"""Words that are spelt or sound alike."""
