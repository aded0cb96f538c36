"""What was tried for the retrieval study and did not help, for its report."""

ATTEMPTS: tuple[str, ...] = ()
HINDRANCES: tuple[str, ...] = ()
