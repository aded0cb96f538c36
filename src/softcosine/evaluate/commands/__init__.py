"""The commands of evaluation; the command line finds them by entry points."""
