"""What the documentation has besides its pages: navigation, references, checked links, an index.

``navigation.py`` makes the first page and the menu of README.md, ``api.py`` pages of docstrings,
``commands.py`` a page of the command line's help, ``links.py`` follows every link of the built
pages, and ``search_index.py`` makes a softcosine index of all sections.
"""
