"""Documents found by their words and by the coordinates that an encoder gave."""
