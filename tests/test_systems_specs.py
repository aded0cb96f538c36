"""Systems are asked for by name and settings; what is wrong is said with what there is."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import SYSTEMS, described, from_spec, named, split_specs

DOCUMENTS = Documents.of(["green tea", "a flat tyre"])


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_made_by_its_name_and_tells_its_settings(name):
    system = from_spec(name)
    assert system.name == name
    assert system == named(name)
    told = described(name)
    assert told.startswith(f"{name}: {SYSTEMS[name].what}")
    for setting, default, what in type(system).listed():
        assert f"{setting}={default}  {what}" in told
        again = from_spec(f"{name}:{setting}={default}")
        assert again == system
        assert type(getattr(again, setting)) is type(getattr(system, setting))


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("bm25:k1=0.9,b=.4", {"k1": 0.9, "b": 0.4}),
        ("cosine: tf = raw , stop_words = english", {"tf": "raw", "stop_words": "english"}),
        ("cosine:stemmer=none,min_df=2,max_df=0.5", {"stemmer": None, "min_df": 2, "max_df": 0.5}),
        ("soft:sources=english+regression,join=first", {"sources": ("english", "regression")}),
        ("soft:sources=default", {"sources": None}),
        ("soft:balanced=true,definite=auto", {"balanced": True, "definite": None}),
        ("soft:fields=title:2+text", {"fields": {"title": 2.0, "text": 1.0}}),
        (r"soft:fields=a\+b:2+c:d:0.1234567", {"fields": {"a+b": 2.0, "c:d": 0.1234567}}),
        ("soft_cosine:ranking=inner_product", {"ranking": "inner_product"}),
        ('encoder:model="a,b",cache=none', {"model": "a,b", "cache": None}),
    ],
)
def test_specs_are_read_by_the_kind_of_each_setting(spec, settings):
    system = from_spec(spec)
    for name, value in settings.items():
        assert getattr(system, name) == value
        assert type(getattr(system, name)) is type(value)
    assert system.name == spec
    canonical = replace(system, label=None).name
    assert from_spec(canonical) == system
    assert from_spec(canonical).name == canonical


def test_paths_may_hold_what_joins_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("a+b, c.csv", "english")
    (tmp_path / names[0]).write_text("tyre,tire\n")
    system = named("soft", sources=names)
    assert system.name == r'soft:sources="a\+b, c.csv+english"'
    assert from_spec(system.name).sources == names


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bm26", "no system 'bm26'; choose one of cosine, bm25, soft, .* as in bm25:k1="),
        ("", "no system ''"),
        ("bm25:k2=1", "'bm25' has no setting 'k2'; it has stop_words, .*k1, b, method"),
        ("bm25:k1=x", "k1 of 'bm25' is 'x'; it must be a number of 0 or more"),
        ("bm25:k1=-1", "k1 of 'bm25' is -1.0; it must be a number of 0 or more"),
        ("bm25:b=2", "b of 'bm25' is 2.0; it must be a number from 0 to 1"),
        ("bm25:k1=nan", "k1 of 'bm25' is nan"),
        ("bm25:method=mine", "it must be one of lucene, robertson, atire"),
        ("bm25:k1", "'k1' in the system 'bm25:k1' is no setting; write setting=value, such as"),
        ("bm25:", "'' in the system 'bm25:' is no setting"),
        ("bm25:k1=1,k1=2", "has k1 twice; say it once"),
        ('bm25:k1="1', "a double quote that is not closed"),
        ("lsi:n_components=0", "n_components of 'lsi' is 0; it must be a whole number of 1"),
        ("lsi:n_components=1.5", "n_components of 'lsi' is '1.5'"),
        ("soft:plain=maybe", "plain of 'soft' is 'maybe'; it must be true or false"),
        ("soft:stemmer=klingon", "stemmer is 'klingon'"),
        ("soft:sources=wordnt", "the source 'wordnt' is not understood"),
        (
            "soft:sources=edit-distance,exponent=2",
            "exponent are for named sources of vectors",
        ),
        ("soft:sources=english,plain=true", "source, sources and plain of 'soft' exclude"),
        ("soft:match=fields", "match of 'soft' is 'fields', and no fields are given"),
        ("soft:fields=title:x", "fields of 'soft' is 'title:x'; it must be names with their"),
        ("soft:fields=title:0", "the weight of field 'title' is 0"),
        ("soft:encoder=none,ask=static", "ask, meaning and meaning_space of 'soft' are for"),
        (
            "soft:encoder=minilm,ask=me",
            "ask of 'soft' is 'me'; it must be one of words, static, en",
        ),
        ("soft:encoder=minilm,meaning=-1", "meaning of 'soft' is -1.0; it must be a number of 0"),
        ("soft:ranking=best", "it must be one of soft_cosine, inner_product"),
        ("wmd:vectors=edit-distance", "vectors of 'wmd' is 'edit-distance', which has no vectors"),
        ("mean_vector:vectors=no.vec", "no file no.vec"),
    ],
)
def test_what_is_wrong_in_a_spec_is_said(spec, message):
    with pytest.raises((InvalidInputError, FileNotFoundError), match=message):
        from_spec(spec)


def test_settings_by_name_are_checked_like_those_of_a_spec():
    with pytest.raises(InvalidInputError, match="'bm25' has no setting 'k2'; it has"):
        named("bm25", k2=1)
    with pytest.raises(InvalidInputError, match="k1 of 'bm25' is '1'; it must be a number"):
        named("bm25", k1="1")
    with pytest.raises(InvalidInputError, match="encode of 'encoder' is of type int"):
        named("encoder", encode=3)


def test_settings_may_be_numbers_of_numpy_and_lists():
    system = named("expansion", k1=np.float64(0.5), max_neighbors=np.int64(3), sources=["english"])
    assert system.name == "expansion:sources=english,max_neighbors=3,k1=0.5"


def test_a_label_takes_the_place_of_the_name():
    assert named("soft", exponent=3, label="mine").name == "mine"
    assert named("soft", exponent=3).name == "soft:exponent=3"


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("cosine,bm25,soft", ["cosine", "bm25", "soft"]),
        ("cosine, soft:exponent=3,b=0.4,bm25", ["cosine", "soft:exponent=3,b=0.4", "bm25"]),
        ("bm25,soft:encoder=minilm,ask=static", ["bm25", "soft:encoder=minilm,ask=static"]),
        ("bm25,k1=0.9,b=0.4", ["bm25:k1=0.9,b=0.4"]),
        ("soft:sources=vectors:a.vec+english,b=0", ["soft:sources=vectors:a.vec+english,b=0"]),
        ('encoder:model="a,b",bm25', ['encoder:model="a,b"', "bm25"]),
    ],
)
def test_specs_joined_by_commas_are_told_apart(text, specs):
    assert split_specs(text) == specs


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("bm25", "bm25s", "evaluate"),
        ("expansion", "bm25s", "evaluate"),
        ("lsi", "sklearn.utils.extmath", "evaluate"),
        ("lda", "sklearn.decomposition", "evaluate"),
        ("wmd", "ot", "evaluate"),
        ("gensim", "gensim.corpora", "gensim"),
        ("encoder:cache=none", "softcosine_minilm", "encoder"),
        ("encoder:cache=none,model=other", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, spec, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=rf"pip install .*\[{extra}\]'"):
        from_spec(spec).fit(DOCUMENTS)


def test_listing_the_systems_imports_none_of_the_packages_they_need():
    code = (
        "import sys; from softcosine.evaluate.systems import SYSTEMS, from_spec\n"
        "for name in SYSTEMS: from_spec(name)\n"
        "print([m for m in ('bm25s', 'sklearn', 'ot', 'gensim', 'torch') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_every_place_of_the_table_is_there():
    for entry in SYSTEMS.values():
        module, name = entry.place.split(":")
        assert hasattr(importlib.import_module(f"softcosine.evaluate.systems.{module}"), name)
