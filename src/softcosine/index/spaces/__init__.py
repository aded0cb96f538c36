"""The spaces whose weighted sum is a ranking: each prepares a query once (theory T19).

* `space`: what a search selects (`Limits`) and finds (`Top`); `plan`: how it found them.
* `words`, `frequencies`: one field by words; `meaning`: documents' coordinates; `sum`: their sum.
* `expansion`, `segment_table`, `bounds`: what these share.
"""
