"""Pages as they are met in the wild, in small: of the kinds that a fuzzer's mutations should begin with."""

import tempfile
from pathlib import Path

_WORDS = "A text that is long enough to tell one page from another page without doubt. "
_JAPANESE = "これは長い文章なので、ページを見分けるのに十分です。"

DOCUMENTATION = f"""<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Title</title><base href=/x/>
<meta name=robots content="index, follow"><meta name=date content=2024-03-05><link rel=canonical href=y>
<meta http-equiv=refresh content="5; url=z"></head><body><header><h1>Head</h1></header><nav role=navigation>
<a href=a>One</a> <a href="b?c=d&amp;e#f"><img src=i alt=Two srcset="i 1x, j 2x"></a></nav><main>{_WORDS}<pre> x
</pre><table><tr><td>1<td>2</table><svg><title>t</title></svg></main><footer hidden>Foot</footer></body></html>"""

DOCBOOK = f"""<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>2.6. Joins</title><link rel="next" href="n.html"
title="2.7"/></head><body><div class="navheader"><table><tr><th colspan="5">2.6. Joins</th></tr></table><hr/></div>
<div class="sect1" id="J"><a id="i" class="indexterm"></a><p>{_WORDS}<a href="#ftn.1"><sup>[4]</sup></a></p><dl><dt>a
</dt><dd>b</dd></dl></div><div class="navfooter"><a accesskey="p" href="p.html">Prev</a></div></body></html>"""

NEWS = f"""<html><head><meta property="og:title" content="News &mdash; today"><meta property="article:tag" content="a">
<script type="application/ld+json">{{"@type":"NewsArticle","datePublished":"2024-03-05T09:00:00\\u002B09:00"}}</script>
<style>p {{ color: "<p>" }}</style><script>if (a<b && c>d) {{ document.write('<a href="s">'+"</"+"script>") }}</script>
</head><body class="has-sidebar"><div id="cookie-banner">OK?</div><article><h1>News</h1><time datetime="2024-03-05">5th
</time><p>{_WORDS}<p>{_WORDS}<aside>Ad</aside></article><iframe src="//ads.example/x?y"></iframe><!-- end --></body>"""

OLD = """<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=Shift_JIS"><TITLE>古い</TITLE></HEAD>
<FRAMESET COLS="20%,*"><FRAME SRC="menu.html"><NOFRAMES><BODY BGCOLOR=#ffffff><FONT SIZE=2><CENTER><B><I>太</B></I>
<TABLE><TR><TD NOWRAP>一<TD>二<TABLE><TD>三</TABLE></TABLE><MAP NAME=m><AREA SHAPE=rect HREF='a.html' ALT="図"></MAP>
""" + (_JAPANESE * 5)

PAGES = (DOCUMENTATION.encode(), DOCBOOK.encode(), NEWS.encode(), OLD.encode("shift_jis"), _WORDS.encode("utf-16"))


def real_pages(count: int) -> list[bytes]:
    """Pages of the real sites that tests/crawls/test_realweb.py leaves for its next run; none before its first."""
    folder = Path(tempfile.gettempdir()) / "beamtrawl-realweb"
    files = (file for file in sorted(folder.rglob("*.html")) if file.is_file() and file.stat().st_size < 20_000)
    found = list(files)
    return [file.read_bytes() for file in found[:: max(1, len(found) // count)]]
