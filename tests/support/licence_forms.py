"""How publishers state the licence of a page: forms as public sources have them, shortened to what states it."""

from typing import NamedTuple


class Form(NamedTuple):
    """A page, and the licences that it states."""

    html: str
    license: str  # as column `license` has it
    license_source: str
    family: str  # by a person
    headers: tuple[tuple[str, str], ...] = ()


CC = "creativecommons.org/licenses"
WIKIPEDIA = "https://en.wikipedia.org/wiki/Wikipedia:Text_of_the_Creative_Commons_Attribution-ShareAlike_4.0_International_License"
NOTHING = ("", "", "")

FORMS = {
    # In the head
    "www.wikipedia.org, 2024": Form(
        f'<link rel="license" href="//{CC}/by-sa/4.0/">', f"http://{CC}/by-sa/4.0/", "link", "cc-by-sa"
    ),
    "de.wikipedia.org, 2011: MediaWiki": Form(
        f'<link rel="copyright" href="http://{CC}/by-sa/3.0/" />', f"http://{CC}/by-sa/3.0/", "link", "cc-by-sa"
    ),
    "Sphinx: about the owner": Form('<link rel="copyright" title="Copyright" href="copyright.html" />', *NOTHING),
    "biomedcentral.com (OpenArticleGauge)": Form(
        f'<meta name="dc.rights" content="http://{CC}/by/2.0/" />', f"http://{CC}/by/2.0/", "meta", "cc-by"
    ),
    "DSpace, three statements of rights": Form(
        '<meta name="DC.rights" content="info:eu-repo/semantics/openAccess">'
        '<meta name="DC.rights" content="Atribución-CompartirIgual 4.0 Internacional">'
        f'<meta name="DC.rights" content="https://{CC}/by-sa/4.0/">',
        f"https://{CC}/by-sa/4.0/", "meta", "cc-by-sa",
    ),
    "unimelb.edu.au: a disclaimer": Form(
        '<meta name="DC.Rights" content="http://www.unimelb.edu.au/disclaimer" />',
        "http://www.unimelb.edu.au/disclaimer", "meta", "",
    ),
    "rights in prose": Form('<meta name="DC.rights" content="(c) 2020 the authors">', *NOTHING),
    "OGC standards (metanorma)": Form(
        '<meta name="DC.rights" lang="en" content="CC-BY-4.0" xml:lang="en" />'
        '<link rel="DCTERMS.license" href="https://www.ogc.org/license" />',
        "https://www.ogc.org/license, CC-BY-4.0", "link, meta", "cc-by",
    ),
    "a WordPress blog on GPL": Form(
        '<meta name="DC.rights.license" content="http://www.gnu.org/licenses/gpl-2.0.txt" />'
        '<meta name="DC.license" content="http://www.gnu.org/licenses/old-licenses/gpl-2.0-standalone.html" />',
        "http://www.gnu.org/licenses/gpl-2.0.txt", "meta", "gpl",
    ),
    "WPPR: a name": Form(
        '<meta name="dc.rights.license" content="CC BY-NC-ND 4.0">', "CC BY-NC-ND 4.0", "meta", "cc-by-nc-nd"
    ),
    "add-meta-tags for WordPress": Form(
        f'<link href="https://{CC}/by-nc-sa/3.0/" rel="license" property="cc:license" type="text/html" />',
        f"https://{CC}/by-nc-sa/3.0/", "link", "cc-by-nc-sa",
    ),
    "a page of terms": Form('<link rel="license" href="/license.html" />', "http://a.test/license.html", "link", ""),
    # Links in the text
    "en.wikipedia.org, 2015": Form(
        '<a rel="license" href="//en.wikipedia.org/wiki/Wikipedia:Text_of_Creative_Commons_Attribution-ShareAlike'
        f'_3.0_Unported_License">CC BY-SA</a><a rel="license" href="//{CC}/by-sa/3.0/" style="display:none;"></a>',
        "http://en.wikipedia.org/wiki/Wikipedia:Text_of_Creative_Commons_Attribution-ShareAlike_3.0_Unported_License",
        "a", "cc-by-sa",
    ),
    "en.wikipedia.org, 2024 (mozilla/readability)": Form(
        f'<a rel="license" href="{WIKIPEDIA}">Creative Commons Attribution-ShareAlike 4.0 License</a>',
        WIKIPEDIA, "a", "cc-by-sa",
    ),
    "blog.nightly.mozilla.org (mozilla/readability)": Form(
        '<link rel="license" href="#license"><a rel="license"'
        ' href="https://www.mozilla.org/foundation/licensing/website-content/">some rights reserved</a>',
        "http://a.test/page#license", "link", "",
    ),
    "chooser of creativecommons.org": Form(
        '<p xmlns:dct="http://purl.org/dc/terms/"><span property="dct:title">x</span> is licensed under '
        f'<a href="http://{CC}/by-nc-sa/4.0/?ref=chooser-v1" target="_blank" rel="license noopener noreferrer">CC</a>',
        f"http://{CC}/by-nc-sa/4.0/?ref=chooser-v1", "a", "cc-by-nc-sa",
    ),
    "earlier chooser": Form(
        f'<a rel="license" href="http://{CC}/by/4.0/"><img alt="CC License" src="x.png" /></a><br />This work is'
        f' licensed under a <a rel="license" href="http://{CC}/by/4.0/">Creative Commons Attribution 4.0</a>.',
        f"http://{CC}/by/4.0/", "a", "cc-by",
    ),
    "flickr.com": Form(
        f'<a href="https://{CC}/by/2.0/" class="photo-license-url" rel="license cc:license" target="_newtab">Some</a>',
        f"https://{CC}/by/2.0/", "a", "cc-by",
    ),
    "flickr.com, all rights reserved": Form(
        '<a rel="license cc:license" href="https://help.yahoo.com/kb/flickr/SLN25525.html?impressions=true">All</a>',
        "https://help.yahoo.com/kb/flickr/SLN25525.html?impressions=true", "a", "",
    ),
    "a README on MIT": Form(
        '<a href="https://opensource.org/licenses/MIT" rel="license noopener">MIT License</a>',
        "https://opensource.org/licenses/MIT", "a", "mit",
    ),
    "public domain, a former deed": Form(
        '<link rel="copyright" href="http://creativecommons.org/licenses/publicdomain/" />',
        "http://creativecommons.org/licenses/publicdomain/", "link", "public-domain",
    ),
    "RDFa test suite 0008": Form(
        f'This document is licensed under a <a about="" rel="cc:license" href="http://{CC}/by-nc-nd/2.5/">CC</a>.',
        f"http://{CC}/by-nc-nd/2.5/", "rdfa", "cc-by-nc-nd",
    ),
    "Drupal, by its own path": Form(
        f'<article about="/page" typeof="sioc:Item"><a rel="license" href="http://{CC}/by/3.0/">CC</a></article>',
        f"http://{CC}/by/3.0/", "a", "cc-by",
    ),
    "without a relation (arXiv)": Form(
        '<div class="abs-license"><a href="http://arxiv.org/licenses/nonexclusive-distrib/1.0/" title="Rights to this'
        ' article">view license</a></div>', *NOTHING,
    ),
    # Of parts of a page
    "open-science-training: a picture (RDFa)": Form(
        '<figure><figcaption>Licensed under a <a property="cc:license" rel="license"'
        f' href="http://{CC}/by-sa/4.0/">CC-BY-SA license.</a></figcaption></figure>', *NOTHING,
    ),
    "comunica.dev: another resource": Form(
        f'<a about="#evaluation-workflow" rel="cc:license" resource="https://{CC}/by/4.0/" href="#w">w</a>', *NOTHING
    ),
    "piqsels.com: pictures of a list": Form(
        '<figure><a itemprop="url" href="/p"><meta itemprop="license"'
        ' content="https://creativecommons.org/licenses/publicdomain/"></a></figure>', *NOTHING,
    ),
    "developers.google.com: image licence": Form(
        '<div itemscope itemtype="https://schema.org/ImageObject"><a itemprop="license" href="/license">L</a></div>',
        *NOTHING,
    ),
    "a comment of a visitor": Form(
        f'<div class="comment-list"><a rel="nofollow license" href="http://{CC}/by/4.0/">mine</a></div>', *NOTHING
    ),
    # Data
    "a data set (microdata)": Form(
        f'<div itemscope itemtype="https://schema.org/Dataset"><meta itemprop="license" content="https://{CC}/by/4.0/"></div>',
        f"https://{CC}/by/4.0/", "microdata", "cc-by",
    ),
    "owid/co2-data (JSON-LD)": Form(
        '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Dataset",'
        f' "license": "https://{CC}/by/4.0/"}}</script>',
        f"https://{CC}/by/4.0/", "json-ld", "cc-by",
    ),
    "a graph with a picture (JSON-LD)": Form(
        '<script type="application/ld+json">{"@graph": [{"@type": "ImageObject", "license":'
        f' "https://{CC}/by/4.0/legalcode"}}, {{"@type": ["Article"], "license": {{"@type": "CreativeWork", "name":'
        ' "CC0-1.0"}}, {"@type": "SoftwareSourceCode", "license": "MIT"}]}</script>',
        "CC0-1.0", "json-ld", "cc0",
    ),
    # Headers
    "an API of ours (Link)": Form(
        "", f"https://{CC}/by/4.0/", "header", "cc-by", (("Link", f'<https://{CC}/by/4.0/>; rel="license"'),)
    ),
    "RSL by CloudFront (Link)": Form(
        "", *NOTHING, (("Link", '<https://example.com/license.xml>; rel="license"; type="application/rsl+xml"'),)
    ),
    "RSL (link)": Form('<link rel="license" type="application/rsl+xml" href="/license.xml">', *NOTHING),
    # Several
    "contradictory": Form(
        f'<a rel="license" href="http://{CC}/by/4.0/">CC</a>'
        f'<script type="application/ld+json">{{"@type": "Article", "license": "http://{CC}/by-nc/4.0/"}}</script>',
        f"http://{CC}/by/4.0/, http://{CC}/by-nc/4.0/", "a, json-ld", "cc-by cc-by-nc",
    ),
}  # fmt: skip
