"""The committed files of a table as an Arrow dataset: rows are read on use."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from ..files import filesystem
from ..tables.table_files import TableFile
from .crawl_dir import CrawlDir


def open_dataset(crawl: CrawlDir, files: Sequence[TableFile], schema: pa.Schema) -> ds.Dataset:
    """A dataset of the files with the columns of the schema; columns missing in older files are null."""
    paths = [crawl.path(file.path) for file in files]
    if not paths:
        return ds.dataset(schema.empty_table())
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
    if filesystem.store_of(crawl.root).has_local_paths:
        return ds.dataset(paths, schema=schema, format=parquet, filesystem=fs.LocalFileSystem())
    fragments = [parquet.make_fragment(filesystem.open_file(path)) for path in paths]
    return ds.FileSystemDataset(fragments, schema, parquet)
