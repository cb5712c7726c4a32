"""Metadata, packages and dependencies of Beamtrawl. It runs on every worker, so it reads no other file."""

from setuptools import find_packages, setup

FOLDERS = ("pipeline", "transforms", "runners", "search")
"""Folders of the checkout that are installed as sub-packages of `beamtrawl`, the only top-level name."""

PACKAGES = [name for name in find_packages() if name.partition(".")[0] in FOLDERS]

DESCRIPTION = """\
Beamtrawl is a polite web crawler and full-text search engine for sites, archives and corpora. It crawls breadth
first, in rounds; each round is two Apache Beam batch pipelines. It runs on a laptop without any set-up, and the
same pipelines run on Flink or Dataflow. Everything it keeps is Parquet: the frontier, each visit with its body,
documents, links, URL states and the search index. Any SQL engine reads these files; there is no database, no queue
and no server to operate.

    beamtrawl demo
    beamtrawl crawl ./mycrawl --seed https://www.example.org/ --robot MyBot \\
        --contact me@example.org --info-url https://example.org/mybot
    beamtrawl search ./mycrawl lighthouse
"""

setup(
    name="beamtrawl",
    version="0.1.0",
    description="A polite, breadth-first batch web crawler and full-text indexer on Apache Beam",
    long_description=DESCRIPTION,
    long_description_content_type="text/markdown",
    author="The Beamtrawl authors",
    license="Apache-2.0",
    keywords="web crawler, spider, robots.txt, apache beam, parquet, full-text search, bm25, web archive",
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Information Technology",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
        "Topic :: System :: Archiving",
        "Topic :: Text Processing :: Indexing",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=["beamtrawl", *(f"beamtrawl.{name}" for name in PACKAGES)],
    package_dir={"beamtrawl": "beamtrawl", **{f"beamtrawl.{folder}": folder for folder in FOLDERS}},
    package_data={
        "beamtrawl": ["py.typed"],
        "beamtrawl.search.gateway": ["templates/*", "static/*", "translations/*"],
        "beamtrawl.runners.demo": ["texts/*"],
        "beamtrawl.runners.commands.blocking": ["templates/*"],
        "beamtrawl.runners.report": ["templates/*"],
    },
    install_requires=[
        "ada-url>=1.15",  # the WHATWG URL parser, in C++
        "apache-beam>=2.77,<2.80",
        "backports.zstd>=1; python_version<'3.14'",  # the content coding zstd; later Pythons have it
        "brotli>=1.2",  # the content coding br; 1.2 bounds what a call decodes
        "certifi>=2024.7.4",  # the certificate authorities of the web; part of requests
        "duckdb>=1.1",  # the engine behind `beamtrawl sql`
        "flask>=3.0",  # the search gateway
        "http-sf>=1.5",  # structured fields of HTTP
        "jinja2>=3.1",  # templates of pages; part of flask
        "lxml>=5.3",  # XML: sitemaps, feeds, office files, books, schedules of rights
        "markdown-it-py>=3",  # Markdown; part of rich
        "numpy>=2",
        "prometheus-client>=0.21",  # the metrics of the gateway
        "protego>=0.7",  # 0.6 hangs on patterns with many stars
        "publicsuffixlist>=1.0",
        "py3langid>=0.4",  # the layout of its model
        "pyarrow>=17",
        "pypdfium2>=5",  # PDF
        "PyStemmer>=3",  # Snowball, in C
        "rapidfuzz>=3.9",  # spelling help
        "requests>=2.32",
        "rich>=13.9,<16",  # progress on a terminal
        "shtab>=1.7.2",  # completion in shells
        "turbohtml>=1.15.4,<2",  # HTML as browsers read it: tree, selectors, Markdown; charsets
        "urllib3>=2.3",
        "waitress>=3.0",  # serves the gateway
    ],
    extras_require={
        "pandas": ["pandas>=2.2"],  # tables.to_pandas(), for Python programs
        "polars": ["polars>=1.0"],
        "images": ["pillow>=11"],  # watch.images looks at pixels
        "mcp": ["mcp>=2"],  # `beamtrawl mcp`, for assistants
        "korean": ["kiwipiepy>=0.23"],  # morphemes; its model, which it brings, has 100 MB
        "signatures": ["cryptography>=43"],  # signs requests with robot.key
        "warc": ["warcio>=1.7.5"],  # writes web archives
        "s3": ["obstore>=0.12"],  # DIR on s3:// (docs/stores.md)
        "gcs": ["obstore>=0.12"],  # DIR on gs://
        "flink": ["apache-flink-libraries>=1.20,<1.21"],  # a cluster to try it on; docs/flink.md says why this version
        "docs": ["furo>=2025.12", "myst-parser>=5", "sphinx>=9"],  # docs/ as a site
        "benchmark": ["ir-measures>=0.3", "tantivy>=0.25"],  # judges of search, and an engine to compare with
        "test": [
            "axe-core-python>=0.1",  # a judge of accessibility, in JavaScript
            "fastwarc>=2,<3",  # a judge of archives
            "flask-cors>=6",  # of moto's server
            "furo>=2025.12",
            "http-message-signatures>=2",  # a judge of signatures
            "hypothesis>=6.100",
            "ipykernel>=6.29",  # runs docs/notebook.ipynb, with nbclient
            "kiwipiepy>=0.23",
            "mcp>=2",
            "moto[s3]>=5.2",  # a server of S3 that honours conditions
            "mypy>=1.15",
            "myst-parser>=5",
            "nbclient>=0.10",
            "obstore>=0.12",
            "pandas>=2.2",
            "pillow>=11",
            "polars>=1.0",
            "pytest>=9",
            "pytest-xdist>=3.7",
            "ruff>=0.11",
            "setuptools>=71",
            "sphinx>=9",
            "warcio>=1.7.5",
        ],
    },
    entry_points={
        "console_scripts": [
            "beamtrawl = beamtrawl.__main__:main",
            "beamtrawl-worker = beamtrawl.runners.engines.worker:main",
        ],
        "beamtrawl.parsers": [
            "html = beamtrawl.transforms.kinds.html:Html",
            "text = beamtrawl.transforms.kinds.text:Text",
            "pdf = beamtrawl.transforms.kinds.pdf:Pdf",
            "feed = beamtrawl.transforms.kinds.feed:Feed",
            "markdown = beamtrawl.transforms.kinds.markdown:Markdown",
            "office = beamtrawl.transforms.kinds.office:Office",
            "epub = beamtrawl.transforms.kinds.office:Epub",
            "xml = beamtrawl.transforms.kinds.xml:Xml",
            "json = beamtrawl.transforms.kinds.json:Json",
            "image = beamtrawl.transforms.kinds.image:Image",
        ],
        "beamtrawl.observers": ["watch = beamtrawl.transforms.observers.watch:Watch"],
        "beamtrawl.downloaders": ["render = beamtrawl.transforms.rendering.chromium:render"],
    },
)
