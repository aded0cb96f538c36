"""The command line ``softcosine``.

Heavy modules are imported inside commands, so that ``--help`` is fast, and the module of a command
when the command is called.

`app` lists the commands by their names and has `main`; `options` the options that several commands
share; `failures` turns exceptions into messages and exit codes; `output` prints results as tables
or JSON. Each command is in the file of its task: `searching`, `indexing`, `writing` (add, delete,
merge, refresh), `maintenance` (info, check, backup), `near_duplicates`,
`teaching`, `mcp`, `demo`. Those of evaluation are in `evaluate/commands/`, and entry points name
them.
"""
