"""The command line: ``softcosine index``, ``search`` and the others.

Nothing heavy is imported before a command needs it, so that ``--help`` answers at once.
"""
