"""Loads the model that detects languages, from its package or from a decompressed copy.

The package has it as a file of 4.6 MB. Decompressing it takes half a second; a copy of 77 MB is mapped in a few
milliseconds, and its memory is shared by all processes of the machine.
"""

import contextlib
import os
import tempfile
import zlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import py3langid.langid
import pyarrow as pa
from py3langid.langid import LanguageIdentifier

Arrays = Sequence[np.ndarray]
"""What a copy holds: the weights of features by language, those of languages, their names, and the automaton that finds
features: next states, the row of each state, and its feature."""

_MARK = np.array([0x6C616E67], np.uint64)  # the first array of a copy; in another byte order it is another number


def load(languages: Sequence[str], folder: Path | None) -> LanguageIdentifier:
    """Return the model for some languages; with a folder, from the copy there, which is made if there is none.

    A damaged copy is made anew; where none can be written, the model is loaded without one.
    """
    if folder is None:
        return _identifier(_from_package(languages))
    path = folder / copy_name(languages)
    if arrays := _read(path):
        return _identifier(arrays)
    arrays = _from_package(languages)
    with contextlib.suppress(OSError):
        _write(path, arrays)
    return _identifier(arrays)


def copy_name(languages: Sequence[str]) -> str:
    """Return the name of a copy's file: it depends on the version of the package and on the languages."""
    return f"language-{metadata.version('py3langid')}-{zlib.crc32(' '.join(languages).encode()):08x}-32.arrow"


def _from_package(languages: Sequence[str]) -> Arrays:
    model = LanguageIdentifier.from_model_file(py3langid.langid.MODEL_FILE)
    model.set_languages(languages)
    # The columns of these languages, by rows: a text takes a few hundred rows, which numpy reads twice as fast. The
    # package has numbers of 16 bits, which take as long to convert as to multiply.
    weights = np.ascontiguousarray(model.nb_ptc, np.float32)
    names = np.frombuffer(" ".join(model.nb_classes).encode(), np.uint8)
    return [weights, model.nb_pc, names, *map(np.asarray, (model.tk_nextmove, model.tk_row, model.tk_output))]


def _identifier(arrays: Arrays) -> LanguageIdentifier:
    weights, priors, names, states, rows, features = arrays
    classes = names.tobytes().decode().split()
    return _Identifier(weights, priors, classes, states, features, norm_probs=True, tk_row=rows)


class _Identifier(LanguageIdentifier):
    """Finds the features of a text in numpy, for all of its bytes at once; everything else is as in the package."""

    def __init__(self, *arguments: Any, tk_row: np.ndarray, **options: Any) -> None:
        super().__init__(*arguments, tk_row=tk_row.tolist(), **options)
        self._starts = tk_row.astype(np.intp) << 8  # in `tk_nextmove`, by state

    def _raw_score(self, text: bytes) -> np.ndarray:
        letters = np.frombuffer(text, np.uint8).astype(np.intp)
        states = np.zeros(len(text) + 1, self.tk_nextmove.dtype)  # before each byte, and at the end
        # A state depends on the last few bytes, as many as the longest feature has. Each pass is right for at least one
        # byte more than the one before, and nothing changes once all are right.
        while True:
            following = self.tk_nextmove.take(self._starts.take(states[:-1]) + letters)
            if np.array_equal(following, states[1:]):
                break
            states[1:] = following
        found = self.tk_output.take(following)
        features, counts = np.unique(found[found >= 0], return_counts=True)
        if not len(features):
            return super()._raw_score(b"")
        return np.log1p(counts.astype(np.float32)) @ self.nb_ptc[features] + self.nb_pc


def _read(path: Path) -> Arrays | None:
    """Return the arrays of a copy, which stay in its file; None if there is none, or it is damaged."""
    try:
        with pa.memory_map(str(path)) as file:
            mark, *arrays, total = (_read_array(file) for _ in range(8))
    except (OSError, pa.ArrowException):
        return None
    return arrays if np.array_equal(mark, _MARK) and np.array_equal(total, _sum(arrays)) else None


def _read_array(file: pa.MemoryMappedFile) -> np.ndarray:
    file.seek(_aligned(file.tell()))
    return pa.ipc.read_tensor(file).to_numpy()


def _write(path: Path, arrays: Arrays) -> None:
    """Write a copy; readers see all of it or none. OSError if that is impossible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(number, "wb") as raw, pa.PythonFile(raw, "w") as file:
            for array in (_MARK, *arrays, _sum(arrays)):
                file.write(bytes(_aligned(file.tell()) - file.tell()))
                pa.ipc.write_tensor(pa.Tensor.from_numpy(np.ascontiguousarray(array)), file)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _aligned(place: int) -> int:
    """The next place from which Arrow aligns an array to 64 bytes."""
    return -(-place // 64) * 64


def _sum(arrays: Arrays) -> np.ndarray:
    """The sums of the bytes, eight at a time; it is read at the speed of memory."""
    return np.array([_words(array).sum() for array in arrays], np.uint64)


def _words(array: np.ndarray) -> np.ndarray:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if left := len(data) % 8:
        data = np.concatenate([data, np.zeros(8 - left, np.uint8)])
    return data.view(np.uint64)
