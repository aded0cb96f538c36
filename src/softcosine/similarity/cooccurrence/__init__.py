"""What a corpus teaches about its words."""
