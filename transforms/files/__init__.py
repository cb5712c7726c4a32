"""Files: on the local disk, on object stores, and on any file system of Beam."""
