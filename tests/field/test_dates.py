"""The date of a page: cases that people met, and their siblings. Right is what schema.org says of the page itself."""

from datetime import UTC, datetime

from beamtrawl.transforms.parsing.dates import feed_date, json_ld_dates, parse_date
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.tables import each_row

D = '"datePublished"'

# scripts: the dates, the most certain first
JSON_LD = {
    "a review of a product": ([f'{{"@type":"Product","review":[{{"@type":"Review",{D}:"2011-04-01"}}]}}'], []),
    "a comment and the periodical before the date": (
        [
            f'{{"@type":"NewsArticle","comment":[{{"@type":"Comment",{D}:"2025-02-02"}}],'
            f'"isPartOf":{{"@type":"Periodical",{D}:"1999-01-01"}},{D}:"2024-03-05"}}'
        ],
        ["2024-03-05"],
    ),
    "a graph": (
        [
            f'{{"@graph":[{{"@type":"WebSite",{D}:"2001-01-01"}},{{"@type":"WebPage",{D}:"2024-03-06"}},'
            f'{{"@type":"Article",{D}:"2024-03-05"}},{{"@type":"ImageObject",{D}:"2002-01-01"}}]}}'
        ],
        ["2024-03-05", "2024-03-06"],
    ),
    "a list": ([f'[{{"@type":"Person",{D}:"1980-01-01"}},{{"@type":"BlogPosting",{D}:"2024-03-05"}}]'], ["2024-03-05"]),
    "two blocks": (
        ['{"@type":"BreadcrumbList"}', f'{{"@type":["Thing","TechArticle"],{D}:"2024-03-05"}}'],
        ["2024-03-05"],
    ),
    "the page of the main entity": (
        [f'{{"@type":"Recipe","mainEntityOfPage":{{"@type":"WebPage",{D}:"2024-03-05"}}}}'],
        ["2024-03-05"],
    ),
    "the main entity of the page": (
        [
            f'{{"@type":"QAPage","mainEntity":{{"@type":"Question","dateCreated":"2024-03-05",'
            f'"acceptedAnswer":{{"@type":"Answer",{D}:"2025-01-01"}}}}}}'
        ],
        ["2024-03-05"],
    ),
    "full names": ([f'{{"@type":"https://schema.org/Article",{D}:"2024-03-05"}}'], ["2024-03-05"]),
    "a typed value": ([f'{{{D}:{{"@type":"Date","@value":"2024-03-05"}}}}'], ["2024-03-05"]),
    "several values": ([f'{{{D}:["2024-03-05","2024-04-01"]}}'], ["2024-03-05"]),
    "modified only": (['{"@type":"Article","dateModified":"2024-03-05"}'], []),
    "modified before published": ([f'{{"dateModified":"2025-01-01",{D}:"2024-03-05"}}'], ["2024-03-05"]),
    "milliseconds": ([f"{{{D}:1709596800000}}"], ["1709596800000"]),
    "items of a list": ([f'{{"@type":"ItemList","itemListElement":[{{"@type":"Article",{D}:"2024-03-05"}}]}}'], []),
    "a comment of HTML around it": ([f'<!-- {{{D}:"2024-03-05"}} -->'], ["2024-03-05"]),
    "a line end in a string": ([f'{{"x":"a\nb",{D}:"2024-03-05"}}'], ["2024-03-05"]),
    "broken": ([f"{{,'a',{D}:\"2024-03-05\""], ["2024-03-05"]),
    "broken, with reviews": ([f'{{"review":{{{D}:"2011-04-01"}}'], []),
    "true": ([f"{{{D}:true}}"], []),
    "deep": (["[" * 100_000], []),
    "no object": (["3", "null", '"x"'], []),
}


@each_row(JSON_LD)
def test_json_ld(scripts, dates):
    assert json_ld_dates(scripts) == dates


MARCH_5 = datetime(2024, 3, 5, tzinfo=UTC)

DATES = {
    "ISO 8601": ("2024-03-05", MARCH_5),
    "with a zone": ("2024-03-05T09:00:00+09:00", MARCH_5),
    "a zone without colon": ("2024-03-05T09:00:00+0900", MARCH_5),
    "a zone behind a blank": ("2024-03-04 19:00:00 -0500", MARCH_5),
    "UTC": ("2024-03-05 00:00:00 UTC", MARCH_5),
    "fractions": ("2024-03-05T00:00:00.000Z", MARCH_5),
    "no zeros": ("2024-3-5", MARCH_5),
    "digits": ("20240305", MARCH_5),
    "digits with the time": ("20240305000000", MARCH_5),
    "epoch seconds": ("1709596800", MARCH_5),
    "epoch milliseconds": ("1709596800000", MARCH_5),
    "RFC 5322": ("Mon, 04 Mar 2024 19:00:00 -0500", MARCH_5),
    "RFC 5322, two digits of the year": ("05 Mar 24 00:00:00 GMT", MARCH_5),
    # Google, "Robots meta tag": RFC 822, RFC 850 and ISO 8601; kurtmckee/feedparser#20, waltzofpearls/dateparser#52
    "a zone of Europe": ("Tue, 05 Mar 2024 01:00:00 CET", MARCH_5),
    "a zone of Europe, RFC 850": ("Tuesday, 05-Mar-24 02:00:00 MEST", MARCH_5),
    "a zone of Europe, ISO 8601": ("2024-03-05 01:00 CET", MARCH_5),
    "a zone of Japan": ("5 Mar 2024 09:00 JST", MARCH_5),
    "a zone of America, ISO 8601": ("2024-03-04T19:00:00 EST", MARCH_5),
    "a zone that may be several": ("5 Mar 2024 00:00:00 IST", MARCH_5),
    "GMT with an offset": ("Tue Mar 05 2024 02:00:00 GMT+0200 (Eastern European Time)", MARCH_5),
    "the end of a day": ("2024-03-04T24:00:00Z", MARCH_5),
    "named zone": ("Mon, 04 Mar 2024 19:00:00 EST", MARCH_5),
    "dots": ("05.03.2024", MARCH_5),
    "dots, two digits of the year": ("5.3.24", MARCH_5),
    "dots and a time": ("05.03.2024, 17:30 Uhr", MARCH_5),
    "Japanese": ("2024年3月5日", MARCH_5),
    "Korean": ("2024년 3월 5일", MARCH_5),
    "Korean, dots": ("2024. 3. 5.", MARCH_5),
    "English": ("March 5th, 2024", MARCH_5),
    "English, day of the week": ("Tuesday, March 5, 2024", MARCH_5),
    "English, a time": ("Mar. 5, 2024 10:30 PM", MARCH_5),
    "German": ("5. März 2024", MARCH_5),
    "German, day of the week": ("Dienstag, 5. März 2024", MARCH_5),
    "French": ("1er février 2024", datetime(2024, 2, 1, tzinfo=UTC)),
    "French, July": ("mardi 2 juillet 2024", datetime(2024, 7, 2, tzinfo=UTC)),
    "Spanish": ("5 de marzo de 2024", MARCH_5),
    "Portuguese": ("5 de outubro de 2024", datetime(2024, 10, 5, tzinfo=UTC)),
    "Italian": ("5 gennaio 2024", datetime(2024, 1, 5, tzinfo=UTC)),
    "Dutch": ("5 mei 2024", datetime(2024, 5, 5, tzinfo=UTC)),
    "Swedish": ("5 maj 2024", datetime(2024, 5, 5, tzinfo=UTC)),
    "Polish": ("5 września 2024", datetime(2024, 9, 5, tzinfo=UTC)),
    "Russian": ("5 марта 2024 г.", MARCH_5),
    "Ukrainian": ("5 березня 2024", MARCH_5),
    "Turkish": ("5 Ağustos 2024", datetime(2024, 8, 5, tzinfo=UTC)),
    # What is no date for certain
    "day or month": ("3/5/2024", None),
    "a year": ("2024", None),
    "a month": ("March 2024", None),
    "no such day": ("31. Februar 2024", None),
    "no such month": ("5 brumaire 2024", None),
    "a number": ("42", None),
}


@each_row(DATES)
def test_dates(text, moment):
    assert parse_date(text) == moment


def test_dates_of_feeds_have_the_zones_of_other_dates():
    assert feed_date("Thu, 30 Apr 2015 08:57:00 MEST") == datetime(2015, 4, 30, 6, 57, tzinfo=UTC)


def test_media_types_have_parameters():
    html = (
        f'<script type="application/ld+json; charset=utf-8">{{"@type":"Article",{D}:"2024-03-05"}}</script><h1>x</h1>'
    )
    page = parse_page(html.encode(), "http://a.org/", "text/html", [], "x")
    assert page.published_at == MARCH_5
