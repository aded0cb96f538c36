"""From a query to the best documents: rankings, expansion, the two-stage search, explanations."""
