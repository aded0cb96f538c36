"""The page: its files and headers, and in Chromium what a person does with it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.resources import files
from urllib.parse import quote, urlencode

import pytest

import softcosine as sc
from conftest import need_browser
from killing import ended
from serve_answers import FAQ
from softcosine.cli.demo import demo
from softcosine.cli.symbols import OpenedSymbols
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.serve.keys import KeyRing
from softcosine.serve.status_routes import POLICY

PAGE = files("softcosine.serve").joinpath("page")
NAMES = sorted(file.name for file in PAGE.iterdir() if file.is_file())
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@pytest.mark.parametrize("path", ["/", *(f"/page/{name}" for name in NAMES)])
def test_files_have_types_a_policy_and_tags(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    kind = path.rpartition(".")[2] if "." in path else "html"
    assert answer.headers["content-type"].partition(";")[0] == TYPES[kind]
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "private, no-cache"
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == POLICY


def test_the_policy_allows_no_inline_code_and_no_other_host():
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    allowed = {word for part in POLICY.split(";") for word in part.split()[1:]}
    assert allowed == {"'none'", "'self'", "'script'"}


@pytest.mark.parametrize(
    "name", ["../app.py", "no.js", "page.css/", "%2e%2e%2fapp.py", "__init__.py"]
)
def test_other_files_are_not_served(client, name):
    answer = client.get(f"/page/{name}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:softcosine:not-found"


def test_the_page_needs_no_key_and_routes_do(serving, tmp_path):
    KeyRing(tmp_path / "keys.json").add("reader", ["search"])
    client = serving(keys=tmp_path / "keys.json")
    assert client.get("/").status_code == 200
    assert client.get("/v1/indexes").status_code == 401


@pytest.mark.parametrize("name", NAMES)
def test_files_name_no_other_host_and_make_no_markup(name):
    content = PAGE.joinpath(name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:|[\"'(])//", content)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.(write|cookie)|\beval\b|\w+Storage",
        content,
    )
    if name.endswith(".html"):
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", content)
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", content))


def test_every_file_that_the_page_names_is_served(client):
    named = set(re.findall(r'(?:src|href)="(page/[^"]+)"', client.get("/").text))
    for name in (name for name in NAMES if name.endswith(".js")):
        named |= {
            f"page/{one}"
            for one in re.findall(r'from "\./([^"]+)"', client.get(f"/page/{name}").text)
        }
    assert {f"page/{name}" for name in NAMES} - named == {"page/index.html"}
    for name in named:
        assert client.get(f"/{name}").status_code == 200


@pytest.mark.parametrize("ranking", ["soft_bm25", "soft_cosine"])
def test_a_plain_search_matches_equal_words_alone(client, saved, ranking):
    index = sc.SoftIndex.open(saved)
    plain = index.with_similarity(TermSimilarityMatrix.identity(index.vocabulary))
    for query in ("bicycle tire", "green tea", "tyre"):
        body = {"q": query, "plain": True, "ranking": ranking, "explain": True}
        answer = client.post(f"{FAQ}/search", json=body).json()
        expected = plain.search(query, ranking=ranking)
        assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [
            (hit.id, hit.score) for hit in expected
        ]
        assert answer["commit"] == index.commit
        assert all(part["exact"] for hit in answer["hits"] for part in hit["explanation"])


def test_demo_opens_the_page_on_the_symbols(saved, monkeypatch, capsys):
    opened, served = [], []
    symbols = OpenedSymbols(sc.SoftIndex.open(saved), saved, None)
    monkeypatch.setattr("softcosine.cli.demo.open_symbols", lambda *_, **__: symbols)
    monkeypatch.setattr("webbrowser.open", opened.append)

    def serve(settings, bind, started):
        served.append((settings.path, settings.read_only, bind.loopback))
        started("http://127.0.0.1:1")

    monkeypatch.setattr("softcosine.serve.process.serve", serve)
    demo(["sick", "infant"], page=True)
    assert served == [(saved, True, True)]
    assert opened == ["http://127.0.0.1:1/#q=sick+infant"]
    assert opened[0] in capsys.readouterr().out


HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
TEXTS = {
    "bike": "a puncture in the bike's tyre",
    "cycle/1": "a bicycle with a flat tyre",
    "cold": "the tea is getting cold",
    "\N{CAT FACE} car": "\N{CAT FACE} repair of a flat tyre of the car",
    HOSTILE: f"tyre {HOSTILE}",
    "turned\N{RIGHT-TO-LEFT OVERRIDE}": "tyre \N{RIGHT-TO-LEFT OVERRIDE}gnp.exe",
    "long": f"tyre {'x' * 1_000_000}",
    **{f"spoke {number}": f"spoke {number}" for number in range(25)},
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return the address of a server with a key for reading and one for writing."""
    need_browser()
    root = tmp_path_factory.mktemp("page")
    metadata = [{"kind": "wheels" if "tyre" in text else HOSTILE} for text in TEXTS.values()]
    pairs = {("bicycle", "bike"): 0.9, ("tyre", "tire"): 0.8}
    index = sc.SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, metadata=metadata, source=sc.PairSimilarity(pairs),
        language="english", ranking="soft_bm25", encoder=None,
    )  # fmt: skip
    (root / "indexes").mkdir()
    index.save(root / "indexes" / "faq")
    ring = KeyRing(root / "keys.json")
    keys = {
        "read": ring.add("reader", ["search"]),
        "write": ring.add("editor", ["search", "write"]),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "softcosine", "serve", str(root / "indexes"), "--port", "0",
         "--keys", str(root / "keys.json"), "--timeout", "120"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with ended(process):
        line = process.stdout.readline()
        yield line.split(" at ")[1].split()[0] + "/", keys


@pytest.fixture(scope="module")
def browser():
    executable = need_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def show(browser, address):
    """Return a function that opens a view of the page; errors in the page fail the test."""
    base, keys = address
    contexts, faults = [], []

    def note(text, wrong):
        if wrong:
            faults.append(text)

    def opened(*, key="read", width=1200, scheme="light", **wanted):
        context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme)
        contexts.append(context)
        if key:
            signed_in = context.request.post(f"{base}session", data={"key": keys[key]})
            assert signed_in.ok, signed_in.text()
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: note(message.text, "Security Policy" in message.text))
        page.on("request", lambda request: note(request.url, not request.url.startswith(base)))
        page.goto(f"{base}#{urlencode(wanted, quote_via=quote)}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def hits(page):
    page.wait_for_selector("#results:not([aria-busy]) article")
    return page.locator("#results article h3").all_inner_texts()


@pytest.mark.smoke
def test_typing_searches_and_the_address_links_to_the_answer(show):
    page = show()
    page.wait_for_selector(".empty")
    page.keyboard.press("/")
    page.keyboard.type("bicycle")
    assert hits(page) == ["1. cycle/1", "2. bike"]
    assert page.locator("mark.exact").first.inner_text() == "exact"
    assert page.locator("article mark.exact").all_inner_texts() == ["bicycle", "bike"]
    linked = page.url
    assert "q=bicycle" in linked
    page.fill("#q", "tea")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=cold")
    page.goto("about:blank")
    page.goto(linked)
    assert hits(page) == ["1. cycle/1", "2. bike"]


def test_operators_count_when_they_are_switched_on_and_are_removed_one_by_one(show):
    from playwright.sync_api import expect

    page = show(q='flat tyre -car +tyre^2 "flat tyre"')
    assert len(hits(page)) > 2
    page.get_by_label("Operators").check()
    page.wait_for_selector("#status button")
    assert hits(page) == ["1. cycle/1"]
    chips = page.locator("#status button")
    assert chips.all_inner_texts() == ["with: tyre ✕", 'with: "flat tyre" ✕', "without: car ✕"]
    chips.last.click()
    expect(chips).to_have_count(2)
    assert len(hits(page)) == 2
    chips.first.click()
    expect(chips).to_have_count(1)
    assert page.input_value("#q") == 'flat tyre "flat tyre"'


def test_pairs_of_words_add_up_to_the_score(show):
    page = show(q="bicycle tire")
    hits(page)
    page.get_by_role("button", name="Why").first.click()
    page.wait_for_selector(".why")
    points = [float(text) for text in page.locator(".why tbody .number").all_inner_texts()]
    whole = float(page.locator(".why tfoot .number").inner_text())
    assert 2 <= len(points) <= 5
    assert sum(points) == pytest.approx(whole, abs=0.03)
    sums = page.locator(".why > p span").all_inner_texts()
    assert sum(float(text.split()[-1]) for text in sums) == pytest.approx(whole, abs=0.03)
    track = page.locator(".why > .track").bounding_box()["width"]
    widths = page.locator(".why > .track i").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert sum(widths) == pytest.approx(track, abs=2.5)
    assert page.locator(".why .pairs li").count() >= 2


def test_marks_count_code_points(show):
    page = show(q="car")
    hits(page)
    assert page.locator("article mark").inner_text() == "car"


def test_facets_filter_and_can_be_taken_back(show):
    page = show(q="tyre OR tea")
    hits(page)
    page.get_by_label("wheels").check()
    page.wait_for_selector("text=Remove all filters")
    assert not any("cold" in title for title in hits(page))
    assert "filters=" in page.url
    page.go_back()
    page.wait_for_selector("article:has-text('cold')")
    assert not page.get_by_label("wheels").is_checked()


def test_a_filter_keeps_the_focus_when_its_counts_come(show):
    page = show(q="tyre OR tea")
    hits(page)
    page.get_by_label("wheels").focus()
    page.keyboard.press("Space")
    page.wait_for_selector("text=Remove all filters")
    hits(page)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.activeElement.value") == "wheels"


def test_pages_follow_each_other(show):
    page = show(q="spoke")
    first = hits(page)
    assert len(first) == 10
    page.get_by_role("button", name="Next").click()
    page.wait_for_selector("text=Page 2")
    page.wait_for_selector("#results:not([aria-busy])")
    assert not {title.split(". ")[1] for title in first} & {
        title.split(". ")[1] for title in hits(page)
    }
    page.get_by_role("button", name="Next").click()
    page.wait_for_selector("text=of 25")
    assert page.get_by_role("button", name="Next").is_disabled()


def test_hostile_documents_stay_text(show):
    page = show(q="tyre")
    titles = hits(page)
    assert any(HOSTILE in title for title in titles)
    assert page.locator("#results img, #results script, #facets img").count() == 0
    assert page.title() == "tyre – softcosine"
    assert "turned⟨U+202E⟩" in page.locator("#results").inner_text()
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.locator("body").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.locator("article:has-text('xxxx')").get_by_role("button", name="Whole text").click()
    page.get_by_role("button", name="The other").click()
    page.wait_for_selector("article .whole")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_soft_and_plain_results_stand_side_by_side(show):
    page = show(q="bicycle", compare=1)
    page.wait_for_selector(".two article")
    columns = page.locator(".two > section")
    assert columns.nth(0).locator("h3").all_inner_texts() == ["1. cycle/1", "2. bike"]
    assert columns.nth(1).locator("h3").all_inner_texts() == ["1. cycle/1"]
    assert page.locator(".badge").inner_text() == "not found by plain words"


def test_documents_similar_to_a_hit(show):
    page = show(q="bicycle")
    hits(page)
    page.get_by_role("button", name="Similar to this").first.click()
    page.wait_for_selector("#status:has-text('Similar to cycle/1')")
    assert "bike" in " ".join(hits(page))


def test_a_person_pins_and_forbids_words(show):
    page = show(key="write", q="cold")
    hits(page)
    page.get_by_role("button", name="Words").click()
    page.fill("#word", "cold")
    page.keyboard.press("Enter")
    page.get_by_label("Other word").fill("flat")
    page.get_by_role("button", name="Pin").click()
    page.wait_for_selector("#words .badge:has-text('yours')")
    page.keyboard.press("Escape")
    page.wait_for_selector("article:has-text('cycle/1')")
    page.get_by_role("button", name="Words").click()
    page.fill("#word", "cold")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Forbid flat as similar to cold").click()
    page.wait_for_selector("#words:has-text('Forbidden: flat')")
    page.get_by_role("button", name="Take back").click()
    page.wait_for_selector("#word-answer:not(:has-text('Forbidden'))")


@pytest.mark.parametrize(
    ("state", "told"), [("cancelled", "nothing was changed"), ("failed", "see whether it was made")]
)
def test_a_change_without_a_result_says_what_is_known(show, state, told):
    page = show(key="write", q="cold")
    hits(page)
    record = {"id": "t", "state": "waiting"}

    def started(route):
        if route.request.method == "PATCH":
            route.fulfill(status=202, json=record)
        else:
            route.continue_()

    page.route("**/similarities", started)
    page.route("**/v1/tasks/t", lambda route: route.fulfill(json=record | {"state": state}))
    page.get_by_role("button", name="Words").click()
    page.fill("#word", "cold")
    page.keyboard.press("Enter")
    page.get_by_label("Other word").fill("tea")
    page.get_by_role("button", name="Pin").click()
    page.wait_for_selector(f"#word-problem:has-text('{told}')")


def test_a_reader_has_no_buttons_for_changes(show):
    page = show(q="bike")
    hits(page)
    page.get_by_role("button", name="Words").click()
    page.fill("#word", "bike")
    page.keyboard.press("Enter")
    page.wait_for_selector("#word-answer li:has-text('bicycle')")
    assert page.locator("#words button:has-text('Forbid'), #words .pair").count() == 0
    page.fill("#word", "unknownword")
    page.keyboard.press("Enter")
    page.wait_for_selector("#word-problem:has-text('unknownword')")
    assert page.locator("#words .pair").count() == 0


def test_a_person_signs_in_and_out(show, address):
    page = show(key=None, q="bike")
    page.wait_for_selector("dialog[open] #key-value")
    page.fill("#key-value", "sc_wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#key-problem:has-text('does not know the key')")
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    assert axe.run(page)["violations"] == []
    page.fill("#key-value", address[1]["read"])
    page.keyboard.press("Enter")
    assert hits(page)
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert page.evaluate(stored) == [0, 0, ""]
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Strict", -1)
    assert cookie["value"] != address[1]["read"]
    page.reload()
    assert hits(page)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("dialog[open] #key-value")
    assert page.locator("#results article").count() == 0
    page.context.add_cookies([cookie])  # the session is over, not only the cookie gone
    page.reload()
    page.wait_for_selector("dialog[open] #key-value")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Sign in").first.click()
    page.wait_for_selector("dialog[open] #key-value")


def test_documents_are_counted_when_typing_pauses(show):
    page = show(q="tyre OR tea")
    page.wait_for_selector("#facets :text('wheels')")
    counted = []

    def note(request):
        if request.url.endswith("/search"):
            counted.append('"facets"' in request.post_data)

    page.on("request", note)
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)
    page.locator("#q").press("End")
    for letters in (" OR", " spoke"):
        page.locator("#q").press_sequentially(letters)
        with page.expect_response("**/search"):
            page.clock.run_for(200)
        page.wait_for_selector("#results:not([aria-busy])")
    page.clock.run_for(300)
    assert counted == [False, False]
    with page.expect_response("**/search"):
        page.clock.run_for(400)
    assert counted == [False, False, True]
    page.clock.resume()
    page.get_by_label("Beside plain words").check()
    page.wait_for_selector(".two article")
    page.wait_for_timeout(100)
    assert counted.count(True) == 1


def test_a_count_that_another_view_ends_is_made_again(show):
    page = show(q="tyre OR tea")
    page.wait_for_selector("#facets :text('wheels')")
    held = []

    def hold(route):
        if '"facets"' in route.request.post_data and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/search", hold)
    page.locator("#q").fill("tea")
    page.locator("#q").press("Enter")
    while not held:
        page.wait_for_timeout(20)
    page.get_by_label("Beside plain words").check()
    page.wait_for_selector("#facets :text('wheels')", state="hidden", timeout=20_000)


def test_errors_are_shown_with_their_repair(show):
    page = show(index="fag", q="bike")
    page.wait_for_selector("#problem:has-text(\"there is no index 'fag'\")")
    page.select_option("#index", "faq")
    assert len(hits(page)) == 2
    page.fill("#q", "tyre " * 1001)
    page.wait_for_selector("#problem:has-text('1,000')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_every_size_and_scheme_is_readable(show, width, scheme):
    page = show(width=width, scheme=scheme, q="bicycle tire")
    hits(page)
    page.get_by_role("button", name="Why").first.click()
    page.wait_for_selector(".why")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()

    def faults():
        return [(one["id"], one["nodes"][0]["html"]) for one in axe.run(page)["violations"]]

    assert faults() == []
    page.locator(".why button").first.click()
    page.wait_for_selector("#word-answer li")
    assert faults() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="State").click()
    page.wait_for_selector("#state dd")
    assert faults() == []
    page.keyboard.press("Escape")
    page.get_by_label("Beside plain words").check()
    page.wait_for_selector(".two article")
    assert faults() == []
