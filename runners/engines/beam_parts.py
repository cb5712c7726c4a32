"""The parts of Beam that this program uses and Beam does not document, by name: what a new version may lack.

They make steps on this machine cheaper: steps in memory and in worker processes (`in_memory`, `pool`), one inspection
of each class and function (`inspection`). Without one of them, steps run by Beam's stock runner in one process
(`stock`). What could become part of Beam is in docs/decisions/beam_parts.md.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence

_CALLS = ("setup", "start", "process", "finish", "teardown")

PARTS: Mapping[str, Sequence[str]] = {
    "apache_beam.internal.pickler": ("dumps", "loads", "roundtrip"),
    "apache_beam.options.pipeline_options": ("PipelineOptions._visible_option_list",),
    "apache_beam.pipeline": ("Pipeline._root_transform", "AppliedPTransform.side_inputs", "is_in_ipython"),
    "apache_beam.pvalue": ("AsSideInput._view_options",),
    "apache_beam.runners.common": ("Receiver", *(f"DoFnRunner.{name}" for name in _CALLS)),
    "apache_beam.runners.runner": ("PipelineRunner.apply",),
    "apache_beam.transforms.core": (
        "get_signature",
        "get_function_args_defaults",
        "_check_fn_use_yield_and_return",
    ),
    "apache_beam.transforms.ptransform": ("get_signature",),
    "apache_beam.transforms.sideinputs": ("SideInputMap",),
    "apache_beam.utils.interactive_utils": ("is_in_ipython",),
    "apache_beam.transforms.userstate": ("get_dofn_specs",),
    "apache_beam.typehints.decorators": ("get_signature", "IOTypeHints.from_callable", "IOTypeHints._make_origin"),
}
"""Each module with its names: functions, classes, and attributes of classes and of their objects."""


def missing_parts(parts: Mapping[str, Sequence[str]] = PARTS) -> list[str]:
    """Return the names that the installed version of Beam lacks."""
    return [f"{module}.{name}" for module, names in parts.items() for name in names if not _has(module, name)]


def _has(module: str, name: str) -> bool:
    first, _, attribute = name.partition(".")
    try:
        owner = getattr(importlib.import_module(module), first)
    except (ImportError, AttributeError):
        return False
    return not attribute or hasattr(owner, attribute) or attribute in _assigned(owner)


def _assigned(owner: type) -> Iterator[str]:
    """Yield the names of attributes in the constructors of a class."""
    for cls in owner.__mro__:
        code = getattr(cls.__dict__.get("__init__"), "__code__", None)
        yield from getattr(code, "co_names", ())
