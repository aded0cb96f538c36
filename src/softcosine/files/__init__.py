"""Text files and record files, read as streams, and the documents in their records.

``records.py``
    Records of JSON lines, JSON, CSV, TSV, plain text and parquet files.
``column_types.py``
    Types of the columns of CSV and TSV: numbers, booleans, dates, text.
``documents.py``
    Documents from records: which field is the id, which are text, which are metadata.
``trec_run.py``
    Lines of TREC runs.

The command line and the judged collections both use this folder, so they read all files alike.
"""

from softcosine._textio import STANDARD_INPUT, Text, opened
from softcosine.files.column_types import chosen_types, type_of
from softcosine.files.documents import (
    LONGEST_TITLE,
    Document,
    Fields,
    RecordReader,
    column_types,
    id_field,
    joined_text,
    place,
)
from softcosine.files.records import (
    FORMATS,
    TABLES,
    Record,
    format_of,
    parsed_json,
    read_records,
)
