"""Pairs of URLs that are known to be two resources, and pairs that are one, by kind.

A line is a pair; what starts with / is on http://a.test.
"""

DIFFERENT = {
    "scheme, host, port": """
        http://a.test/ https://a.test/
        http://a.test/ http://www.a.test/
        http://a.test/ http://a.test:8080/
        https://a.test/ https://a.test:80/
        http://a.test/ http://b.a.test/
        http://a.test/ http://a.test.b/
        http://a-b.test/ http://a_b.test/
        http://1.2.3.4/ http://1.2.3.5/
        http://[::1]/ http://[::2]/
        http://m.a.test/x http://a.test/x
        http://en.a.test/Page http://de.a.test/Page
        http://xn--mnchen-3ya.test/ http://munchen.test/
    """,
    "letter case": """
        /wiki/US /wiki/Us
        /README /readme
        /watch?v=dQw4w9WgXcQ /watch?v=dqw4w9wgxcq
        /bit/3xYz /bit/3XyZ
        /a?q=Bank /a?q=bank
        /a?Q=1 /a?q=1
        /%C3%89 /%C3%A9
        /pkg/Foo.html /pkg/foo.html
    """,
    "slashes": """
        /a /a/
        /a/b /a//b
        / //
        /a//b /a///b
        /bucket//key /bucket/key
        /a/?x=1 /a?x=1
        /redirect/http://b.test/ /redirect/http:/b.test/
        /a%2Fb /a/b
        /projects/group%2Fname /projects/group/name
        /a%5Cb /a/b
    """,
    "index pages, which only the site knows": """
        / /index.html
        / /index.php
        /a/ /a/index.html
        /a/ /a/default.aspx
        /index.html /index.htm
        /index.php /index.php?id=
    """,
    "escapes that divide": """
        /a?b=c%26d=e /a?b=c&d=e
        /a?b=c%3Dd /a?b=c=d
        /a?q=c%2B%2B /a?q=c++
        /a?q=1%2B1 /a?q=1+1
        /a?q=100%25 /a?q=100
        /a%3Fb /a?b
        /a%23b /a
        /a%3Bb=c /a;b=c
        /a?b=c%3Bd /a?b=c;d
        /a%252Fb /a%2Fb
        /a?u=http://b.test/%3Fc=d /a?u=http://b.test/?c=d
        /a%20b /a+b
        /a+b /a%2Bb
        /a%00 /a
        /a?b=c%23d /a?b=c
        /a%2526 /a%26
    """,
    "unlike characters": """
        /caf%C3%A9 /cafe
        /caf%C3%A9 /caf%E9
        /cafe%CC%81 /caf%C3%A9
        /%EF%BD%81 /a
        /%E5%9B%BD /%E5%9C%8B
        /a-b /a_b
        /a.b /a_b
        /a~b /a-b
        /a b /ab
    """,
    "path": """
        /1 /2
        /2024/01/02 /2024/02/01
        /a/b /b/a
        /a /a.html
        /a.html /a.htm
        /a.html /a.php
        /a,b /b,a
        /a:b /a/b
        /a(b) /a
        /~a /a
        /page/1 /page/01
        /v1.0/x /v1/x
        /a/... /a/
        /a/.b /a/b
        /@a /a
        /en/x /de/x
    """,
    "parameters of a path": """
        /a;v=1 /a;v=2
        /a;v=1 /a
        /map;lat=50;long=20 /map;lat=20;long=50
        /cars;colour=red/doors;n=2 /cars;colour=blue/doors;n=2
        /a;sid=5 /a;sid=6
        /a;session=3 /a;session=4
        /a;session=3 /a
        /a;id=9682993c8daa2c5497996114facdc805 /a;id=0682993c8daa2c5497996114facdc805
        /..;jsessionid=1/a /a
        /a;lang=en /a;lang=de
        /a; /a
        /a;b /a;c
    """,
    "brackets in a path": """
        /wiki/Set_(mathematics) /wiki/Set_(music)
        /wiki/Set_(mathematics) /wiki/Set
        /Products(1)/Name /Products(2)/Name
        /Products(1) /Products
        /People('a')/Trips(1) /People('a')/Trips(2)
        /(a)/x /(b)/x
        /(S(5))/a /(S(6))/a
        /(S)/a /a
        /f(x(1))/a /a
        /f(x(1))/a /f(x(2))/a
        /(lit3py55t21z5v55vlm25s55)/a /a
        /(lit3py55t21z5v55vlm25s55)/a /(mit3py55t21z5v55vlm25s55)/a
        /(2024)/a /(2025)/a
    """,
    "query or none": """
        /a /a?b=c
        /a?b /a
        /a?b= /a?b
        /a?b= /a
        /a?0 /a
        /a?? /a
        /a?= /a
        /a?a=b=c /a?a=b
        /search?q= /search
        /a?print /a
        /a?amp=1 /a
        /a?raw=true /a
    """,
    "values": """
        /a?id=1 /a?id=2
        /a?id=1 /a?id=01
        /a?id=1 /a?id=1.0
        /a?id=1 /a?id=-1
        /a?page=1 /a?page=2
        /a?page=1 /a
        /a?q=a+b /a?q=ab
        /a?q=a+b /a?q=b+a
        /a?q=a,b /a?q=b,a
        /a?d=2024-01-02 /a?d=2024-02-01
        /a?lang=en /a?lang=de
        /a?sort=asc /a?sort=desc
        /a?sort=name /a?sort=date
        /a?lat=1&lon=2 /a?lat=2&lon=1
        /a?from=a&to=b /a?from=b&to=a
        /a?q=true /a?q=True
        /a?title=Talk:X /a?title=X
        /a?oldid=5 /a?oldid=6
        /a?v=1.10 /a?v=1.1
        /a?t=10s /a?t=20s
        /a?start=0 /a?start=10
        /a?format=json /a?format=xml
        /a?tab=issues /a?tab=pulls
        /a?f=/x/y /a?f=/x/z
    """,
    "names": """
        /a?a=1 /a?b=1
        /a?a=1&b=2 /a?a=2&b=1
        /a?a=1&b=2 /a?a=1
        /a?a.b=1 /a?a_b=1
        /a?a%5B%5D=1 /a?a=1
        /a?a%5B0%5D=1 /a?a%5B1%5D=1
        /a?x-id=1 /a?x_id=1
        /a?$filter=a /a?filter=a
    """,
    "order that counts": """
        /a?x=1&x=2 /a?x=2&x=1
        /a?a%5B%5D=1&a%5B%5D=2 /a?a%5B%5D=2&a%5B%5D=1
        /a?f=p&v=1&f=q&v=2 /a?f=p&v=2&f=q&v=1
        /a?f=p&v=1&f=q&v=2 /a?f=p&f=q&v=1&v=2
        /a?f=p&v=1&f=q /a?f=p&f=q&v=1
        /a?sort=x&dir=1&sort=y&dir=2 /a?sort=y&dir=2&sort=x&dir=1
        /a?2020&05 /a?05&2020
        /a?b&a /a?a&b
        /a?b&a=1 /a?a=1&b
        /a?/x&y=1 /a?y=1&/x
        /go?u=http://b.test/?x=1&y=2 /go?y=2&u=http://b.test/?x=1
        /go?http://b.test/?x=1&a=2 /go?a=2&http://b.test/?x=1
        /a?c++ /a?c
        /a?a=1;b=2 /a?b=2;a=1
    """,
    "how often": """
        /a?x=1&x=1 /a?x=1
        /a?item%5B%5D=5&item%5B%5D=5 /a?item%5B%5D=5
        /a?x=1&x=2 /a?x=2
        /a?x=1&x=2 /a?x=1
    """,
    "names like those of tracking": """
        /a?utm=1 /a?utm=2
        /a?utm_zone /a
        /utm_source=a /utm_source=b
        /a?my_utm_source=a /a?my_utm_source=b
        /a?x.utm_source=a /a?x.utm_source=b
        /a?ref=a /a?ref=b
        /a?source=a /a?source=b
        /a?campaign=a /a?campaign=b
        /a?campaign_id=1 /a?campaign_id=2
        /a?cid=1 /a?cid=2
        /a?mc_version=1.19 /a?mc_version=1.20
        /a?mc=1 /a?mc=2
        /a?pk=1 /a?pk=2
        /a?pk_id=1 /a?pk_id=2
        /a?ga=1 /a?ga=2
        /a?ga_id=1 /a?ga_id=2
        /a?gl=de /a?gl=fr
        /a?hsa_type=1 /a?hsa_type=2
        /a?at_id=1 /a?at_id=2
        /a?click=1 /a?click=2
        /a?clid=1 /a?clid=2
        /a?fb=1 /a?fb=2
        /a?feature=a /a?feature=b
        /a?si=1 /a?si=2
        /a?spm=1 /a?spm=2
        /a?trk=1 /a?trk=2
        /a?ref_=1 /a?ref_=2
        /a?qid=1 /a?qid=2
        /a?icid=1 /a?icid=2
        /a?cmpid=1 /a?cmpid=2
        /a?tag=a /a?tag=b
        /a?s=herring /a?s=cod
        /a?__s=1 /a?__s=2
        /a?gclid /a
        /a?wt=1 /a?wt=2
        /a?yclid5=1 /a?yclid5=2
        /a?affiliate=1 /a?affiliate=2
    """,
    "names like those of sessions": """
        /a?sid=5 /a?sid=6
        /a?sid=5 /a
        /a?sid=summer-school-2024-in-copenhagen /a?sid=winter-school-2024-in-copenhagen
        /a?sid=507f1f77bcf86cd799439011 /a?sid=507f191e810c19729de860ea
        /a?sid=6ba7b810-9dad-11d1-80b4-00c04fd430c8 /a?sid=6ba7b811-9dad-11d1-80b4-00c04fd430c8
        /a?_sid=5 /a?_sid=6
        /a?_sid=summer-school-in-copenhagen /a?_sid=winter-school-in-copenhagen
        /a?b=1;c=2 /a?b=1
        /a?b=1;sid=5 /a?b=1;sid=6
        /wiki/QuadCurve2D /wiki/QuadCurve3D
        /flags/avx512vbmi2 /flags/avx512vbmi
        /f(S(x))/a /a
        /a/(S(x)) /a
        /a?session=1 /a?session=2
        /a?session=morning /a?session=evening
        /a?session_id=17 /a?session_id=18
        /a?session_id=6ba7b810-9dad-11d1-80b4-00c04fd430c8 /a?session_id=6ba7b811-9dad-11d1-80b4-00c04fd430c8
        /a?sessionid=keynote /a?sessionid=workshop
        /a?sess=2023 /a?sess=2024
        /a?s=9682993c8daa2c5497996114facdc805 /a?s=0682993c8daa2c5497996114facdc805
        /a?id=9682993c8daa2c5497996114facdc805 /a?id=0682993c8daa2c5497996114facdc805
        /a?key=9682993c8daa2c5497996114facdc805 /a?key=0682993c8daa2c5497996114facdc805
        /a?token=9682993c8daa2c5497996114facdc805 /a?token=0682993c8daa2c5497996114facdc805
        /a?hash=9682993c8daa2c5497996114facdc805 /a?hash=0682993c8daa2c5497996114facdc805
        /a?cfid=5 /a?cfid=6
        /a?cfid=12412453 /a?cfid=12412454
        /a?cftoken=15501799 /a?cftoken=15501798
        /a?phpsessid=5 /a?phpsessid=6
        /a?aspsessionid=5 /a?aspsessionid=6
        /a?zenid=5 /a?zenid=6
        /a?visitor=9682993c8daa2c5497996114facdc805 /a?visitor=0682993c8daa2c5497996114facdc805
        /jsessionid=1/a /jsessionid=2/a
    """,
    "what is noise elsewhere": """
        https://web.archive.org/web/2020/http://b.test/?utm_source=1 https://web.archive.org/web/2020/http://b.test/
        https://web.archive.org/save?utm_source=1 https://web.archive.org/save
        /proxy/http://b.test/?utm_source=1 /proxy/http://b.test/
        /proxy/http://b.test/;jsessionid=1 /proxy/http://b.test/
        /go?http://b.test/?a=1&utm_source=1 /go?http://b.test/?a=1
        https://urldefense.com/v3/__x__;!!?fbclid=1 https://urldefense.com/v3/__x__;!!?fbclid=2
        https://www.onet.pl/?utm_source=a https://www.onet.pl/?utm_source=b
        https://ga-dev-tools.google/campaign-url-builder/?utm_id=1 https://ga-dev-tools.google/campaign-url-builder/?utm_id=2
        https://clk.tradedoubler.com/click?tduid=1 https://clk.tradedoubler.com/click?tduid=2
        /go?u=http://b.test/?utm_source=1 /go?u=http://b.test/?utm_source=2
        /go?u=http%3A%2F%2Fb.test%2F%3Futm_source=1 /go?u=http%3A%2F%2Fb.test%2F%3Futm_source=2
        https://www.youtube.com/watch?v=a&si=1 https://www.youtube.com/watch?v=b&si=1
        https://notyoutube.com/?si=1 https://notyoutube.com/?si=2
    """,
}

SAME = {
    "what the fetched form says": """
        HTTP://A.Test/ /
        http://a.test:80/ /
        http://a.test./ /
        http://me:secret@a.test/ /
        http://a.test/#top /
        /a/./b/../c /a/c
        /a/%2e%2e/b /b
        /%7Ea /~a
        /%41 /A
        /%c3%a9 /é
        /a? /a
        /a?#b /a
        http://ü.test/ http://xn--tda.test/
        http://0x7f.1/ http://127.0.0.1/
    """,
    "escapes": """
        /wiki/Set_%28mathematics%29 /wiki/Set_(mathematics)
        /wiki/Talk%3AX /wiki/Talk:X
        /%40me /@me
        /a%2Cb /a,b
        /a?q=a%20b /a?q=a+b
        /a?t=12%3A00 /a?t=12:00
        /a?f=x%2Fy /a?f=x/y
        /a?%24top=5 /a?$top=5
        /a?u=http%3A%2F%2Fb.test%2F /a?u=http://b.test/
        /a?m=x%40y.test /a?m=x@y.test
        /a?c=1%2C2 /a?c=1,2
        /a%21 /a!
    """,
    "nothing between": """
        /a?b=1& /a?b=1
        /a?&b=1 /a?b=1
        /a?b=1&&c=2 /a?b=1&c=2
        /a?& /a
    """,
    "order": """
        /a?b=2&a=1 /a?a=1&b=2
        /a?b=2&a=1&c=3 /a?c=3&b=2&a=1
        /a?x%5B%5D=1&x%5B%5D=2&a=1 /a?a=1&x%5B%5D=1&x%5B%5D=2
        /a?u=http%3A%2F%2Fb.test&a=1 /a?a=1&u=http://b.test
        /a?b=&a= /a?a=&b=
    """,
    "tracking": """
        /a?utm_source=x&utm_medium=y&utm_campaign=z /a
        /a?UTM_Source=x /a
        /a?utm%5Fsource=x /a
        /a?b=1&utm_source=x /a?b=1
        /a?utm_source=x&b=1 /a?b=1
        /a?b=1&utm_source=x&c=2 /a?b=1&c=2
        /a?utm_source= /a
        /a?utm_source=x&utm_source=y /a
        /a?gclid=x /a
        /a?fbclid=x /a
        /a?msclkid=x&gclid=y /a
        /a?mc_cid=1&mc_eid=2 /a
        /a?_ga=1.2.3 /a
        /a?_hsenc=x&_hsmi=1 /a
        /a?mtm_campaign=x /a
        /a?pk_campaign=x /a
        /a?WT.mc_id=x /a
        /a?b&utm_source=x /a?b
        https://www.youtube.com/watch?v=a&si=1&feature=share https://www.youtube.com/watch?v=a
        https://www.youtube.com/watch?feature=share&v=a https://www.youtube.com/watch?v=a
        https://www.amazon.co.uk/dp/B00?pf_rd_p=1&ref_=x https://www.amazon.co.uk/dp/B00
        https://x.com/a?ref_src=twsrc https://x.com/a
        https://www.onet.pl/?fbclid=1 https://www.onet.pl/
    """,
    "sessions in a query": """
        /a?PHPSESSID=9682993c8daa2c5497996114facdc805 /a
        /a?phpsessid=abcdefabcdefabcdef01234567&b=1 /a?b=1
        /a?sid=9682993c8daa2c5497996114facdc805 /a?sid=0682993c8daa2c5497996114facdc805
        /a?b=1&sid=9682993c8daa2c5497996114facdc805 /a?b=1
        /a?SID=9682993C8DAA2C5497996114FACDC805 /a
        /a?jsessionid=a63098d96360$B0$D9$A /a
        /a?CFID=3304324&CFTOKEN=57491900&jsessionid=a63098d96360$B0$D9$A /a
        /a?cftoken=57491900&b=1&cfid=3304324 /a?b=1
        /a?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM /a
        /a?osCsid=0123456789abcdef0123456789abcdef /a
        /a?zenid=q1w2e3r4t5y6u7i8o9p0a1s2d3 /a
        /a?session_id=9682993c8daa2c5497996114facdc805 /a
        /a?AspxAutoDetectCookieSupport=1 /a
        /a?_sid=9682993c8daa2c5497996114facdc805 /a
        /a?b=1&_sid=k3Jh2lq9ZpX0vB7w /a?b=1
        /a?b=1;jsessionid=1E6FEC0D14D044541DD84D2D013D29ED /a?b=1
        /a?b=1;jsessionid=1E6FEC0D.node1&c=2 /a?b=1&c=2
        /a?;jsessionid=1 /a
        /a?b=1;sid=9682993c8daa2c5497996114facdc805 /a?b=1
    """,
    "sessions in a path": """
        /a;jsessionid=1E6FEC0D14D044541DD84D2D013D29ED /a
        /a;jsessionid=1E6FEC0D.node1!-12:8080?b=1 /a?b=1
        /a;JSESSIONID=1 /a;jsessionid=2
        /a;jsessionid=1/b;jsessionid=1 /a/b
        /a;v=1;jsessionid=1 /a;v=1
        /a;jsessionid=1;v=1 /a;v=1
        /a;sid=9682993c8daa2c5497996114facdc805 /a
        /(S(lit3py55t21z5v55vlm25s55))/a /a
        /(X(1)S(lit3py55t21z5v55vlm25s55))/a/b.aspx?c=1 /a/b.aspx?c=1
        /x/(S(lit3py55t21z5v55vlm25s55))/a /x/a
        /%28S%28lit3py55t21z5v55vlm25s55%29%29/a /a
        /(lit3py55t21z5v55vlm25s55)/a.aspx /a.aspx
        /(A(QWxsIHRoZSBmaXNoIGluIHRoZSBzZWE))/a /a
        /(S(lit3py55t21z5v55vlm25s55)) /
        /a/(S(lit3py55t21z5v55vlm25s55))?b=1 /a?b=1
    """,
}


def pairs(table: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The pairs of a table, whole URLs, by kind and line."""
    found = {}
    for kind, lines in table.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            one, other = (f"http://a.test{word}" if word[0] == "/" else word for word in _words(line))
            found[f"{kind}: {line}"] = (one, other)
    return found


def _words(line: str) -> list[str]:
    """Both URLs of a line; one may hold a blank, so the second starts at the last blank before a start."""
    middle = max(line.rfind(" /"), line.rfind(" http"))
    return [line[:middle], line[middle + 1 :]]
