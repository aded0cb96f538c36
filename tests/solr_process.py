"""Solr's core in a process of its own, which takes and returns JSON lines.

Run ``python solr_process.py JARS HOME``: the folder of Solr's jars, and an empty one. A line
``{"add": {id: text}}`` replaces all documents, a line ``{"query": q, "rows": n}`` returns ids and
scores. Java's threads would keep a process of tests alive, so this one is killed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jpype

_CONFIG = """<config>
  <luceneMatchVersion>9.12</luceneMatchVersion>
  <requestHandler name="/select" class="solr.SearchHandler"/>
</config>"""
_SCHEMA = """<schema name="texts" version="1.6">
  <uniqueKey>id</uniqueKey>
  <fieldType name="string" class="solr.StrField"/>
  <fieldType name="words" class="solr.TextField">
    <analyzer><tokenizer class="solr.WhitespaceTokenizerFactory"/></analyzer>
  </fieldType>
  <fieldType name="english" class="solr.TextField">
    <analyzer>
      <tokenizer class="solr.StandardTokenizerFactory"/>
      <filter class="solr.LowerCaseFilterFactory"/>
      <filter class="solr.PorterStemFilterFactory"/>
    </analyzer>
  </fieldType>
  <field name="id" type="string" indexed="true" stored="true"/>
  <field name="words" type="words" indexed="true" stored="false"/>
  <field name="english" type="english" indexed="true" stored="false"/>
  <copyField source="words" dest="english"/>
</schema>"""


def main(jars: str, home: Path) -> None:
    """Answer until the input ends."""
    folder = home / "texts"
    (folder / "conf").mkdir(parents=True)
    (home / "solr.xml").write_text("<solr/>", encoding="utf-8")
    (folder / "core.properties").write_text("name=texts\n", encoding="utf-8")
    (folder / "conf" / "solrconfig.xml").write_text(_CONFIG, encoding="utf-8")
    (folder / "conf" / "schema.xml").write_text(_SCHEMA, encoding="utf-8")
    options = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    jpype.startJVM(*options, classpath=[f"{jars}/*"], convertStrings=False)
    embedded = jpype.JClass("org.apache.solr.client.solrj.embedded.EmbeddedSolrServer")
    server = embedded(jpype.JClass("java.io.File")(str(home)).toPath(), "texts")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(server, json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(server: Any, request: dict[str, Any]) -> dict[str, Any]:
    solr = jpype.JPackage("org").apache.solr
    if "add" in request:
        server.deleteByQuery("*:*")
        for id, text in request["add"].items():
            document = solr.common.SolrInputDocument()
            document.addField("id", id)
            document.addField("words", text)
            server.add(document)
        server.commit()
        return {}
    query = solr.client.solrj.SolrQuery(request["query"])
    query.setRows(jpype.JInt(request["rows"]))
    query.setFields("id", "score")
    try:
        found = server.query(query).getResults()
    except jpype.JException as error:
        return {"error": str(error)}
    return {str(one.getFieldValue("id")): float(one.getFieldValue("score")) for one in found}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
