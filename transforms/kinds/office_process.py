"""Program that reads office files and books; `office.py` starts it."""

from ..office.read import read_file
from .guarded_process import serve

if __name__ == "__main__":
    serve(read_file)
