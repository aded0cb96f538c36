"""An index in frameworks that search documents: one file for each, on the public API only.

``langchain.py``
    `SoftVectorStore` and `SoftRetriever` of LangChain.
``haystack.py``
    `SoftDocumentStore` and `SoftRetriever` of Haystack.
``llama_index.py``
    `SoftRetriever` of LlamaIndex, and `write_nodes`.
``dspy.py``
    `SoftRetriever` of DSPy.
``mteb.py``, ``beir.py``
    `SoftSearch`: models for these benchmarks of retrieval.

Import the module of your framework; see docs/integrations.md.
"""
