"""Text files and record files, read as streams, and the documents in their records.

``records.py``
    Records of JSON lines, JSON, CSV, TSV, plain text and parquet files.
``documents.py``
    Documents from records: which field is the id, which are text, which are metadata.
``trec_run.py``
    Lines of TREC runs.

The command line and the judged collections both use this folder, so they read all files alike.
"""

from softcosine._textio import STANDARD_INPUT, Text, opened
from softcosine.files.documents import Document, Fields, RecordReader, id_field, joined_text, place
from softcosine.files.records import FORMATS, Record, format_of, parsed_json, read_records

__all__ = [
    "FORMATS",
    "STANDARD_INPUT",
    "Document",
    "Fields",
    "Record",
    "RecordReader",
    "Text",
    "format_of",
    "id_field",
    "joined_text",
    "opened",
    "parsed_json",
    "place",
    "read_records",
]
