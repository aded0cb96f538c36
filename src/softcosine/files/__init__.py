"""Text files and files of records, read as a stream; documents taken from the records.

`lines` decodes a text file, compressed or not, line by line. `records` reads JSON lines, JSON, CSV,
TSV, plain text and parquet. `documents` says which field of a record is the id, which are the text,
and what is metadata. The command line and the judged collections both read by them, so that they
agree on every file.
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
