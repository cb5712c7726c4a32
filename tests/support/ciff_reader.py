"""Read CIFF files with protobuf's own parser, from the published messages (github.com/osirrc/ciff).

There is a reader on PyPI, ciff-toolkit; it wants protobuf 4, and Beam 6. So this one shares nothing with what writes.
"""

import gzip
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, message_factory, proto

FIELD = descriptor_pb2.FieldDescriptorProto
# Its name, type and number; a type that is a string is another message's name, and repeated.
MESSAGES = {
    "Header": [
        ("version", FIELD.TYPE_INT32, 1),
        ("num_postings_lists", FIELD.TYPE_INT32, 2),
        ("num_doc_records", FIELD.TYPE_INT32, 3),
        ("total_postings_lists", FIELD.TYPE_INT32, 4),
        ("total_docs", FIELD.TYPE_INT32, 5),
        ("total_terms_in_collection", FIELD.TYPE_INT64, 6),
        ("average_doclength", FIELD.TYPE_DOUBLE, 7),
        ("description", FIELD.TYPE_STRING, 8),
    ],
    "Posting": [("docid", FIELD.TYPE_INT32, 1), ("tf", FIELD.TYPE_INT32, 2)],
    "PostingsList": [
        ("term", FIELD.TYPE_STRING, 1),
        ("df", FIELD.TYPE_INT64, 2),
        ("cf", FIELD.TYPE_INT64, 3),
        ("postings", "Posting", 4),
    ],
    "DocRecord": [
        ("docid", FIELD.TYPE_INT32, 1),
        ("collection_docid", FIELD.TYPE_STRING, 2),
        ("doclength", FIELD.TYPE_INT32, 3),
    ],
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="ciff.proto", package="io.osirrc.ciff", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, kind, number in fields:
            if isinstance(kind, str):
                kind_of = {"type": FIELD.TYPE_MESSAGE, "type_name": f".io.osirrc.ciff.{kind}"}
                message.field.add(name=field, number=number, label=FIELD.LABEL_REPEATED, **kind_of)
            else:
                message.field.add(name=field, number=number, label=FIELD.LABEL_OPTIONAL, type=kind)
    return {name.rpartition(".")[2]: cls for name, cls in message_factory.GetMessages([file]).items()}


CLASSES = _classes()


class Ciff(NamedTuple):
    """A file's contents."""

    header: Any
    postings: dict[str, dict[int, int]]  # term -> document -> frequency, in the order of the file
    documents: list[tuple[int, str, int]]


def read_ciff(path: Path) -> Ciff:
    """The contents of a file, which must end where its header says."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        header = proto.parse_length_prefixed(CLASSES["Header"], file)
        postings = {}
        for _ in range(header.num_postings_lists):
            found = proto.parse_length_prefixed(CLASSES["PostingsList"], file)
            number, documents = 0, {}
            for posting in found.postings:
                number += posting.docid
                documents[number] = posting.tf
            assert (found.df, found.cf) == (len(found.postings), sum(documents.values()))
            assert len(documents) == found.df
            postings[found.term] = documents
        assert len(postings) == header.num_postings_lists
        records = (proto.parse_length_prefixed(CLASSES["DocRecord"], file) for _ in range(header.num_doc_records))
        documents = [(record.docid, record.collection_docid, record.doclength) for record in records]
        assert file.read() == b""
    return Ciff(header, postings, documents)
