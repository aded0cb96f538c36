"""From the text of a query to terms, constraints, phrases and filters."""
