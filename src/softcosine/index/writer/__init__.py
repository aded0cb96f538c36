"""The writer of an index: adding documents, pending commit, merging.

* `index_writer`: `IndexWriter`, the public class; `document`: checks of a new document.
* `creation`: the first, empty commit of an index; `growing`: new terms in S at a commit.
* `pending_commit`: the state of the next commit.
* `document_vectors`: coordinates of new documents.
* `merging`: merge policies and merging.
"""
