"""Which links of a crawl are votes for a page, its names and its sections, and for whom."""

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import files_of
from beamtrawl.transforms.ranking.read_links import parts_of
from tests.support.linked_crawls import HUB, OTHER, PAGE, link, make_crawl, ranked


def test_links_of_a_page_that_redirects_to_another_site_are_not_those_of_that_site(tmp_path):
    """Nor do they take its rank or its votes; the links to the page count for what it redirects to."""
    thief, spoils, moved = "http://b.test/thief", "http://c.test/spoils", "http://a.test/moved"
    rows = [link(HUB, PAGE, "Lighthouse", 1), link(HUB, moved, "old beacon", 1)]
    rows += [link(thief, PAGE, "", 1, kind="redirect"), link(thief, spoils, "spoils", 1)]
    rows += [link(OTHER, thief, "way in", 1)]
    rows += [link(moved, PAGE, "", 1, kind="redirect"), link(moved, f"{PAGE}/2", "Second", 1)]
    pages = [{"url": url, "text": "words"} for url in (HUB, PAGE, thief, spoils, moved)]
    directory = make_crawl(tmp_path, {1: pages}, rows)
    found = ranked(directory)[0]
    said = {url: [vote["anchor"] for vote in row["anchors"]] for url, row in found.items() if "anchors" in row}
    assert said[PAGE] == ["Lighthouse", "old beacon", "way in"]
    assert (said[spoils], said[f"{PAGE}/2"]) == (["spoils"], ["Second"])
    assert found[spoils]["link_rank"] < found[f"{PAGE}/2"]["link_rank"]  # which is linked by the page that all link
    assert found["c.test"]["link_hosts"] == 1
    assert found["b.test"]["link_hosts"] == 0


def test_each_section_that_a_link_leads_to_is_a_further_vote(tmp_path):
    """60 links may lead to a million sections, which are what takes memory."""
    ids = [{"id": f"i{n}", "anchor": "x"} for n in range(30)]
    fragments = [None, [], ids[:1], ids]
    rows = [link(HUB, f"{OTHER}{n}", "x", 1, fragments=some) for n, some in enumerate(fragments)]
    directory = make_crawl(tmp_path, {1: [{"url": HUB, "text": "words"}]}, rows)
    paths = [file.path for file in files_of(directory.manifests(), "links")]
    assert [part.votes for part in parts_of(directory.root, paths)] == [4 + 31]
    assert ranked(directory)[1] == {"links": 4, "pages": 5, "hosts": 2}


def test_a_host_has_one_vote_for_a_page_and_a_name(tmp_path):
    """Whatever sections it gives that name, and with whatever common words. The hit leads to that of most hosts."""
    ids = [
        {"id": i, "anchor": text} for i, text in zip("abcd", ("Optics", "optics", "OPTICS", "the optics"), strict=True)
    ]
    rows = [link(OTHER, PAGE, "", 1, fragments=ids), link("http://c.test/", PAGE, "", 1, fragments=ids[1:2])]
    directory = make_crawl(tmp_path, {1: [{"url": PAGE, "text": "optics"}]}, rows)
    ranked(directory)
    (hit,) = Index.open(directory).search("optics", explain=True).hits
    assert [part.frequencies["anchors"] for part in hit.explanation.parts if "anchors" in part.frequencies] == [2]
    assert hit.section_url == f"{PAGE}#b"


def test_a_name_that_is_a_part_of_the_query_counts_by_its_share(tmp_path):
    """Of words that are as frequent, one is half of two; of several names of a page the best one counts."""
    ids = [{"id": i, "anchor": text} for i, text in (("a", "optics"), ("b", "bench"), ("c", "optics bench"))]
    texts = [link(HUB, PAGE, "", 1, fragments=ids[:1]), link(HUB, OTHER, "", 1, fragments=ids[1:])]
    pages = [{"url": url, "text": "optics bench"} for url in (PAGE, OTHER)]
    directory = make_crawl(tmp_path, {1: pages}, texts)
    ranked(directory)

    def scores(query):
        hits = Index.open(directory).search(query, explain=True).hits
        parts = [(hit.url, part) for hit in hits for part in hit.explanation.parts if part.text.startswith("#")]
        return {(url, part.text): part.score for url, part in parts}

    alone, both = scores("optics"), scores("optics bench")
    assert [*alone] == [(PAGE, "#optics")] and {*both} == {(PAGE, "#optics"), (OTHER, "#optics bench")}
    assert [*scores("bench")] == [(OTHER, "#bench")]  # the names of one page are not those of another
    assert both[PAGE, "#optics"] == pytest.approx(alone[PAGE, "#optics"] / 2)
    assert both[OTHER, "#optics bench"] > 2 * both[PAGE, "#optics"]


def ranks_of(path, texts):
    """The link rank of each target of links, given as (source, target, anchor)."""
    directory = make_crawl(path, {1: [{"url": HUB, "text": "words"}]}, [link(*text, 1) for text in texts])
    return {url: row["link_rank"] for url, row in ranked(directory)[0].items()}


def test_what_all_pages_repeat_endorses_less_than_what_they_say_in_their_own_words(tmp_path):
    """As links of a menu and of the text do."""
    pages = [f"{HUB}{n}" for n in range(9)]
    menu = [(page, f"{HUB}license", "License") for page in pages]
    text = [(page, f"{HUB}guide", f"how the guide treats case {n}") for n, page in enumerate(pages)]
    found = ranks_of(tmp_path, menu + text)
    assert found[f"{HUB}guide"] > 2 * found[f"{HUB}license"] > 2 * found[HUB + "0"]


def test_pages_that_only_menus_lead_to_are_ranked_by_them(tmp_path):
    """A page passes on all of its rank, whatever its links are; and no other host takes from it."""
    pages = [f"{HUB}{n}" for n in range(4)]
    menu = [(page, other, f"Page {other}") for page in pages for other in pages if page != other]
    alone = ranks_of(tmp_path / "alone", menu)
    assert [alone[page] for page in pages] == pytest.approx([1] * 4)
    rival = [(f"{OTHER}{n}", pages[0], f"Page {pages[0]}") for n in range(9)]
    found = ranks_of(tmp_path / "rival", menu + rival)
    assert found[pages[0]] > found[pages[1]] == pytest.approx(found[pages[2]])
