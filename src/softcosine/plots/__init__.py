"""Pictures: similarities, documents in the plane, and what makes a score."""
