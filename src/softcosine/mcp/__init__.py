"""Indexes as tools of language models, by the Model Context Protocol (MCP).

``server.py``
    `mcp_server` makes a server of opened indexes.
``tools.py``
    The tools: search, similar, explain, related_words, get_document, index_info, and for writable
    servers add_documents and delete_documents; what they take and return.
"""
