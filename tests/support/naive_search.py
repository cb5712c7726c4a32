"""Search as plainly as it can be written: every document is read for every query, word by word."""

import functools
import math
from datetime import timedelta

from beamtrawl.search.query.conditions import AllOf, AnyOf, Filter, Not, Phrase, Word
from beamtrawl.search.query.lexemes import day
from beamtrawl.search.query.parse import parse
from beamtrawl.transforms.indexing.analysis import identifiers, is_name, name, pairs, tokens, word_class, words_of
from beamtrawl.transforms.indexing.korean import ANALYSED
from beamtrawl.transforms.indexing.term_forms import stemmed_as
from beamtrawl.transforms.indexing.write_segment import url_text

FIELDS = ("title", "body", "headings", "url", "anchors")

# The numbers of docs/ranking.md, and not those of the program: what is compared with them is held by them.
WEIGHTS = {"title": 2.0, "body": 1.0, "headings": 3.0, "url": 3.0, "anchors": 3.0}
B = {"title": 0.75, "body": 0.6, "headings": 0.75, "url": 0.75, "anchors": 0.75}
K1, NAMES, PHRASE, PAIR, SECTION, URL_ALONE, COMMON = 1.2, 1.0, 0.5, 0.25, 0.6, 0.1, 4.0
LINKS, HALF_RANK, SPAM = 0.1, 10.0, 0.5
FRESH, FRESH_DAYS = 0.05, 365.0


class Document:
    """A row of a corpus, in words. Those in Korean have morphemes, too, if there is something that gives them."""

    def __init__(self, row, morphemes=None):
        self.row = row
        texts = {
            "title": row.get("title") or "",
            "body": row.get("text") or "",
            "headings": "\n".join(row.get("headings") or ()),
            "url": url_text(row["url"]),
            "anchors": "\n".join(row.get("anchors") or ()),
        }
        self.words = {field: tokens(texts[field]) for field in FIELDS}
        if morphemes and row.get("language", "en") == "ko":
            for field in ("title", "body", "headings"):
                self.words[field] += morphemes(texts[field])
            self.words["body"].append(ANALYSED)
        self.language = stemmed_as(row.get("language", "en"))
        self.pairs = [word_class(pair, self.language) for _, pair in pairs(tokens(texts["title"]))]
        names = filter(None, (name(tokens(text)) for text in row.get("names") or ()))
        self.names = [word_class(term, self.language) for term in names]
        self.identifiers = {field: identifiers(texts[field]) for field in FIELDS}
        self.classes = {field: [word_class(word, self.language) for word in self.words[field]] for field in FIELDS}

    def count(self, unit):
        """How often it has a word in any form, or a phrase, by field."""
        if isinstance(unit, str) and is_name(unit):
            return {"anchors": self.names.count(word_class(unit, self.language))}
        if isinstance(unit, str) and " " in unit:
            return {"title": self.pairs.count(word_class(unit, self.language))}
        if isinstance(unit, str) and "_" in unit:
            return {field: self.identifiers[field].count(unit) for field in FIELDS}
        if isinstance(unit, str):
            wanted = word_class(unit, self.language)
            return {field: self.classes[field].count(wanted) for field in FIELDS}
        if len(unit) == 1:
            return {field: self.words[field].count(unit[0]) for field in FIELDS}
        return {field: in_a_row(self.words[field], unit) for field in ("title", "body")}

    @functools.cached_property
    def date(self):
        return published(self.row) or self.row["fetched_at"]


def published(row):
    """The date that a page states, if it does not lie more than a day after the visit."""
    date = row.get("published_at")
    return date if date and date <= row["fetched_at"] + timedelta(days=1) else None


def in_a_row(words, phrase):
    return sum(tuple(words[n : n + len(phrase)]) == phrase for n in range(len(words)))


def matches(document, condition):
    """Whether a document fulfils the condition of a query."""
    row = document.row
    match condition:
        case Word(term, field):
            counts = document.count(term)
            return any(counts.values()) if field is None else counts[field] > 0
        case Phrase(terms, "url"):
            return set(terms) <= set(document.words["url"])
        case Phrase(terms, field):
            counts = document.count(terms)
            return any(counts.values()) if field is None else counts[field] > 0
        case Filter("site", site):
            host = row["url"].split("/")[2]
            return host == site or host.endswith("." + site)
        case Filter("lang", language):
            return row.get("language", "en") == language
        case Filter("type", kind):
            return kind in (row["media_type"], *row["media_type"].split("/"))
        case Filter("after", value):
            return document.date >= day(value)
        case Filter("before", value):
            return document.date < day(value)
        case Not(part):
            return not matches(document, part)
        case AllOf(parts):
            return all(matches(document, part) for part in parts)
        case AnyOf(parts):
            return any(matches(document, part) for part in parts)
    raise AssertionError(condition)


def newest(rows, gone):
    """The rows that count: of each URL the one of the latest round, if it was not gone since."""
    by_url = {}
    for row in sorted(rows, key=lambda row: row.get("round", 1)):
        by_url[row["url"]] = row
    for round_, url in gone:
        if url in by_url and by_url[url].get("round", 1) < round_:
            del by_url[url]
    return list(by_url.values())


class Naive:
    """The documents that count, ready to be read from the first to the last."""

    def __init__(self, rows, gone=(), morphemes=None):
        """Of rows, and of (round, URL) of pages that were gone in it."""
        self.documents = [Document(row, morphemes) for row in newest(rows, gone)]
        self.parse = functools.partial(parse, morphemes=morphemes) if morphemes else parse
        self.average = {
            field: sum(len(d.words[field]) for d in self.documents) / len(self.documents) for field in FIELDS
        }
        self.now = max(document.row["fetched_at"] for document in self.documents)
        self.count = functools.cache(lambda number, unit: self.documents[number].count(unit))
        self.having = functools.cache(self._having)
        self.idf = functools.cache(self._idf)
        self.score = functools.cache(self._score)

    def boost(self, row):
        rank = row.get("link_rank", 0.0)
        links = 1 + LINKS * rank / (rank + HALF_RANK)
        quality = 1 - SPAM * min(1.0, max(0.0, row.get("spam_score") or 0.0))
        fresh = 0.0
        if date := published(row):
            days = (self.now - date).total_seconds() / 86_400
            fresh = 0.5 ** (max(days, 0.0) / FRESH_DAYS)
        return links * quality * (1 + FRESH * fresh)

    def _having(self, unit):
        return sum(any(self.count(number, unit).values()) for number in range(len(self.documents)))

    def _idf(self, unit):
        having = self.having(unit)
        return math.log(1 + (len(self.documents) - having + 0.5) / (having + 0.5))

    def _score(self, number, unit):
        frequency, names = 0.0, 0.0
        is_of_section = isinstance(unit, str) and is_name(unit)
        counts = {field: n for field, n in self.count(number, unit).items() if isinstance(unit, str) or field != "url"}
        for field, count in counts.items():
            length = len(self.documents[number].words[field])
            relative = 1 if is_of_section else 1 - B[field] + B[field] * length / (self.average[field] or 1)
            frequency += WEIGHTS[field] * count / relative
            names += WEIGHTS[field] * count / relative if field != "body" else 0
        if is_of_section:
            weight = SECTION
        else:
            weight = self.idf(unit) * (PHRASE if not isinstance(unit, str) else PAIR if " " in unit else 1)
        weight *= URL_ALONE if counts.get("url") and sum(counts.values()) == counts["url"] else 1
        return weight * (frequency * (K1 + 1) / (K1 + frequency) + NAMES * names / (K1 + names))

    def weight(self, query, unit):
        decay = COMMON * min(1, max(0, (len(query.words) - 6) / 3)) / max(1, query.exact_weight)
        return query.weight(unit) * math.exp(-decay * self.having(unit) / len(self.documents))

    def sum_of_idf(self, words, query):
        return sum(self.idf(word) * min(1, query.weight(word)) for word in words)

    def search(self, text):
        """(score, URL) of all documents that match, best first; the same of the weaker matches."""
        query = self.parse(text)
        found = self.ask(query, query.condition)
        if query.excludes and not found and not self.ask(query, query.wider):
            plain = self.parse(text, is_text=True)
            if found := self.ask(plain, plain.condition):
                query = plain
        return found, [] if found else self.ask(query, query.wider)

    def ask(self, query, condition):
        of_all = self.sum_of_idf({word for name in query.names for word in words_of(name)}, query)
        of_names = [(name, self.sum_of_idf(words_of(name), query)) for name in query.names]
        found = []
        for number, document in enumerate(self.documents):
            if matches(document, condition):
                score = (
                    sum(self.weight(query, unit) * self.score(number, unit) for unit in query.scoring)
                    if query.scoring
                    else 1.0
                )
                of_sections = (self.score(number, name) * of * min(1.0, of / of_all) for name, of in of_names)
                score += max(of_sections, default=0.0)
                found.append((score * self.boost(document.row), document.row["url"]))
        return sorted(found, key=lambda pair: (-round(pair[0], 9), pair[1]))
