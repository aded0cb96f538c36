"""What a segment holds: postings, forward index, stored fields, metadata."""
