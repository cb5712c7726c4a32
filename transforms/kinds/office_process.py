"""Program that reads office files and books; `office.py` starts it."""

from .guarded_process import serve
from .office_files.read import read_file

if __name__ == "__main__":
    serve(read_file)
