"""What holds whatever sources say: decisions of people, antonyms, codes."""
