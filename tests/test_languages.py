"""The language of texts: recognised, chosen, and what follows from it."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import softcosine as sc
from conftest import find_data
from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.index.language import language_note
from softcosine.similarity.default import default_source
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.guard import Guarded, guarded
from softcosine.similarity.registry import SourceSettings
from softcosine.text import segmenters
from softcosine.text.analyzer import Analyzer, languages
from softcosine.text.corpus import analyze
from softcosine.text.language import detect_language
from softcosine.text.segmenters import segmenter_for
from softcosine.text.stop_words import stop_word_lists
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import find_words, normalize, pair_in_run
from strategies import corpora
from toy_encoder import ToyEncoder

GERMAN = [
    "Der Hund schläft im Garten und die Katze jagt eine Maus",
    "Die Häuser stehen auf dem Berg, und das Haus am See ist alt",
    "Wie kann ich mein Passwort ändern, wenn ich es vergessen habe?",
]
# Sentences of a manual, whose only long words are names of commands.
JAPANESE = [
    "設定を開いて passwd を実行してください",
    "apt-get で更新をインストールします",
    "settings の項目を選択して保存します",
]
CHINESE = ["打开 settings 更改密码", "使用 apt-get 安装更新", "运行 passwd 修改用户密码"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Hund und die Katze sind nicht im Haus", "german"),
        ("Jak mohu změnit heslo, když jsem ho zapomněl", "czech"),
        ("Come posso cambiare la password se non la ricordo", "italian"),
        ("Comment est-ce que je peux changer le mot de passe de mon compte", "french"),
        (
            "Puedo cambiar la contraseña del sistema, y qué hago cuando no la recuerdo",
            "spanish",
        ),
        (
            "Hvad gør jeg, når jeg har glemt den adgangskode, jeg bruger efter den",
            "danish",
        ),
        ("Как я могу изменить пароль, если я его не помню", "russian"),
        ("Як я можу змінити пароль, якщо я його не пам'ятаю", "ukrainian"),
        ("كيف يمكن تغيير كلمة المرور إذا كانت في هذا الحساب", "arabic"),
        ("چگونه می‌توانید رمز خود را تغییر دهید اگر آن را از یاد برده‌اید", "persian"),
        ("Πώς αλλάζω τον κωδικό", "greek"),
        ("איך אני יכול לשנות את הסיסמה של החשבון אם לא זה", "hebrew"),
        ("अपना पासवर्ड कैसे बदलें यदि आप इसे भूल गए हैं", "hindi"),
        ("비밀번호를 변경하려면 어떻게 해야 합니까", "korean"),
        ("パスワードを変更する", "japanese"),
        ("如何更改密码", "chinese"),
        ("จะเปลี่ยนรหัสผ่านได้อย่างไร", "thai"),
        ("how do I change the password of an account", "english"),
    ],
)
def test_a_sentence_tells_its_language(text, language):
    assert detect_language([text]).name == language
    assert detect_language([text.split()]).name == language


@pytest.mark.parametrize(
    ("texts", "maybe_english"),
    [
        ([], False),
        (["", "123 4.5", "!"], False),
        ([None, 3, b"x"], False),
        (["green tea", "black tea"], True),
        (["die die die", "die cast car"], True),  # one word is not enough
        (["de la en", "en de la"], False),  # several languages, and none of them English
        (["passwd settings apt get 設 定"], False),
    ],
)
def test_texts_that_do_not_tell_are_left_undecided(texts, maybe_english):
    found = detect_language(texts)
    assert (found.name, found.maybe_english) == (None, maybe_english)


@given(corpora())
def test_any_text_is_read(texts):
    found = detect_language(texts)
    assert found.name is None or (found.name in languages() and not found.maybe_english)


@pytest.mark.parametrize("texts", [JAPANESE, CHINESE], ids=["japanese", "chinese"])
def test_names_of_commands_do_not_make_a_text_english(texts):
    index = sc.SoftIndex.from_texts(texts)
    assert index.language in ("japanese", "chinese")
    assert index.analyzer.stemmer is None
    assert "English vectors" not in index.note
    assert not index.S.neighbors("settings")


@pytest.mark.data
def test_the_language_of_every_collection_is_recognised():
    others = {"gnomedesc-de": "german", "gnomedesc-cs": "czech", "lohelp-cs": "czech"}
    folder = find_data()
    for path in sorted(folder.glob("*/*/corpus.jsonl.gz")):
        texts = [text for text in _texts(path) if text]
        expected = "italian" if path.parent.name == "itafaq" else others.get(path.parent.name)
        assert detect_language(texts).name == (expected or "english"), path
        # So are thirty documents of it.
        some = np.random.default_rng(0).choice(len(texts), 30, replace=False)
        assert detect_language([texts[i] for i in some]).name == (expected or "english"), path


def _texts(path) -> Iterator[str]:
    import gzip

    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def test_a_note_says_what_was_decided_and_no_option_of_a_command():
    note = sc.SoftIndex.from_texts(GERMAN).note
    assert "This looks like German: stemmed, stop words ignored in questions." in note
    assert "looks like English" in sc.SoftIndex.from_texts(["the tea is hot", "a cup of tea"]).note
    undecided = sc.SoftIndex.from_texts(["zażółć gęślą", "jaźń"])
    assert "was not recognised: words are not stemmed." in undecided.note
    assert undecided.language == "none"
    assert "looks like" not in sc.SoftIndex.from_texts(GERMAN, language="german").note
    assert "looks like" not in sc.SoftIndex.from_texts(GERMAN, analyzer=Analyzer()).note


def test_a_note_says_that_words_are_similar_by_spelling_or_not_at_all():
    for texts in (GERMAN, ["jaźń"]):
        note = sc.SoftIndex.from_texts(texts).note
        assert "Words are similar by spelling." in note
    index = sc.SoftIndex.from_texts(JAPANESE, analyzer=Analyzer())
    assert "looks like" not in index.note
    index = sc.SoftIndex.from_texts(JAPANESE, language="japanese", analyzer=Analyzer())
    assert "Pairs of characters match only themselves, as in BM25." in index.note
    assert index.S.to_scipy().nnz == len(index.S)


@pytest.mark.parametrize("segmented", [True, False])
def test_segmented_words_of_ideographs_are_similar_by_those_they_share(monkeypatch, segmented):
    words = Vocabulary(["ユーザ", "ユーザー", "用户", "登录", "登录名"])
    monkeypatch.setattr("softcosine.similarity.default.has_segmenter", lambda _: segmented)
    source, note = default_source(
        SourceSettings(None, None, None, None, vocabulary=words), "japanese"
    )
    found = source.similarities(["ユーザー", "登录名", "登录"], ["ユーザ", "登录", "用户"])
    assert ("similar by spelling" in note) == segmented
    assert found[0] == pytest.approx(0.9)
    assert found[1] > 0.2
    assert found[2] == 0.0


def test_a_word_finds_others_of_similar_spelling_and_without_accents():
    texts = ["Rechtschreibprüfung einschalten", "Den Drucker einrichten", "Die Tastatur ändern"]
    index = sc.SoftIndex.from_texts(texts, language="german")
    assert [hit.id for hit in index.search("Rechtschreibung kontrollieren")] == ["0"]
    czech = sc.SoftIndex.from_texts(["Nastavení tiskárny", "Heslo a účet"], language="czech")
    (hit,) = czech.search("tiskarna")
    assert hit.id == "0"
    assert "tiskarna" in str(czech.explain("tiskarna", "0"))


def test_languages_without_stop_words_are_told_of_none():
    assert "Japanese: not stemmed." in language_note("japanese", Analyzer())
    assert "stop words left out." in language_note("thai", Analyzer(stop_words="german"))
    assert "stemmed, stop words ignored in questions." in language_note(
        "german", Analyzer("german")
    )


@pytest.mark.parametrize(
    ("of_the_encoder", "language", "warned"),
    [
        (("en",), "german", True), (("en",), "english", False), (("en",), "none", False),
        (("en", "de"), "german", False), ((), "german", False),
    ],
)  # fmt: skip
def test_an_english_encoder_of_texts_in_another_language_is_warned_of(
    of_the_encoder, language, warned
):
    encoder = ToyEncoder()
    encoder.languages = of_the_encoder
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sc.SoftIndex.from_texts(GERMAN, encoder=encoder, language=language)
    expected = "toy is an encoder for English, and the language of the index is German: rankings"
    assert [str(one.message).startswith(expected) for one in told] == [True] * warned


def test_a_language_chooses_stems_vectors_and_antonyms():
    texts = ["hot tea for the children", "cold tea for a child", "warm tea and coffee"]
    english = sc.SoftIndex.from_texts(texts)
    assert english.language == "english"
    assert english.S.neighbors("tea")
    assert english.source.antonyms == Antonyms.english()
    german = sc.SoftIndex.from_texts(texts, language="german")
    assert german.analyzer == Analyzer("german")
    assert not german.S.neighbors("tea")
    assert german.source.antonyms == Antonyms(())
    forced = sc.SoftIndex.from_texts(GERMAN, language="english")
    assert (forced.analyzer, forced.language) == (Analyzer("english"), "english")
    assert "bundled English vectors" in forced.note
    none = sc.SoftIndex.from_texts(texts, language="none")
    assert (none.analyzer, none.language) == (Analyzer(), "none")
    assert not none.S.neighbors("tea")


def test_antonyms_guard_a_given_source_in_english_alone():
    pairs = sc.PairSimilarity([("hot", "cold", 0.5)])
    english = sc.SoftIndex.from_texts(["the hot tea", "the cold tea"], source=pairs)
    other = sc.SoftIndex.from_texts(["hot cold"], source=pairs, language="none")
    assert english.S.neighbors("hot") == []
    assert [term for term, _ in other.S.neighbors("hot")] == ["cold"]


def test_beside_an_analyzer_a_language_that_is_named_is_not_recognised(tmp_path):
    english = sc.SoftIndex.from_texts(GERMAN, analyzer=Analyzer(), language="english")
    assert (english.analyzer, english.language) == (Analyzer(), "english")
    assert "bundled English vectors" in english.note
    created = sc.SoftIndex.create(tmp_path / "x", analyzer=Analyzer("german"), language="english")
    with created.writer() as writer:
        writer.add_many(map(str, range(len(GERMAN))), GERMAN)
    assert (created.analyzer, created.language) == (Analyzer("german"), "english")
    assert "bundled English vectors" in created.note


def test_a_wrong_language_is_refused():
    for wrong in ("klingon", "porter", None, 3):
        with pytest.raises(InvalidInputError, match="language is"):
            sc.SoftIndex.from_texts(["x"], language=wrong)
    with pytest.raises(InvalidInputError, match="language 'klingon'"):
        Analyzer.for_language("klingon")


def test_all_of_snowballs_languages_can_be_chosen():
    from Stemmer import algorithms

    for name in set(algorithms()) - {"porter", "dutch_porter"}:
        assert Analyzer.for_language(name) == Analyzer(name)
    assert Analyzer.for_language("croatian").stemmer == "serbian"
    assert Analyzer.for_language("none") == Analyzer()
    assert Analyzer.for_language("korean") == Analyzer("korean")
    assert Analyzer.for_language("german", stemmer=None, max_ngram=2) == Analyzer(max_ngram=2)


def test_stop_words_are_words_as_texts_have_them():
    assert set(stop_word_lists()) <= set(languages())
    for language, words in stop_word_lists().items():
        assert len(words) >= 20, language
        for word in words:
            assert find_words(normalize(word)) == [word], (language, word)
    analyzer = Analyzer.for_language("german", stop_words="german")
    assert analyzer.terms(GERMAN[0]) == ["hund", "schlaft", "gart", "katz", "jagt", "maus"]


def test_a_language_is_kept_until_the_first_commit(tmp_path):
    sc.SoftIndex.create(tmp_path / "x", language="german")
    index = sc.SoftIndex.open(tmp_path / "x")
    assert index.language == "german"
    with index.writer() as writer:
        writer.add("a", "hot tea for the child")
        writer.add("b", "cold tea for the children")
    assert index.analyzer == Analyzer("german")
    assert not index.S.neighbors("tea")


@pytest.mark.parametrize("texts", [GERMAN, JAPANESE, ["green tea", "black tea"]])
def test_on_disk_the_same_is_decided_as_in_memory(tmp_path, texts):
    memory = sc.SoftIndex.from_texts(texts)
    memory.save(tmp_path / "saved")
    disk = sc.SoftIndex.create(tmp_path / "x")
    with disk.writer() as writer:
        for number, text in enumerate(texts):
            writer.add(str(number), text)
    for other in (disk, sc.SoftIndex.open(tmp_path / "saved")):
        assert (other.language, other.analyzer) == (memory.language, memory.analyzer)
        assert other.note == memory.note


# --- on the command line -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(GERMAN)]
    (tmp_path / "de.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_commands_tell_the_language(folder, run):
    def shown(*arguments: str) -> str:
        return " ".join(run(*arguments).split())

    told = "This looks like German: stemmed, stop words ignored in questions."
    made = shown("index", "de.jsonl", "-o", "x")
    assert told in made
    assert "--language NAME or none to override." in made
    note = json.loads(run("info", "x", "--json"))["note"]
    assert told in note
    assert "--language" not in note
    assert "stemmed (german)" in run("info", "x")
    assert told in shown("index", "de.jsonl", "-o", "y", "--positions")  # made one by one
    assert told in shown("index", "de.jsonl", "-o", "w", "--source", "texts")
    assert "looks like" not in shown("index", "de.jsonl", "-o", "z", "--language", "german")


@pytest.mark.parametrize(
    ("options", "analyzer"),
    [
        (["--language", "english"], Analyzer("english")),
        (["--language", "none"], Analyzer()),
        (["--language", "german", "--stemmer", "none"], Analyzer()),
        (["--language", "english", "--stemmer", "german"], Analyzer("german")),
        (
            ["--language", "german", "--stop-words", "german"],
            Analyzer("german", stop_words="german"),
        ),
        (["--stop-words", "german"], Analyzer("german", stop_words="german")),
        (["--language", "german", "--positions"], Analyzer("german")),
        (["--language", "english", "--source", "texts"], Analyzer("english")),
    ],
)
def test_options_choose_all_or_single_parts(folder, run, options, analyzer):
    run("index", "de.jsonl", "-o", "x", *options)
    assert sc.SoftIndex.open("x").analyzer == analyzer
    language = options[1] if options[0] == "--language" else "german"
    assert sc.SoftIndex.open("x").language == language


def test_languages_that_there_are_not_are_refused(folder, run):
    message = run("index", "de.jsonl", "-o", "x", "--language", "klingon", code=2)
    assert "language is 'klingon'; it must be one of auto, none, " in " ".join(message.split())


def test_systems_are_of_a_language():
    from softcosine.evaluate.systems.table import from_spec

    assert from_spec("bm25:language=german,stop_words=german").analyzed(GERMAN).analyzer == (
        Analyzer("german", stop_words="german", joints=False)
    )
    assert from_spec("bm25").analyzed(GERMAN).analyzer == Analyzer("german", joints=False)
    assert from_spec("bm25:stemmer=none").analyzed(GERMAN).analyzer == Analyzer(joints=False)
    for spec in ("bm25:language=klingon", "soft:stop_words=klingon", "bm25:stemmer=klingon"):
        with pytest.raises(InvalidInputError, match="klingon"):
            from_spec(spec)


# --- pieces of words -----------------------------------------------------------------------------

TOKYO = [
    f"{name}{what}{verb}"
    for name, kinds in {
        "東京都": ("は大都市", "の首都圏", "で行政区", "に自治体"),
        "石狩川": ("は一級", "の流域", "で水運", "に橋梁"),
    }.items()
    for what in kinds
    for verb in ("である", "を見る", "へ行く", "と思う")
] * 20


def test_pieces_of_a_word_are_not_taught_as_synonyms():
    index = sc.SoftIndex.from_texts(TOKYO, analyzer=Analyzer())
    assert {"東京", "京都"} <= set(index.vocabulary)
    unguarded = sc.CooccurrenceSimilarity.fit(analyze(TOKYO))
    assert unguarded.similarities(["東京"], ["京都"]).item() > 0.01  # or there is nothing to forbid
    for term in index.vocabulary:
        for other, _ in index.S.neighbors(term):
            assert not set(term) & set(other), (term, other)
    for name in ("texts", "regression", "snos"):
        source, _ = sc.SimilarityRecipe(sources=[name]).joined(analyze(TOKYO))
        assert source.similarities(["東京"], ["京都"]).item() == 0.0, name


def test_letters_without_a_meaning_have_no_neighbours():
    texts = ["サーバーを再起動する", "サーバーの設定を保存する", "กินข้าวกับปลา"] * 20
    index = sc.SoftIndex.from_texts(texts, analyzer=Analyzer())
    assert "サー" in index.vocabulary
    for term in index.vocabulary:
        if pair_in_run(term) and not all("\u4e00" <= c <= "\u9fff" for c in term):
            assert index.S.neighbors(term) == [], term


def test_a_persons_words_may_share_a_character():
    index = sc.SoftIndex.from_texts(
        ["方法を選ぶ", "方式を選ぶ"], source=sc.PairSimilarity([("方法", "方式", 0.5)])
    )
    assert [term for term, _ in index.S.neighbors("方法")] == ["方式"]


PIECES = [
    "東京",
    "京都",
    "都市",
    "サー",
    "ーバ",
    "食べ",
    "กิน",
    "tea",
    "東",
    "a1",
    "cup",
    "東京 京都",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.integers(0, 5),
    st.permutations(PIECES),
)
@example(["東京"], 1, PIECES)
def test_neighbours_are_the_best_of_what_is_not_kept_apart(terms, k, among):
    inner = sc.EmbeddingSimilarity(PIECES, [[1.0, 0.01 * i] for i in range(len(PIECES))])
    source = Guarded(inner, antonyms=Antonyms([("tea", "cup")]), separate_pieces=True)
    found = source.neighbors(terms, among, max_neighbors=k)
    for row, term in enumerate(terms):
        indices, _ = found.of(row)
        others = [word for word in among if word != term]
        told = dict(zip(others, source.similarities([term] * len(others), others), strict=True))
        expected = sorted((s for s in told.values() if s > 0), reverse=True)[:k]
        assert [told[among[i]] for i in indices] == pytest.approx(expected)


def test_what_keeps_pieces_apart_is_stored():
    inner = sc.EmbeddingSimilarity(["東京", "京都"], [[1, 0], [1, 0.1]])
    source = Guarded(inner, separate_pieces=True)
    again = Guarded.from_state(source.state())
    assert again.separate_pieces
    assert again.similarities(["東京", "東京"], ["京都", "東京"]).tolist() == [0.0, 1.0]
    assert "separate_pieces=True" in repr(again)
    assert not guarded(inner).separate_pieces


# --- segmenters ----------------------------------------------------------------------------------


def cut_in_threes(run: str) -> list[str]:
    """Cut a run so that each piece, cut by itself, might be cut otherwise."""
    first = len(run) % 3 or 3
    return [run[:first], *(run[i : i + 3] for i in range(first, len(run), 3))]


def cut_by_length(run: str) -> list[str]:
    """Cut even runs in halves."""
    half = len(run) // 2
    return [run] if len(run) % 2 or not half else [run[:half], run[half:]]


@pytest.fixture(scope="class")
def toy_segmenters() -> Iterator[None]:
    """Segmenters that need no package, in place of the real ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segmenters, "SEGMENTERS", {"chinese": ("json",), "japanese": ("json",)})
        makers = {"chinese": lambda: cut_in_threes, "japanese": lambda: cut_by_length}
        patch.setattr(segmenters, "_LOADERS", makers)
        yield


TROUBLE = (
    "ab\u00e9 A'.+#_-\u2019\u00df\u0130\ufb01\u00bd\u0301\u00ad\u200b\u3042\u3099\u6771\u4eac\u0e01"
    "\u0e31\ud55c\x00\n\x1f\u00a0\u3000\ud800\U00020000 \u0939\u093f09s\u30fc\u30a2"
)
awkward = st.lists(st.text(st.sampled_from(TROUBLE), max_size=30), max_size=6)
segmented = st.builds(
    Analyzer,
    st.sampled_from([None, "english"]),
    segmenter=st.sampled_from(["chinese", "japanese"]),
    max_ngram=st.integers(1, 2),
    min_length=st.integers(1, 2),
)


class TestWithToySegmenters:
    @given(awkward, segmented)
    @example(["東京都庁 x_y", "あ\u3099い\u3099東京ab"], Analyzer())
    @example(["東" * 100], Analyzer())
    def test_whole_corpora_are_segmented_as_single_texts(self, toy_segmenters, texts, analyzer):
        analyzed = analyze(texts, analyzer)
        terms = analyzed.vocabulary.terms
        streams = [
            [terms[t] for t in analyzed.tokens[a:b]]
            for a, b in zip(analyzed.offsets, analyzed.offsets[1:], strict=False)
        ]
        assert streams == [analyzer.terms(text) for text in texts]
        assert analyzed.segmented is (analyzer.segmenter is not None)

    @given(awkward, segmented)
    def test_spans_are_of_segmented_words(self, toy_segmenters, texts, analyzer):
        for text in texts:
            spans = analyzer.spans(text)
            assert [span.word for span in spans] == analyzer.words(text)
            assert all(0 <= span.start < span.end <= len(text) for span in spans)

    def test_a_segmented_index_is_searched_and_stored(self, toy_segmenters, tmp_path):
        texts = ["東京都庁へ行く", "京都の東を見る"]
        index = sc.SoftIndex.from_texts(texts, language="japanese", plain=True)
        assert index.analyzer.segmenter == "japanese"
        index.save(tmp_path / "x")
        opened = sc.SoftIndex.open(tmp_path / "x")
        assert opened.analyzer == index.analyzer
        word = index.analyzer.words(texts[0])[0]
        assert [hit.id for hit in opened.search(word)] == ["0"]
        learned = sc.SoftIndex.from_texts(TOKYO, language="chinese")
        assert not getattr(learned.source.source, "separate_pieces", False)


def test_settings_of_before_there_were_segmenters_are_read():
    settings = Analyzer("german").to_dict()
    del settings["segmenter"]
    assert Analyzer.from_dict(settings) == Analyzer("german")


def test_a_segmenter_that_is_missing_says_what_to_install(monkeypatch):
    with pytest.raises(InvalidInputError, match="segmenter is 'klingon'"):
        Analyzer(segmenter="klingon")
    monkeypatch.setattr(segmenters, "SEGMENTERS", {"japanese": ("no_such_package",)})
    with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[japanese\]'"):
        Analyzer(segmenter="japanese")
    index = sc.SoftIndex.from_texts(JAPANESE)
    assert index.analyzer == Analyzer()
    assert "with pip install 'softcosine[japanese]' it is cut into words" in index.note


def test_nothing_is_loaded_for_other_languages():
    import subprocess

    program = (
        "import sys, softcosine as sc; sc.Analyzer('german').words('東京');"
        "print([name for name in ('jieba', 'fugashi') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("japanese", "東京都の設定を変更する", ["東京", "都", "の", "設定", "を", "変更", "する"]),
        ("chinese", "我们来到北京清华大学", ["我们", "来到", "北京", "清华大学"]),
    ],
)
def test_installed_segmenters_know_words(language, text, words, tmp_path, monkeypatch):
    missing = [name for name in segmenters.SEGMENTERS[language] if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}, which is not installed: softcosine[{language}]")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert segmenter_for(language)(text) == words
    assert list(tmp_path.iterdir()) == []
    analyzer = Analyzer.for_language(language)
    assert analyzer.segmenter == language
    texts = [text, f"x {text} 3.11", "ゝ々〆ヽ〇", "あ\u3099ー" * 40, "กินข้าว", "\U00020000𠮷"]
    analyzed = analyze(texts, analyzer)
    terms = analyzed.vocabulary.terms
    assert [terms[t] for t in analyzed.tokens] == [
        term for one in texts for term in analyzer.terms(one)
    ]


def test_texts_in_another_language_are_named() -> None:
    english = [f"the tea is in the pot and it is hot {number}" for number in range(20)]
    assert "Some texts" not in sc.SoftIndex.from_texts([*english, *GERMAN[:1]]).note
    note = sc.SoftIndex.from_texts([*english, *GERMAN]).note
    assert "Some texts look like German, and one index has the rules of one language" in note


ENGLISH = [
    "The dog sleeps in the garden and the cat hunts for a mouse",
    "The houses are on the hill, and the house at the lake is old",
    "How can I change my password if I have forgotten it?",
]
MIXED = [*ENGLISH, *GERMAN]


def test_texts_in_several_languages_are_not_stemmed_and_have_all_stop_words(tmp_path) -> None:
    index = sc.SoftIndex.create(tmp_path / "x")
    with index.writer() as writer:
        for number, text in enumerate(MIXED):
            writer.add(str(number), text)
    for one in (index, sc.SoftIndex.open(tmp_path / "x"), sc.SoftIndex.from_texts(MIXED)):
        assert one.language == "english+german"
        assert one.analyzer == Analyzer()
        told = "This looks like English and German: not stemmed, stop words ignored in questions."
        assert told in one.note
        queries = ["what is the password", "wie kann ich mein passwort", "dog und katze"]
        plain = ["password", "passwort", "dog katze"]
        hits = [[(hit.id, hit.score) for hit in one.search(query)] for query in queries]
        assert hits == [[(hit.id, hit.score) for hit in one.search(query)] for query in plain]
        assert [own[0][0] for own in hits[:2]] == ["2", "5"]
        assert one.search_batch(queries) == [one.search(query) for query in queries]
    named = sc.SoftIndex.from_texts(MIXED, language="english+german")
    assert named.search("what is the password") == index.search("what is the password")
    tokens = sc.SoftIndex.from_texts([text.split() for text in MIXED])
    assert tokens.language == "english+german"


def test_shares_of_texts_decide_how_many_languages_there_are() -> None:
    for texts, language in (
        ([*ENGLISH * 9, *GERMAN], "english"),  # a tenth
        ([*ENGLISH * 3, *GERMAN], "english+german"),  # a quarter
        ([*MIXED * 2, *["usb cable"] * 28], "english+german"),  # most are too short to tell
        ([*ENGLISH, "Как я могу изменить пароль, если я его не помню"] * 2, "russian"),
        ([*ENGLISH, *CHINESE * 5], "chinese"),  # other scripts have no stems at odds
    ):
        assert sc.SoftIndex.from_texts(texts, encoder=None).language == language


@pytest.mark.parametrize("language", ["english+klingon", "auto+german", "none+german", "german+"])
def test_each_of_several_languages_must_be_one(language: str) -> None:
    with pytest.raises(InvalidInputError, match="it must be one of afrikaans, "):
        sc.SoftIndex.from_texts(MIXED, language=language)


def test_of_several_languages_the_segmenter_counts() -> None:
    several, alone = map(Analyzer.for_language, ("english+chinese", "chinese"))
    assert several == alone


KOREAN = [
    "교환은 받은 날부터 일주일 안에 신청하세요",
    "환불이 언제 처리되나요",
    "주문을 취소하고 싶습니다",
    "앱을 다시 설치하면 됩니다",
    "서비스센터에서는 usb를 무료로 바꿔 드립니다",
]


@pytest.mark.parametrize(
    ("query", "place"),
    [("환불", 1), ("환불은", 1), ("주문 취소", 2), ("교환", 0), ("앱", 3), ("서비스센터", 4),
     ("취소하려면", 2), ("USB", 4)],
)  # fmt: skip
def test_korean_nouns_are_found_whatever_particle_follows(query, place):
    index = sc.SoftIndex.from_texts(KOREAN)
    assert (index.language, index.analyzer.stemmer) == ("korean", "korean")
    (best, *_) = index.search(query)
    assert best.id == str(place)
    marks = [best.snippet.text[mark.start : mark.end] for mark in best.snippet.marks]
    assert marks
    assert index.search(f'"{query}"').ids == [str(place)]


def test_korean_stems_have_no_particle_that_follows_other_sounds():
    words = ["사과", "국가", "결과", "가을", "나이", "30도", "3만", "책이", "국가가", "사과와"]
    stems = ["사과", "국가", "결과", "가을", "나이", "30도", "3만", "책", "국가", "사과"]
    analyzer = Analyzer("korean")
    assert analyzer.stem(words) == stems == analyzer.stem(stems)
    assert Analyzer.from_dict(analyzer.to_dict()) == analyzer


def test_a_korean_index_of_before_keeps_its_words():
    index = sc.SoftIndex.from_texts(KOREAN, language="korean", analyzer=Analyzer())
    assert "환불이" in index.vocabulary.terms


GERMAN_COMPOUNDS = [
    "Die Schreibtischlampe flackert", "Sie nannte ihn Schlampe", "Das Girokonto ist kostenlos",
    "Wie hoch sind die Versandkosten", "Die Haustür klemmt", "Ein Reihenhaus am Stadtrand",
]  # fmt: skip
GERMAN_HEADS = {
    "Lampe": 0, "Lampen": 0, "Kosten": 3, "Tür": 4, "Türen": 4, "Häuser": 5, "Konto": 2,
}  # fmt: skip
DUTCH_COMPOUNDS = ["De bureaulamp knippert", "De voordeur klemt bij regen"]
SWEDISH_COMPOUNDS = ["En skrivbordslampa blinkar", "Ett köksbord är trasigt"]


@pytest.mark.parametrize(
    ("language", "texts", "queries"),
    [
        ("german", GERMAN_COMPOUNDS, GERMAN_HEADS),
        ("dutch", DUTCH_COMPOUNDS, {"lamp": 0, "deur": 1}),
        ("swedish", SWEDISH_COMPOUNDS, {"lampa": 0, "bord": 1}),
    ],
)
def test_the_head_of_a_compound_finds_it_first(language, texts, queries):
    index = sc.SoftIndex.from_texts(texts, language=language)
    assert {query: int(index.search(query).ids[0]) for query in queries} == queries


def test_a_compound_finds_its_head_below_itself():
    texts = ["Eine Lampe für den Flur", "Die Stehlampe im Flur", "Der Flur ist dunkel"]
    index = sc.SoftIndex.from_texts(texts, language="german")
    assert index.search("Stehlampe").ids == ["1", "0"]


def test_question_words_are_stop_words_in_every_language():
    # who, what, where, when, why, how, in each language that has a list
    of_language = {
        "danish": "hvem hvad hvor hvornår hvorfor hvordan",
        "dutch": "wie wat waar wanneer waarom hoe",
        "finnish": "kuka mikä missä milloin miksi miten",
        "french": "qui quoi où quand pourquoi comment",
        "german": "wer was wo wann warum wie womit wofür wodurch weshalb",
        "hungarian": "ki mi hol mikor miért hogyan",
        "italian": "chi cosa dove quando perché come",
        "polish": "kto co gdzie kiedy dlaczego jak",
        "portuguese": "quem que onde quando porque como",
        "russian": "кто что где когда почему как",
        "spanish": "quién qué dónde cuándo cómo",
        "swedish": "vem vad var när varför hur",
        "czech": "kdo co kde kdy proč jak",
        "turkish": "kim ne nerede niye nasıl",
        "korean": "누가 무엇 어디 언제 왜 어떻게",
    }
    for language, words in of_language.items():
        assert set(words.split()) <= stop_word_lists()[language], language


def test_a_german_question_word_finds_nothing_by_itself():
    index = sc.SoftIndex.from_texts([*GERMAN, "Womit ein jack-keyboard gespielt wird"])
    assert "3" not in index.search("Womit jagt die Katze eine Maus?").ids


def test_a_word_of_several_pairs_of_characters_is_named_by_its_pairs():
    index = sc.SoftIndex.from_texts(["自転車のタイヤ", "東京都の電車"], plain=True, language="none")
    assert index.neighbors("電車") == []
    with pytest.raises(InvalidInputError, match=r"holds 2 terms \(自転, 転車\); needed is one"):
        index.neighbors("自転車")


def test_words_without_similar_words_are_unknown():
    """The source of spelling can compare every word, but finds nothing for these."""
    index = sc.SoftIndex.from_texts(["Der Reifen ist platt", "Pakete kommen"], language="german")
    hits = index.search("Reifen Reifn bicycle", correct=False)
    assert (hits.outside, hits.unknown) == (("reifn",), ("bicycle",))
