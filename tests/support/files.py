"""Small files of kinds that nobody writes by hand."""

import struct
import zlib
from collections.abc import Mapping, Sequence


def pdf(pages: Sequence[str], info: str = "", link: str = "", bookmark: str = "") -> bytes:
    """A PDF with a line of text on each page; `info` holds entries such as `/Title (T)`, the rest is on page one."""
    kids = " ".join(f"{10 + 2 * n} 0 R" for n in range(len(pages)))
    annotations = f"/Annots [<< /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI ({link}) >> >>]" if link else ""
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {'/Outlines 5 0 R' if bookmark else ''} >>",
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< {info} >>",
        5: "<< /First 6 0 R /Last 6 0 R /Count 1 >>",
        6: f"<< /Title ({bookmark}) /Parent 5 0 R /Dest [10 0 R /Fit] >>",
    }
    for n, text in enumerate(pages):
        content = f"BT /F 9 Tf 9 99 Td ({text}) Tj ET"
        resources = f"/Resources << /Font << /F 3 0 R >> >> {annotations if n == 0 else ''}"
        objects[10 + 2 * n] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 999 999] /Contents {11 + 2 * n} 0 R {resources} >>"
        )
        objects[11 + 2 * n] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    return pdf_of(objects)


def pdf_of(objects: Mapping[int, str]) -> bytes:
    """A PDF of these objects, without a table of them; 1 is its catalogue, and 4 its information."""
    body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in objects.items())
    return f"%PDF-1.7\n{body}trailer\n<< /Root 1 0 R /Info 4 0 R >>\n%%EOF\n".encode("latin-1")


def png(pixels: Sequence[Sequence[int]]) -> bytes:
    """A picture in shades of grey, by rows of 0 to 255."""
    rows = b"".join(b"\0" + bytes(row) for row in pixels)
    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
