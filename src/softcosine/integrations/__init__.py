"""An index in frameworks that search documents: one file for each, on the public API only.

``langchain.py``
    `SoftVectorStore` of LangChain.
``haystack.py``
    `SoftDocumentStore` and `SoftRetriever` of Haystack.
``llama_index.py``
    `SoftRetriever` of LlamaIndex, and `write_nodes`.
``dspy.py``
    `SoftRetriever` of DSPy.
``mteb.py``
    `SoftSearch`: a model for this benchmark of retrieval.

Import the module of your framework; see docs/integrations.md.
"""
